// Package settings describes each setting of a fleet once: its name, range, default and help text. Package sdk checks
// fleets with these descriptions, and a program derives its flags, help and error texts from them:
//
//	for _, s := range settings.All() {
//		fmt.Println(s.Name, s.Words, s.In(&fleet))
//	}
package settings
