// Command ticker wakes up ten times a second and does nothing else: what that takes is the machine's doing.
package main

import "time"

func main() {
	for range time.Tick(time.Second / 10) {
	}
}
