// Command ticker wakes up ten times a second and does nothing else. It is used to measure how much processor time
// wake-ups take on this machine.
package main

import "time"

func main() {
	for range time.Tick(time.Second / 10) {
	}
}
