//go:build !js

package device

import (
	"os"
	"syscall"
)

var reload os.Signal = syscall.SIGHUP // asks a node to read its fleet file again
