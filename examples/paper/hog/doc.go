// Package hog describes an image by histograms of oriented gradients (Dalal and Triggs, "Histograms of oriented
// gradients for human detection", CVPR 2005): how strongly brightness changes in which direction, cell by cell. Blocks
// of cells are normalized to a sum of one and square-rooted.
//
// It stands in for the frozen network that the paper takes its features of the brain images from: made by hand, the
// same for everybody, and fitted to nothing.
package hog
