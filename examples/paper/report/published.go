package report

// Mean accuracies of SPADE-DFL as reported in the paper, in percent.
var (
	// publishedTable2 maps a data set to its table row, with one value per partition in experiment.Partitions.
	publishedTable2 = map[string][]float64{
		"mnist":      {95.40, 95.31, 95.15, 95.37},
		"fashion":    {93.28, 93.25, 93.36, 93.17},
		"alzheimers": {77.27, 77.31, 75.73, 75.64},
		"brain":      {74.38, 74.35, 74.07, 74.44},
	}
	// publishedTable3 maps a data set to its table row, with one value per number of clients in experiment.Counts.
	publishedTable3 = map[string][]float64{
		"mnist":      {99.21, 99.03, 99.21, 99.21, 99.15},
		"fashion":    {94.22, 92.28, 92.23, 93.00, 93.55},
		"alzheimers": {72.16, 72.16, 72.84, 72.49, 73.00},
		"brain":      {65.46, 68.82, 65.00, 70.46, 70.96},
	}
	// publishedTable4 maps a data set to its table row, with one value per epsilon in experiment.Epsilons.
	publishedTable4 = map[string][]float64{
		"mnist":      {93.32, 97.98, 99.05, 99.15, 99.15},
		"fashion":    {92.50, 93.38, 93.43, 93.58, 93.55},
		"alzheimers": {61.05, 67.26, 71.56, 72.81, 73.00},
		"brain":      {43.29, 54.00, 64.18, 69.25, 70.96},
	}
)
