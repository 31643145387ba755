// Package flamby recomputes two tables of FLamby (du Terrail et al., "FLamby: Datasets and Benchmarks for Cross-Silo
// Federated Learning in Realistic Healthcare Settings", 2022) with the program's simulate command, on FLamby's own split:
// Fed-Heart, accuracy, and Fed-TCGA-BRCA, C-index of survival. FLamby's published figures stand beside them.
package flamby
