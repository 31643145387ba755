// Package builtin makes the models and data of package task an oracle of node files, the task of fleet files, and what a
// model file says how to apply. A program has them by importing this package, for its effect or its functions: packages
// fleetfile and device do not link them.
package builtin
