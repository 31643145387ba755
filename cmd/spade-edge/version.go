package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

var versionCommand = &command{
	name:  "version",
	short: "what this program was built from",
	run: func(_ context.Context, cmd *command, args []string, out, _ io.Writer) error {
		if err := cmd.parse(cmd.flags(), args, out); err != nil {
			return err
		}
		version, revision := "(devel)", "unknown revision"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					revision = s.Value
				}
			}
		}
		_, err := fmt.Fprintf(out, "spade-edge %s, %s, %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	},
}
