// Package explain writes costs and certificates as texts for people who are not experts. A node does not link it.
package explain
