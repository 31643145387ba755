// Package fleet has the commands that make and change the files of a fleet: fit, keygen, init and fleet.
package fleet
