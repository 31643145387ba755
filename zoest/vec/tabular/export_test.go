package tabular

// GatherGo is the definition of Gather in every build.
var GatherGo = gatherGo
