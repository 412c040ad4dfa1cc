package install_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const ownDiscovery = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24], vips: {api: [192.168.127.100], ingress: [192.168.127.101]}, defaults: {ntp: [ntp.example.com]}}
  discovery: {kernelArgs: [shared=1], networkDelay: 10s}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}}
  - {name: cp-1, role: control-plane, match: {infraEnv: b}}
  - {name: cp-2, role: control-plane, match: {infraEnv: c}, discovery: {kernelArgs: [own=1], image: minimal, ntp: [near.example.com]}}
`

func parsed(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, true }
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The image that serves one host has what that says of it, under the host's own fields, and else
// what the cluster says.
func TestSettingsOfOneImage(t *testing.T) {
	w := newWorld(&model.Desired{Spec: parsed(t, ownDiscovery)})
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"lab": "spec.discovery.kernelArgs: shared=1, spec.discovery.networkDelay: 10, spec.network.defaults.ntp: ntp.example.com, spec.openshift.version: 4.20",
		"b":   "spec.discovery.kernelArgs: shared=1, spec.discovery.networkDelay: 10, spec.network.defaults.ntp: ntp.example.com, spec.openshift.version: 4.20",
		"c":   "spec.discovery.networkDelay: 10, spec.hosts[cp-2].discovery.image: minimal, spec.hosts[cp-2].discovery.kernelArgs: own=1, spec.hosts[cp-2].discovery.ntp: near.example.com, spec.openshift.version: 4.20",
	} {
		var got []string
		for _, a := range w.writes {
			if a.Kind != model.RegisterInfraEnv || a.Name != name {
				continue
			}
			for _, c := range a.Changes {
				got = append(got, c.Field+": "+c.To)
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// What changes of one image is written to that alone, and what of the cluster to those that have
// nothing of their own.
func TestOneImageChanges(t *testing.T) {
	for name, test := range map[string]struct {
		change [2]string
		booted bool
		writes string
		field  string // of what stands in the way
	}{
		"nothing":                    {},
		"of one image":               {change: [2]string{"own=1", "own=2"}, writes: "infraenv/c/update"},
		"of one image, and booted":   {change: [2]string{"own=1", "own=2"}, booted: true, field: "spec.hosts[cp-2].discovery.kernelArgs"},
		"of all others":              {change: [2]string{"shared=1", "shared=2"}, writes: "infraenv/lab/update infraenv/b/update"},
		"of all, as none has it own": {change: [2]string{"networkDelay: 10s", "networkDelay: 20s"}, writes: "infraenv/lab/update infraenv/b/update infraenv/c/update"},
	} {
		w := newWorld(&model.Desired{Spec: parsed(t, ownDiscovery)})
		w.desired.Spec.Spec.Hold = true
		w.dark = func(string) bool { return !test.booted }
		for range 3 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
			w.pass()
		}
		w.desired = &model.Desired{Spec: parsed(t, strings.Replace(ownDiscovery, test.change[0], test.change[1], 1))}
		plan := w.decide()
		field := ""
		if len(plan.Blockers) > 0 {
			field = plan.Blockers[0].Field
		}
		if got := strings.Join(keys(plan.Actions), " "); got != test.writes || field != test.field {
			t.Errorf("%s: actions %s, blockers %+v", name, got, plan.Blockers)
		}
	}
}

// Once the cluster is installed, such a difference is told under the host's field, and once.
func TestOneImageDrifts(t *testing.T) {
	c := parsed(t, ownDiscovery)
	w := newWorld(&model.Desired{Spec: c})
	for range 40 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || len(plan.Warnings) > 0 {
		t.Fatalf("%s, warnings %+v", plan.Verdict, plan.Warnings)
	}
	w.infraEnv("infraenv-c").Settings[model.SettingKernelArguments] = model.ValueOf([]string{"theirs=1"})
	w.infraEnv("infraenv-b").Settings[model.SettingKernelArguments] = model.ValueOf([]string{"theirs=2"})
	var told []string
	for _, x := range w.decide().Warnings {
		told = append(told, x.Message)
	}
	want := "spec.discovery.kernelArgs is shared=1 in the file and theirs=2 in the service; it cannot be changed after the installation was started\n" +
		"spec.hosts[cp-2].discovery.kernelArgs is own=1 in the file and theirs=1 in the service; it cannot be changed after the installation was started"
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}
