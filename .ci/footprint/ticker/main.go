// Command ticker does nothing but wake up ten times a second, to measure what that costs on this machine.
package main

import "time"

func main() {
	for range time.Tick(time.Second / 10) {
	}
}
