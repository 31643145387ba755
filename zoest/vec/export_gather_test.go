package vec

// GatherGo is the definition, in every build.
var GatherGo = gatherGo
