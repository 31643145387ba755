// Package report turns stored results into the tables of the paper, as Markdown and CSV, each with the paper's own
// numbers beside them.
package report
