// Package report renders stored results as the tables of the paper, in Markdown and CSV. Each table shows the paper's
// own numbers next to the results.
package report
