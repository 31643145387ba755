// Package audit checks a member's privacy certificate against its fleet and the keys of the fleet's members. Whoever
// has the fleet file can do it, without being a member.
package audit
