// Package explain writes costs and certificates as texts for people who are not experts. Package sdk does not depend on it.
package explain
