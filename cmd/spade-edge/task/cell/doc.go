// Package cell reads the cells of a table as people and programs write them: numbers, decimal marks, markers of missing
// values, and names that differ only in how they are encoded. Every function depends on one cell alone, so that no
// record of a table can change how another is read.
package cell
