// Package hospitals is a study of a federation that nobody has made up: the heart disease files of four real hospitals,
// which differ in who comes, in what is measured and in how ill people are. Each hospital is one client. It compares
// what a hospital has alone with what the four have together, without a word on their patients, and says what privacy
// costs: four clients are few.
package hospitals
