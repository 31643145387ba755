// Package report turns stored results into the tables of the paper, as Markdown and CSV. Each table shows the paper's
// own numbers beside the results.
package report
