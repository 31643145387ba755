package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// licenses are those of the modules, as SPDX calls them. A module that is not here stops the release: somebody has to
// read its licence.
var licenses = map[string]string{
	"github.com/spade-dfl/spade-edge": "Apache-2.0",
	"github.com/fxamacker/cbor/v2":    "MIT",
	"github.com/klauspost/compress":   "Apache-2.0 AND BSD-3-Clause AND MIT",
	"github.com/x448/float16":         "MIT",
	"nhooyr.io/websocket":             "ISC",
	"std":                             "BSD-3-Clause",
}

// sbom lists what is in the programs, as SPDX 2.3: the modules that the linker wrote into them, and each program with its
// SHA-256.
func (r *release) sbom(programs string) ([]byte, error) {
	type object = map[string]any
	found, err := filepath.Glob(filepath.Join(programs, "spade-edge-*"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("no program in %s (%v)", programs, err)
	}
	info, err := buildinfo.ReadFile(found[0])
	if err != nil {
		return nil, err
	}
	var packages, files, relations []any
	add := func(id, path, version string) error {
		license := licenses[path]
		if license == "" {
			return fmt.Errorf("the licence of %s is not known: read it, and add it to the table", path)
		}
		packages = append(packages, object{
			"SPDXID": id, "name": path, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
			"licenseConcluded": license, "licenseDeclared": license, "copyrightText": "NOASSERTION",
			"externalRefs": []any{object{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
				"referenceLocator": "pkg:golang/" + path + "@" + version}},
		})
		return nil
	}
	relate := func(from, kind, to string) {
		relations = append(relations, object{"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
	}
	const own = "SPDXRef-spade-edge"
	if err := add(own, info.Main.Path, r.version); err != nil {
		return nil, err
	}
	relate("SPDXRef-DOCUMENT", "DESCRIBES", own)
	for i, m := range append(info.Deps, nil) {
		id, path, version := fmt.Sprintf("SPDXRef-module-%d", i+1), "std", strings.TrimPrefix(info.GoVersion, "go")
		if m != nil {
			path, version = m.Path, m.Version
		}
		if err := add(id, path, version); err != nil {
			return nil, err
		}
		relate(own, "DEPENDS_ON", id)
	}
	for i, path := range found {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		id := fmt.Sprintf("SPDXRef-file-%d", i+1)
		files = append(files, object{"SPDXID": id, "fileName": "./" + filepath.Base(path), "copyrightText": "NOASSERTION",
			"licenseConcluded": "NOASSERTION", "licenseInfoInFiles": []string{"NOASSERTION"},
			"checksums": []any{object{"algorithm": "SHA256", "checksumValue": fmt.Sprintf("%x", sha256.Sum256(b))}}})
		relate(id, "GENERATED_FROM", own)
	}
	b, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "spade-edge " + r.version,
		"documentNamespace": "https://github.com/spade-dfl/spade-edge/releases/" + r.version + "/" + r.commit,
		"creationInfo":      object{"created": r.date.Format(time.RFC3339), "creators": []string{"Tool: .ci/packages"}},
		"packages":          packages, "files": files, "relationships": relations,
	}, "", "  ")
	return append(b, '\n'), err
}
