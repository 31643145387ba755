// Package builtin provides the models and data of package task as an oracle for node files and as the task of fleet
// files, and reads model files. A program imports it for its side effect or its functions; packages fleetfile and
// device do not link it.
package builtin
