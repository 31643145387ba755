// Command outside does what an outsider does: it publishes this checkout's modules to a module proxy in a temporary
// folder, as the version that the nested modules require, and follows the READMEs in an empty folder.
//
//	go run ./.ci/outside             every "go get" and "go install" of a README, the quickstart, and a program over each broker
//	go run ./.ci/outside -tidy       only whether nested modules are tidy, and known to dependabot
//	go run ./.ci/outside -tags v1.2.0   the tags of a release; fails unless the nested modules require that version
//
// Run it from the root of the module.
package main

import (
	"archive/zip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const root = "github.com/spade-dfl/spade-edge"

func main() {
	tidy := flag.Bool("tidy", false, "only check that the nested modules are tidy")
	tags := flag.String("tags", "", "print the tags of a `version`, and nothing else")
	flag.Parse()
	dir, err := os.MkdirTemp("", "outside")
	if err == nil {
		err = run(dir, *tidy, *tags)
		_ = exec.Command("chmod", "-R", "u+w", dir).Run() // the module cache is read-only
		_ = os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}

func run(dir string, tidy bool, tags string) error {
	text, err := exec.Command("git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(strings.Fields(string(text)), func(f string) bool { _, err := os.Stat(f); return err != nil })
	modules, err := modulesOf(files)
	if err != nil {
		return err
	}
	if tags != "" {
		for folder, m := range modules {
			if m.requires != "" && m.requires != tags {
				err = errors.Join(err, fmt.Errorf("%s/go.mod requires %s %s, want %s (and the same in its go.work)", folder, root, m.requires, tags))
			}
			if m.public(folder) {
				fmt.Println(path.Join(folder, tags))
			}
		}
		return err
	}
	if tidy {
		return tidyAll(dir, modules)
	}
	version := modules["transport/broker"].requires
	for folder, m := range modules {
		if m.public(folder) {
			err = errors.Join(err, publish(dir, folder, m.name, version, files, modules))
		}
	}
	if err != nil {
		return err
	}
	o := outsider{dir: dir, env: append(os.Environ(), "GOWORK=off", "GOMODCACHE="+filepath.Join(dir, "cache"), "GOBIN="+filepath.Join(dir, "bin"),
		"GOPROXY=file://"+filepath.Join(dir, "proxy")+",file://"+filepath.Join(output("go", "env", "GOMODCACHE"), "cache", "download")+","+
			output("go", "env", "GOPROXY"), "GONOSUMDB="+root, "GOFLAGS=-trimpath")}
	return o.follow(files, version)
}

// module is a module of this checkout.
type module struct{ name, requires string } // requires is the version of the root that it requires, if any

// public reports whether others can use the module in a folder; those of .ci and of transcripts are only for tests.
func (m module) public(folder string) bool {
	return m.name == path.Join(root, folder) && folder != "cmd/spade-edge/transcripts"
}

// modulesOf returns the modules by their folders; the root's is ".". All must require one version of the root.
func modulesOf(files []string) (map[string]module, error) {
	modules, versions := map[string]module{}, map[string]bool{}
	for _, f := range files {
		if path.Base(f) != "go.mod" || strings.Contains(f, "testdata/") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		m := module{name: regexp.MustCompile(`(?m)^module (\S+)`).FindStringSubmatch(string(text))[1]}
		if regexp.MustCompile(`(?m)^replace `).Match(text) {
			return nil, fmt.Errorf("%s has a replace directive, which go install refuses: put it into the module's go.work", f)
		}
		for _, r := range regexp.MustCompile(`(?m)^(?:require )?\s*`+root+`(?:/\S+)? (v\S+)`).FindAllStringSubmatch(string(text), -1) {
			m.requires = r[1]
			versions[r[1]] = true
		}
		modules[path.Dir(f)] = m
	}
	if len(versions) != 1 {
		return nil, fmt.Errorf("the nested modules require the versions %v of modules here, want one", versions)
	}
	return modules, nil
}

// publish writes a module into the proxy.
func publish(dir, folder, name, version string, files []string, modules map[string]module) error {
	to := filepath.Join(dir, "proxy", filepath.FromSlash(name), "@v")
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	for _, f := range files {
		of := path.Dir(f)
		for modules[of].name == "" { // ends at the root, "."
			of = path.Dir(of)
		}
		if of != folder {
			continue
		}
		w, err := z.Create(name + "@" + version + "/" + strings.TrimPrefix(f, folder+"/"))
		if err != nil {
			return err
		}
		text, err := os.Open(f)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, text)
		text.Close()
		if err != nil {
			return err
		}
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	return errors.Join(err, z.Close(), os.WriteFile(filepath.Join(to, version+".mod"), mod, 0o600),
		os.WriteFile(filepath.Join(to, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o600),
		os.WriteFile(filepath.Join(to, "list"), []byte(version+"\n"), 0o600))
}

func output(name string, args ...string) string {
	text, _ := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(text))
}

// outsider is somebody without a checkout.
type outsider struct {
	dir string
	env []string
}

// do runs a command in a folder and returns its output.
func (o *outsider) do(in string, command ...string) (string, error) {
	fmt.Println(strings.Join(command, " "))
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = in, o.env
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, text)
	}
	return string(text), err
}

// tidyAll returns an error for each nested module that is not tidy or that dependabot does not know. The modules of this checkout
// take the place of their next version, and others come from the user's module cache, so that nothing is downloaded twice.
func tidyAll(dir string, modules map[string]module) error {
	bot, err := os.ReadFile(".github/dependabot.yml")
	here, errHere := os.Getwd()
	err = errors.Join(err, errHere)
	var replace strings.Builder
	for folder, m := range modules {
		if m.public(folder) {
			fmt.Fprintf(&replace, "replace %s => %s\n", m.name, filepath.Join(here, folder))
		}
	}
	o := outsider{env: append(os.Environ(), "GOWORK=off", "GOFLAGS=")}
	for folder := range modules {
		named := path.Clean("/" + folder)
		if path.Dir(folder) == ".ci" {
			named = "/.ci/*"
		}
		if !regexp.MustCompile(regexp.QuoteMeta(named) + `[],]`).Match(bot) {
			err = errors.Join(err, fmt.Errorf(".github/dependabot.yml does not name %s", named))
		}
		mod, errMod := os.ReadFile(filepath.Join(folder, "go.mod"))
		sum, errSum := os.ReadFile(filepath.Join(folder, "go.sum"))
		at := filepath.Join(dir, "tidy")
		errs := errors.Join(errMod, errSum, os.WriteFile(at+".mod", append(mod, "\n"+replace.String()...), 0o600), os.WriteFile(at+".sum", sum, 0o600))
		if errs == nil {
			_, errs = o.do(folder, "go", "mod", "tidy", "-diff", "-modfile="+at+".mod")
		}
		if errs != nil {
			err = errors.Join(err, fmt.Errorf("in %s: %w", folder, errs))
		}
	}
	return err
}

// programs are what an outsider writes, beside the quickstart: the import of each package that a README names for it.
var programs = []string{"transport/broker/nats", "transport/broker/mqtt", "examples/adapter"}

// follow does in an empty module what the READMEs say.
func (o *outsider) follow(files []string, version string) error {
	work := filepath.Join(o.dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	if _, err := o.do(work, "go", "mod", "init", "example.org/outsider"); err != nil {
		return err
	}
	said := regexp.MustCompile(`go (get|install) (` + regexp.QuoteMeta(root) + `\S*)@(latest|v[0-9.]+)`)
	var done []string
	for _, f := range files {
		if path.Ext(f) != ".md" {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains(done, m[1]+m[2]) {
				continue
			}
			done = append(done, m[1]+m[2])
			if _, err := o.do(work, "go", m[1], m[2]+"@"+version); err != nil {
				return fmt.Errorf("%s says: %w", f, err)
			}
		}
	}
	for _, want := range []string{"install" + root + "/cmd/spade-edge", "install" + root + "/transport/broker/cmd/spade-edge-nats",
		"install" + root + "/transport/broker/cmd/spade-edge-mqtt", "get" + root + "/sdk"} {
		if !slices.Contains(done, want) {
			return fmt.Errorf("no README says go %s; they say %q", want, done)
		}
	}
	for _, name := range []string{"spade-edge", "spade-edge-nats", "spade-edge-mqtt"} {
		text, err := o.do(work, filepath.Join(o.dir, "bin", name), "version")
		if err == nil && !strings.Contains(text, version) {
			err = fmt.Errorf("%s version prints %q, want %s in it", name, text, version)
		}
		if err != nil {
			return err
		}
	}
	quick, err := os.ReadFile("examples/quickstart/main.go")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "main.go"), quick, 0o600); err != nil {
		return err
	}
	if text, err := o.do(work, "go", "run", "."); err != nil || !strings.Contains(text, "a pump fails if [") {
		return fmt.Errorf("the quickstart prints %q: %w", text, err)
	}
	for _, p := range programs {
		if !slices.Contains(done, "get"+root+"/"+p) {
			return fmt.Errorf("no README says go get %s/%s", root, p)
		}
		folder := filepath.Join(work, path.Base(p))
		source := fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", root+"/"+p)
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "main.go"), []byte(source), 0o600)); err != nil {
			return err
		}
		if _, err := o.do(work, "go", "build", "-o", os.DevNull, "./"+path.Base(p)); err != nil {
			return err
		}
	}
	return nil
}
