// Package hog describes images by histograms of oriented gradients (Dalal and Triggs, "Histograms of oriented gradients
// for human detection", CVPR 2005). A histogram shows how strongly brightness changes in each direction within one cell
// of the image. The entries of each block of cells are divided by their sum, then replaced with their square roots.
//
// The paper uses features that a frozen network extracts from the brain images. This package replaces the network with
// a descriptor that is designed by hand, reproducible, and not fitted to any data.
package hog
