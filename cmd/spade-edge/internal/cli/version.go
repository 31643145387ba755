package cli

import (
	"context"
	_ "embed" // the licences
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// Release says which release this is and of which commit, such as "v1.2.0 0123456789ab": the linker sets it
// (.ci/release). A build of a checkout has what the go command has found.
var Release string

// notices are the licences of what is linked into the program.
//
//go:embed licenses.txt
var notices string

// Version is the command that says what the program was built from.
func Version(ctx context.Context, c *Cmdline) error {
	licenses := c.Bool("licenses", false, "print the licences of what is in this program")
	if err := c.ParseArgs(); err != nil {
		return err
	}
	if *licenses {
		if c.Program.Name != "spade-edge" {
			fmt.Fprintf(c.Out, "%s has more modules in it than are named here: \"go version -m\" lists them.\n\n", c.Program.Name)
		}
		_, err := io.WriteString(c.Out, notices)
		return err
	}
	stamp := Release
	if info, ok := debug.ReadBuildInfo(); ok && stamp == "" {
		revision := "unknown revision"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
		stamp = info.Main.Version + ", " + revision
	}
	_, err := fmt.Fprintf(c.Out, "%s %s, %s, %s/%s\n", c.Program.Name, stamp, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}
