//go:build board

package task

// board is set by the tag of that name, for programs on devices with little room. They have no images (IDX), fit no
// principal components and deal no common data set out: all that is for trials and for other computers.
const board = true
