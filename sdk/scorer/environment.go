package scorer

import "os"

// markName is the variable by which a process is known to belong to an oracle, as its children are.
const markName = "SPADE_EDGE_SCORER"

// passed are the variables that every program gets. What else the environment of a node has, such as credentials of a
// proxy, is none of a program's business unless it is named.
var passed = []string{
	"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "USERPROFILE",
}

// environment returns the environment of a program.
func environment(named []string) (env []string) {
	for _, names := range [][]string{passed, named} {
		for _, name := range names {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}
