package main

import (
	"bytes"
	"crypto/md5" // what dpkg --verify compares with
	"fmt"
	"os"
	"strings"
)

// debianVersion is the number with a tilde before what comes before a release: 1.0.0~rc.1 is older than 1.0.0.
func (r *release) debianVersion() string { return strings.Replace(r.number(), "-", "~", 1) }

// Scripts of the package. With DPKG_ROOT they work on a folder that is not the running system's.
const (
	// The node goes on where it was with the new program.
	postinst = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
	if command -v systemd-sysusers >/dev/null; then
		systemd-sysusers --root="$DPKG_ROOT/" spade-edge.conf
	elif ! getent passwd spade-edge >/dev/null; then
		useradd --system --home-dir /var/lib/spade-edge --shell /usr/sbin/nologin spade-edge
	fi
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl daemon-reload
		[ -z "$2" ] || systemctl try-restart spade-edge.service
	fi
fi
`
	prerm = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now spade-edge.service
fi
`
	// What a node has learned, spent and promised is the user's: purge leaves it, and its owner with it.
	postrm = `#!/bin/sh
set -e
if [ "$1" = purge ]; then
	rmdir "$DPKG_ROOT/var/lib/spade-edge" 2>/dev/null || true
	if [ -z "$DPKG_ROOT" ] && [ ! -d /var/lib/spade-edge ] && getent passwd spade-edge >/dev/null; then
		userdel spade-edge
	fi
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
`
	sysusers = "u spade-edge - \"SPADE-Edge node\" /var/lib/spade-edge\n"
)

const control = `Package: spade-edge
Version: %s
Architecture: %s
Maintainer: The SPADE-Edge authors <spade-edge@users.noreply.github.com>
Installed-Size: %d
Section: science
Priority: optional
Homepage: https://github.com/spade-dfl/spade-edge
Description: one model trained by many devices, without a server
 Devices at the edge train one shared model together. There is no server, no
 gradient, and no raw data leaves a device. What a device gave away is bounded
 by differential privacy and told by a certificate.
 .
 Put the files of a node into /var/lib/spade-edge, and enable the service
 spade-edge. "spade-edge demo" trains eight nodes on this machine.
`

// deb packs the program, its unit, its user and its manual for Debian. Programs are static: there is no dependency.
func (r *release) deb(p processor, program, man, unit []byte) ([]byte, error) {
	const at, after = "/usr/local/bin/", "After=network-online.target\n"
	if !bytes.Contains(unit, []byte("ExecStart="+at)) || !bytes.Contains(unit, []byte(after)) {
		return nil, fmt.Errorf("examples/fleet/spade-edge.service has no ExecStart=%s or no %q", at, after)
	}
	service := []byte(strings.NewReplacer(at, "/usr/bin/", after,
		after+"ConditionPathExists=/var/lib/spade-edge/node.json\n").Replace(string(unit)))
	changes, err := os.ReadFile(".github/CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	licenses, err := os.ReadFile("cmd/spade-edge/internal/cli/licenses.txt")
	if err != nil {
		return nil, err
	}
	changelog, err := zip(changes)
	if err != nil {
		return nil, err
	}
	page, err := zip(man)
	if err != nil {
		return nil, err
	}
	files := []file{
		{"./usr/bin/spade-edge", 0o755, program, 0},
		{"./usr/lib/systemd/system/spade-edge.service", 0o644, service, 0},
		{"./usr/lib/sysusers.d/spade-edge.conf", 0o644, []byte(sysusers), 0},
		{"./usr/share/doc/spade-edge/NEWS.gz", 0o644, changelog, 0},
		{"./usr/share/doc/spade-edge/copyright", 0o644, licenses, 0},
		{"./usr/share/man/man1/spade-edge.1.gz", 0o644, page, 0},
	}
	var sums, size = "", 0
	all, made := []file{{"./", 0o755, nil, 0}}, map[string]bool{}
	for _, f := range files {
		sums += fmt.Sprintf("%x  %s\n", md5.Sum(f.data), strings.TrimPrefix(f.name, "./"))
		size += (len(f.data) + 1023) / 1024
		for i := 2; i < len(f.name); i++ {
			if dir := f.name[:i+1]; f.name[i] == '/' && !made[dir] {
				made[dir], all = true, append(all, file{dir, 0o755, nil, 0})
			}
		}
		all = append(all, f)
	}
	data, err := r.tarball(all)
	if err != nil {
		return nil, err
	}
	about, err := r.tarball([]file{
		{"./", 0o755, nil, 0},
		{"./control", 0o644, fmt.Appendf(nil, control, r.debianVersion(), p.debian, size), 0},
		{"./md5sums", 0o644, []byte(sums), 0},
		{"./postinst", 0o755, []byte(postinst), 0}, {"./postrm", 0o755, []byte(postrm), 0}, {"./prerm", 0o755, []byte(prerm), 0},
	})
	if err != nil {
		return nil, err
	}
	// An ar archive of three members (deb(5)).
	out := bytes.NewBufferString("!<arch>\n")
	for _, m := range []file{{name: "debian-binary", data: []byte("2.0\n")}, {name: "control.tar.gz", data: about},
		{name: "data.tar.gz", data: data}} {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, r.date.Unix(), 0, 0, "100644", len(m.data))
		out.Write(m.data)
		if len(m.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

func (r *release) tarball(files []file) ([]byte, error) {
	b, err := archive(r.date, files)
	if err != nil {
		return nil, err
	}
	return zip(b)
}
