// Package validate tests statefulset.yaml. It parses the file as strictly as Kubernetes, into the types of its API, and
// checks that the parts agree. It is a separate module, so that SPADE-Edge does not depend on these types. The manifest
// is outside this module, so Go's test cache does not notice that it changed: use go test -count=1.
package validate
