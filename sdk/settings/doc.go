// Package settings describes each setting of a fleet once: its name, range, default and words. Package sdk checks fleets by it,
// and a program makes flags, help and error texts of it:
//
//	for _, s := range settings.All() {
//		fmt.Println(s.Name, s.Words, s.In(&fleet))
//	}
package settings
