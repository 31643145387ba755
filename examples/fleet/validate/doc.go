// Package validate holds the tests of statefulset.yaml and compose.yaml. The first is read as strictly as Kubernetes reads it, into the
// types of its own API, and what one part of it says of another is compared; the second has to have the same members. It is a module
// of its own, so that those types are no dependency of SPADE-Edge.
package validate
