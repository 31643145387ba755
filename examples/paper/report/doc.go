// Package report turns kept results into the tables of the paper, as Markdown to read and CSV to compute with, each
// with the paper's own numbers beside.
package report
