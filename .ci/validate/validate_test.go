package validate

import (
	"os"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// documents parses each document of the manifest into the type that it declares. Unknown and duplicate fields are
// errors.
func documents(t *testing.T, text string) (service core.Service, set apps.StatefulSet) {
	t.Helper()
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, "\n---\n") {
		var kind struct{ Kind, APIVersion string }
		if err := yaml.Unmarshal([]byte(part), &kind); err != nil {
			t.Fatal(err)
		}
		var err error
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Service":
			err = yaml.UnmarshalStrict([]byte(part), &service)
		case "apps/v1 StatefulSet":
			err = yaml.UnmarshalStrict([]byte(part), &set)
		default:
			t.Fatalf("a %s of %s", kind.Kind, kind.APIVersion)
		}
		if err != nil {
			t.Error(err)
		}
		if seen[kind.Kind] {
			t.Errorf("two of kind %s", kind.Kind)
		}
		seen[kind.Kind] = true
	}
	return service, set
}

func manifest(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/fleet/statefulset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestManifest(t *testing.T) {
	check(t, manifest(t))
}

// TestManifestTheFirstTime checks that the manifest is also valid with the section for the first start, which is
// normally commented out.
func TestManifestTheFirstTime(t *testing.T) {
	text := manifest(t)
	start := strings.Index(text, "        # - name: ledger")
	end := strings.Index(text, "      containers:")
	if start < 0 || end < start {
		t.Fatal("the commented part is not where it was")
	}
	check(t, text[:start]+strings.ReplaceAll(text[start:end], "        # ", "        ")+text[end:])
}

func check(t *testing.T, text string) {
	t.Helper()
	service, set := documents(t, text)
	pod := set.Spec.Template
	switch {
	case set.Spec.ServiceName != service.Name:
		t.Errorf("serviceName is %q, and the service %q: pods have no names", set.Spec.ServiceName, service.Name)
	case service.Spec.ClusterIP != core.ClusterIPNone || !service.Spec.PublishNotReadyAddresses:
		t.Error("the service must be headless, and name pods that are not ready")
	case set.Spec.PodManagementPolicy != apps.ParallelPodManagement:
		t.Error("pods must start side by side: none gets ready alone")
	case len(set.Spec.VolumeClaimTemplates) != 1:
		t.Error("state and ledger need a volume each pod keeps")
	}
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value || set.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("label %s: the service selects %q, pods have %q, the set selects %q", key, value, pod.Labels[key],
				set.Spec.Selector.MatchLabels[key])
		}
	}
	var volumes []string
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if s := v.Secret; s != nil && (s.DefaultMode == nil || *s.DefaultMode != 0o440) {
			t.Errorf("volume %q: its mode is %v, want 0440: the group of the pod reads it", v.Name, s.DefaultMode)
		}
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, v.Name)
	}
	used := map[string]bool{}
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
			if !slices.Contains(volumes, m.Name) {
				t.Errorf("container %q mounts %q, which is no volume", c.Name, m.Name)
			}
		}
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil ||
			!*s.ReadOnlyRootFilesystem ||
			s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("container %q has more rights than it needs: %+v", c.Name, s)
		}
		words := strings.Join(append(slices.Clone(c.Command), c.Args...), " ")
		if strings.Contains(words, "$(POD_NAME)") && !slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
			return e.Name == "POD_NAME" && e.ValueFrom != nil && e.ValueFrom.FieldRef != nil &&
				e.ValueFrom.FieldRef.FieldPath == "metadata.name"
		}) {
			t.Errorf("container %q uses POD_NAME without having it", c.Name)
		}
	}
	for _, name := range volumes {
		if !used[name] {
			t.Errorf("nobody mounts volume %q", name)
		}
	}
	for _, p := range service.Spec.Ports {
		if !slices.ContainsFunc(pod.Spec.Containers[0].Ports,
			func(c core.ContainerPort) bool { return c.Name == p.TargetPort.StrVal && c.ContainerPort == p.Port }) {
			t.Errorf("port %q of the service leads nowhere", p.Name)
		}
	}
}
