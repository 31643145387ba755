// Package hog describes an image by histograms of oriented gradients (Dalal and Triggs, "Histograms of oriented
// gradients for human detection", CVPR 2005). A histogram says how strongly brightness changes in which direction in
// one cell of the image. Blocks of cells are divided by their sum, and then square roots are taken.
//
// The paper uses features of the brain images from a frozen network. This package replaces that network by a descriptor
// that is designed by hand, reproducible, and not fitted to any data.
package hog
