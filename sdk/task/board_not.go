//go:build !board

package task

const board = false
