// Package audit checks a member's privacy certificate against its fleet and the public keys of the members. Anybody
// with the fleet file can run an audit; membership is not required.
package audit
