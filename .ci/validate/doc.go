// Package validate tests statefulset.yaml. It parses the file into the types of the Kubernetes API, as strictly as
// Kubernetes does, and checks that the parts agree. It is a separate module, so that SPADE-Edge does not depend on
// these types. The manifest is outside this module, so Go's test cache does not notice changes to it: use go test
// -count=1.
package validate
