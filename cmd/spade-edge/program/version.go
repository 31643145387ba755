package program

import (
	"context"
	_ "embed" // the licences
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// release says which release this is and of which commit, such as "v1.2.0 0123456789ab": the linker sets it
// (.ci/release). A build of a checkout has what the go command has found.
var release string

// notices are the licences of what is linked into the program.
//
//go:embed licenses.txt
var notices string

func version(ctx context.Context, c *cmdline) error {
	licenses := c.Bool("licenses", false, "print the licences of what is in this program")
	if err := c.parse(); err != nil {
		return err
	}
	if *licenses {
		if c.program.Name != "spade-edge" {
			fmt.Fprintf(c.out, "%s has more modules in it than are named here: \"go version -m\" lists them.\n\n", c.program.Name)
		}
		_, err := io.WriteString(c.out, notices)
		return err
	}
	stamp := release
	if info, ok := debug.ReadBuildInfo(); ok && stamp == "" {
		revision := "unknown revision"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
		stamp = info.Main.Version + ", " + revision
	}
	_, err := fmt.Fprintf(c.out, "%s %s, %s, %s/%s\n", c.program.Name, stamp, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}
