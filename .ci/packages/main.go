// Command packages makes of the programs of a release what people install: packages for Debian, images for containers, a
// manual page, and a list of what is inside (SPDX 2.3). The same input gives the same bytes.
//
//	go run ./.ci/packages -version v1.2.0 -commit 0123456789ab -date 1767225600 -programs DIR -out DIR
//
// DIR of -programs holds what "go run ./.ci/footprint -release DIR" makes of linux/amd64, linux/arm64 and
// linux/arm/6. .ci/release calls it. It is run from the root of the module.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// release is what is packed.
type release struct {
	version string // with its v, as in v1.2.0
	commit  string
	date    time.Time // of the commit: the time of every file
}

// number is the version without its v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// processor is what Debian, container registries and this project call a processor.
type processor struct{ debian, image, variant, program string }

// processors are those of machines with a package manager or a container engine. They have room: the programs are plain
// builds, with the commands of a fleet's operator.
var processors = []processor{
	{"amd64", "amd64", "", "spade-edge-linux-amd64"},
	{"arm64", "arm64", "v8", "spade-edge-linux-arm64"},
	{"armhf", "arm", "v6", "spade-edge-linux-arm-6"},
}

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "of the release, such as v1.2.0")
	flag.StringVar(&r.commit, "commit", "", "of the release")
	date := flag.Int64("date", 0, "of the commit, in `seconds` since 1970")
	programs := flag.String("programs", "", "`directory` of the programs")
	out := flag.String("out", "", "`directory` for what is made")
	flag.Parse()
	r.date = time.Unix(*date, 0).UTC()
	if err := r.pack(*programs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func (r *release) pack(programs, out string) error {
	if r.number() == r.version || r.commit == "" || r.date.Unix() == 0 || programs == "" || out == "" {
		return errors.New("-version, -commit, -date, -programs and -out are all needed")
	}
	man, err := r.manual()
	if err != nil {
		return err
	}
	unit, err := os.ReadFile("examples/fleet/spade-edge.service")
	if err != nil {
		return err
	}
	made := map[string][]byte{"spade-edge.1": man}
	if made["spade-edge.spdx.json"], err = r.sbom(programs); err != nil {
		return err
	}
	for _, p := range processors {
		program, err := os.ReadFile(filepath.Join(programs, p.program))
		if err != nil {
			return err
		}
		if made[fmt.Sprintf("spade-edge_%s_%s.deb", r.debianVersion(), p.debian)], err = r.deb(p, program, man, unit); err != nil {
			return err
		}
		if made["spade-edge-image-"+p.image+".tar"], err = r.image(p, program); err != nil {
			return err
		}
	}
	for name, b := range made {
		if err := os.WriteFile(filepath.Join(out, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
