// Package eigen finds the largest eigenvalues of a matrix that is known by its products with vectors.
package eigen
