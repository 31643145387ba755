// Package hospitals studies a real federation: the heart disease files of four hospitals, which differ in their
// patients, in what they measure and in how ill the patients are. Each hospital is one client. The study compares what
// a hospital achieves alone with what the four achieve together without sharing patient data, and measures the cost of
// privacy, which is high with only four clients.
package hospitals
