package validate

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// service has exactly those fields of a Compose service that compose.yaml uses, so that a misspelled field in the file
// is an error.
type service struct {
	Image           string   `json:"image"`
	PullPolicy      string   `json:"pull_policy"`
	User            string   `json:"user"`
	Restart         string   `json:"restart"`
	StopGracePeriod string   `json:"stop_grace_period"`
	ReadOnly        bool     `json:"read_only"`
	CapDrop         []string `json:"cap_drop"`
	SecurityOpt     []string `json:"security_opt"`
	MemLimit        string   `json:"mem_limit"`
	Volumes         []struct {
		Type   string          `json:"type"`
		Source string          `json:"source"`
		Target string          `json:"target"`
		Bind   map[string]bool `json:"bind"`
	} `json:"volumes"`
	Networks map[string]struct {
		Aliases []string `json:"aliases"`
	} `json:"networks"`
}

// TestCompose checks that compose.yaml has the same members as statefulset.yaml. Each member must have its own folder,
// its own address in the fleet, and no more privileges than in statefulset.yaml.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("../../examples/fleet/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Name     string             `json:"name"`
		Node     service            `json:"x-node"`
		Services map[string]service `json:"services"`
		Networks map[string]any     `json:"networks"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	headless, set := documents(t, manifest(t))
	pod := set.Spec.Template.Spec
	if len(file.Services) != int(*set.Spec.Replicas) {
		t.Errorf("%d services, want %d", len(file.Services), *set.Spec.Replicas)
	}
	for i := range *set.Spec.Replicas {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		s, ok := file.Services[name]
		if !ok {
			t.Errorf("no service %q", name)
			continue
		}
		if node := pod.Containers[0]; s.Image != node.Image || s.PullPolicy != "never" {
			t.Errorf("%s: image %q, pulled %q, want %q, which is built here", name, s.Image, s.PullPolicy, node.Image)
		}
		if len(s.Volumes) != 1 || s.Volumes[0].Type != "bind" || s.Volumes[0].Source != "./study/"+name ||
			s.Volumes[0].Target != "/node" || s.Volumes[0].Bind["create_host_path"] {
			t.Errorf("%s: volumes %+v, want its own folder at /node", name, s.Volumes)
		}
		address := name + "." + headless.Name
		if got := s.Networks["fleet"].Aliases; !slices.Equal(got, []string{address}) {
			t.Errorf("%s is known as %q, want %q", name, got, address)
		}
		if s.User == "" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s has more rights than it needs: %+v", name, s)
		}
	}
	if _, ok := file.Networks["fleet"]; !ok {
		t.Error("no network fleet")
	}
}

// TestComposeConfig checks that Docker Compose accepts the file, if Docker Compose is installed. The check does not
// need a running Docker engine.
func TestComposeConfig(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "docker", "compose", "version").CombinedOutput(); err != nil {
		t.Skipf("there is no docker compose here: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "docker", "compose", "-f", "../../examples/fleet/compose.yaml", "config",
		"--quiet")
	cmd.Env = append(os.Environ(), "SPADE_USER=65532:65532")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
