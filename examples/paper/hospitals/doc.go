// Package hospitals studies a real federation: the heart disease data of four hospitals, which differ in their
// patients, in their measurements, and in how ill the patients are. Each hospital is one client. The study compares
// what each hospital achieves alone with what all four achieve together without sharing patient data, and measures the
// cost of privacy, which is high with only four clients.
package hospitals
