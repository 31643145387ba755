// Command empty does nothing: what it weighs is Go's own runtime.
package main

func main() {}
