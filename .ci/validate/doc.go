// Package validate tests statefulset.yaml: it parses the file as strictly as Kubernetes, into the types of its API,
// and checks that the parts agree. It is a separate module, so that those types are no dependency of SPADE-Edge. The
// manifest is outside this module: only go test -count=1 notices its changes.
package validate
