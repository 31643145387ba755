// Package audit checks a member's privacy certificate against its fleet and the members' public keys. Anybody with the
// fleet file can run an audit.
package audit
