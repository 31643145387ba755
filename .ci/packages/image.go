package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// user is who runs in a container, by number: an image from scratch has no names.
const user = 65532

// image makes an image of nothing but the program, as one file for "docker load", "podman load" or "skopeo copy
// oci-archive:": an OCI image layout (image-spec 1.1) with the manifest.json of Docker beside its index. It is what
// examples/fleet/Dockerfile makes.
func (r *release) image(p processor, program []byte) ([]byte, error) {
	layer, err := archive(r.date, []file{{"node/", 0o700, nil, user}, {"spade-edge", 0o755, program, 0}})
	if err != nil {
		return nil, err
	}
	packed, err := zip(layer)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.source":   "https://github.com/spade-dfl/spade-edge",
		"org.opencontainers.image.title":    "spade-edge",
		"org.opencontainers.image.version":  r.number(),
	}
	files := []file{{name: "blobs/", mode: 0o755}, {name: "blobs/sha256/", mode: 0o755}}
	blob := func(kind string, b []byte) map[string]any {
		files = append(files, file{name: fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(b)), mode: 0o644, data: b})
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": digest(b), "size": len(b)}
	}
	platform := map[string]any{"architecture": p.image, "os": "linux"}
	if p.variant != "" {
		platform["variant"] = p.variant
	}
	config := map[string]any{
		"created": r.date.Format(time.RFC3339),
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", user, user), "Entrypoint": []string{"/spade-edge"}, "Cmd": []string{"run", "node.json"},
			"WorkingDir": "/node", "Volumes": map[string]any{"/node": map[string]any{}}, "StopSignal": "SIGTERM", "Labels": labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
		"history": []any{map[string]any{"created": r.date.Format(time.RFC3339), "created_by": ".ci/release"}},
	}
	for k, v := range platform {
		config[k] = v
	}
	about := blob("config.v1+json", text(config))
	content := blob("layer.v1.tar+gzip", packed)
	manifest := blob("manifest.v1+json", text(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": about,
		"layers": []any{content}, "annotations": labels,
	}))
	manifest["platform"] = platform
	manifest["annotations"] = map[string]string{"org.opencontainers.image.ref.name": r.number()}
	path := func(d map[string]any) string { return "blobs/sha256/" + d["digest"].(string)[len("sha256:"):] }
	files = append(files,
		file{name: "index.json", mode: 0o644, data: text(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []any{manifest},
		})},
		file{name: "manifest.json", mode: 0o644, data: text([]any{map[string]any{
			"Config": path(about), "RepoTags": []string{"spade-edge:" + r.number()}, "Layers": []string{path(content)},
		}})},
		file{name: "oci-layout", mode: 0o644, data: text(map[string]string{"imageLayoutVersion": "1.0.0"})})
	return archive(r.date, files)
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// text is JSON with its keys in order. What is written here can be written.
func text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
