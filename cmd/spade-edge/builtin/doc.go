// Package builtin provides the models and data of package task, both as an oracle for node files and as the task of
// fleet files. It also reads model files. Importing it registers the oracle and the task with package fleetfile.
// Packages fleetfile and device do not import package builtin, so programs without built-in models can leave it out.
package builtin
