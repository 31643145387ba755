//go:build unix

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// bashTab has bash complete the line in $LINE, as it does when the tab key is pressed.
const bashTab = `. ./script.bash
COMP_LINE=$LINE COMP_POINT=${#LINE}
[[ $(complete -p spade-edge) == *"-F _spade_edge spade-edge" ]] || exit 1
_spade_edge
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
`

// zshTab types the line into a zsh of its own, presses the tab key, and prints what the completion system is given.
const zshTab = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'source ./setup.zsh'
repeat 20; do
	zpty -r z answer
	[[ $answer == *"setup is done"* ]] && break
done
zpty -n -w z "$LINE"$'\t'
result=
while zpty -r z answer; do
	result+=$answer
	[[ $result == *"<<end>>"* ]] && break
done
print -r -- ${${result#*"<<begin>>"}%%"<<end>>"*}
zpty -d z
`

const zshSetup = `PROMPT=
autoload compinit
compinit -u -d ./zcompdump
source ./script.zsh
bindkey '^I' complete-word
zstyle ':completion:*' list-grouped false
zstyle ':completion:*' insert-tab false
compprefuncs=(begun)
comppostfuncs=(ended)
begun() { print -r -- "<<begin>>" }
ended() { print -r -- "<<end>>"; exit }
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	typeset -a hits
	builtin compadd -A hits "$@"
	for hit in $hits; do print -r -- "hit $hit"; done
	builtin compadd "$@"
}
print -r -- "setup is"" done"
`

// The scripts work in the shells that they are for.
func TestCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"node.json", "patients.csv", "members.txt", "a file.json", "nodes/x", "setup.zsh"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(zshSetup), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "spade-edge"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range cli.Shells {
		code, script, log := call("completion", sh)
		if code != cli.ExitDone || log != "" {
			t.Fatalf("%s: exit code %d: %s", sh, code, log)
		}
		if err := os.WriteFile(filepath.Join(dir, "script."+sh), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tabs := map[string][]string{
		"bash": {"bash", "--norc", "-c", bashTab},
		"zsh":  {"zsh", "-f", "-c", zshTab},
		"fish": {"fish", "--no-config", "-c", `source ./script.fish; complete -C "$LINE"`},
	}
	for _, sh := range cli.Shells {
		t.Run(sh, func(t *testing.T) {
			if _, err := exec.LookPath(sh); err != nil {
				t.Skip(err)
			}
			t.Parallel()
			for _, c := range []struct {
				line string
				want string
			}{
				{"spade-edge st", "status stop"},
				{"spade-edge comp", "completion"},
				{"spade-edge help ex", "exit-codes export"},
				{"spade-edge completion ", "bash fish zsh"},
				{"spade-edge fleet r", "remove rotate"},
				{"spade-edge fleet move no", "nodes"},
				{"spade-edge run -ht", "-http"},
				{"spade-edge export node.json -out model.npy -fo", "-force"},
				{"spade-edge run nod", "node.json nodes"},
				{"spade-edge check node.json -off", "-offline"},
				{"spade-edge init no", "nodes"},
				{"spade-edge init plant -members mem", "members.txt"},
				{"spade-edge simulate -estimator ", "centered paper tracking"},
				{"spade-edge simulate -graph=st", "star"},
				{"spade-edge simulate -data syn", "synthetic:clinical"},
				{"spade-edge simulate -data csv:pat", "patients.csv"},
				{"spade-edge plan -nodes 5 -par", ""},
				{"spade-edge plan -nodes ", ""},
			} {
				tab := tabs[sh]
				cmd := exec.Command(tab[0], tab[1:]...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "LINE="+c.line, "HOME="+dir, "TERM=dumb",
					asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
				text, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", c.line, err, text)
				}
				if got := hits(sh, string(text)); got != c.want {
					t.Errorf("%q: %q, want %q\n%s", c.line, got, c.want, text)
				}
			}
		})
	}
}

// hits returns what a shell offers, in order, without what was typed before a colon or an equals sign and is not replaced.
func hits(shell, text string) string {
	var all []string
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		if shell == "zsh" {
			var ok bool
			if word, ok = strings.CutPrefix(word, "hit "); !ok {
				continue
			}
		}
		word, _, _ = strings.Cut(word, "\t") // fish describes behind a tab
		word = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "-graph="), "csv:"), "/")
		if word == "clinical" { // bash begins a new word behind a colon
			word = "synthetic:clinical"
		}
		if word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Every word that is offered for a flag is one that the flag takes, and every flag with words is there.
func TestFlagWords(t *testing.T) {
	flags := map[string]bool{}
	for _, cmd := range cli.Commands {
		for _, f := range cmd.Registered() {
			flags[f.Name] = true
		}
		if cmd.Name != "version" && cmd.Name != "completion" && len(cmd.Registered()) == 0 {
			t.Errorf("%s: no flags", cmd.Name)
		}
	}
	end := map[string]string{"csv:": "x", "idx:": "x", "grid:": "2x2", "er:": "0.9", "file:": "x", "dirichlet:": "1", "pathological:": "1"}
	for name, words := range cli.FlagWords {
		if !flags[name] {
			t.Errorf("no command has -%s", name)
		}
		for _, w := range words {
			args := []string{"simulate", "-nodes", "4", "-rounds", "1", "-" + name, w + end[w]}
			switch name {
			case "data":
				args = append(args, "-label", "x")
			}
			if _, _, log := call(args...); strings.Contains(log, ", want "+strings.TrimSuffix(cli.FlagWords[name][0], ":")) {
				t.Errorf("-%s %s: %s", name, w, log)
			}
		}
	}
}
