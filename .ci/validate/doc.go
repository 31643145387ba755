// Package validate holds the test of statefulset.yaml: it is read as strictly as Kubernetes reads it, into the types of
// its own API, and what one part of it says of another is compared. It is a module of its own, so that those types are
// no dependency of SPADE-Edge. The manifest lies outside of it, so go test -count=1 is what notices that it has
// changed.
package validate
