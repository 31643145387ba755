// Package hog describes an image by histograms of oriented gradients (Dalal and Triggs, "Histograms of oriented
// gradients for human detection", CVPR 2005): how strongly brightness changes in which direction, cell by cell. Blocks
// of cells are normalized to a sum of one and square-rooted.
//
// It replaces the frozen network from which the paper takes its features of the brain images. It is designed by hand,
// reproducible, and not fitted to any data.
package hog
