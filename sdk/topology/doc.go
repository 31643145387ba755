// Package topology makes graphs from short descriptions such as "ring", "er:0.3" or "file:floors.txt" ([Parse]), and
// computes how fast consensus and noise move the models on them ([DecayOf]). It serves before a run: a node reads the
// edges of its fleet and does not link it.
package topology
