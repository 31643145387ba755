// Command image packs a program into a container image that contains nothing else. The image is one file for "docker
// load", "podman load" or "skopeo copy docker-archive:". It is equivalent to the image that examples/fleet/Dockerfile
// builds, and is reproducible: the same input results in the same bytes.
//
//	go run . -version v1.2.0 -commit 0123456789ab -date 1767225600 -arch arm -variant v6 -program FILE -out FILE
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// user is the user ID in a container. It is numeric, because an image from scratch has no file with user names.
const user = 65532

func main() {
	version := flag.String("version", "", "version of the release, such as v1.2.0")
	commit := flag.String("commit", "", "commit of the release")
	seconds := flag.Int64("date", 0, "date of the commit, in `seconds` since 1970")
	arch := flag.String("arch", "", "`processor`, as Go names it")
	variant := flag.String("variant", "", "variant of the processor, such as v6")
	program := flag.String("program", "", "`file` to pack")
	out := flag.String("out", "", "`file` to write")
	flag.Parse()
	err := func() error {
		layer, err := pack(*program, time.Unix(*seconds, 0).UTC())
		if err != nil {
			return err
		}
		number := strings.TrimPrefix(*version, "v")
		img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
			OS: "linux", Architecture: *arch, Variant: *variant, Created: v1.Time{Time: time.Unix(*seconds, 0).UTC()},
			RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{
				User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/spade-edge"}, Cmd: []string{"run", "node.json"},
				WorkingDir: "/node", Volumes: map[string]struct{}{"/node": {}}, StopSignal: "SIGTERM",
				Labels: map[string]string{
					"org.opencontainers.image.licenses": "Apache-2.0",
					"org.opencontainers.image.revision": *commit,
					"org.opencontainers.image.source":   "https://github.com/spade-dfl/spade-edge",
					"org.opencontainers.image.title":    "spade-edge",
					"org.opencontainers.image.version":  number,
				},
			},
		})
		if err != nil {
			return err
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return err
		}
		tag, err := name.NewTag("spade-edge:" + number)
		if err != nil {
			return err
		}
		return tarball.WriteToFile(*out, tag, img)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// pack returns the layer of the image. The layer has the program and a folder for the node's files. The folder belongs
// to the user ID in the constant user.
func pack(path string, at time.Time) (v1.Layer, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err = errors.Join(
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "node/", Mode: 0o700, Uid: user, Gid: user, ModTime: at}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "spade-edge", Mode: 0o755, Size: int64(len(program)), ModTime: at}))
	if err == nil {
		_, err = w.Write(program)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}
