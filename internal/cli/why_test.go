package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// causesOf is the blockers that why names, by reason and check.
func causesOf(t *testing.T, service *fake, target ...string) []string {
	t.Helper()
	got := run(t, service, "", append(append([]string{"why"}, target...), "-o", "json")...)
	var doc struct {
		Blockers []struct {
			Reason      string
			Validations []string
		}
	}
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	var causes []string
	for _, b := range doc.Blockers {
		causes = append(causes, b.Reason+" "+strings.Join(b.Validations[:min(1, len(b.Validations))], ""))
	}
	slices.Sort(causes)
	return causes
}

// TestBothWaysToAskWhyAgree holds what why says of a file to naming every cause
// that it names of the cluster.
func TestBothWaysToAskWhyAgree(t *testing.T) {
	here(t)
	lacking := model.Validation{ID: "sufficient-masters-count", Category: "hosts-data", Status: "failure", Message: "Clusters must have exactly 3 dedicated control plane nodes"}
	tests := map[string]func(*fake){
		"failing checks": func(*fake) {},
		"hosts to come": func(f *fake) {
			f.hosts = f.hosts[:1]
			f.hosts[0].Validations = nil
			f.clusters[0].Validations = []model.Validation{lacking}
		},
		"no hosts": func(f *fake) {
			f.hosts = nil
			f.clusters[0].Validations = []model.Validation{lacking}
		},
		"failed": func(f *fake) {
			f.clusters[0].State, f.clusters[0].Validations, f.hosts[0].State = model.ClusterFailed, nil, model.HostFailed
		},
		"cancelled": func(f *fake) { f.clusters[0].State, f.clusters[0].Validations = model.ClusterCancelled, nil },
	}
	file := strings.Replace(clusterYAML, "  - name: node-1", "  - name: node-2\n    role: control-plane\n    match: {mac: \"52:54:00:00:00:02\"}\n    disk: {hints: {deviceName: /dev/sda}}\n  - name: node-3\n    role: control-plane\n    match: {mac: \"52:54:00:00:00:03\"}\n    disk: {hints: {deviceName: /dev/sda}}\n  - name: node-1", 1)
	file = strings.Replace(file, "{machine: [192.168.10.0/24]}", "{machine: [192.168.10.0/24], vips: {api: [192.168.10.5], ingress: [192.168.10.6]}}", 1)
	must.Do(t, os.WriteFile("three.yaml", []byte(file), 0o600))
	controlPlane := model.Settings{model.SettingControlPlane: model.ValueOf(3)}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			service := lab()
			service.clusters[0].Settings = controlPlane
			change(service)
			byName, byFile := causesOf(t, service, "lab"), causesOf(t, service, "-f", "three.yaml")
			for _, cause := range byName {
				if !slices.Contains(byFile, cause) {
					t.Errorf("why -f does not name %q: %v", cause, byFile)
				}
			}
			for _, target := range [][]string{{"lab"}, {"-f", "three.yaml"}} {
				if got := run(t, service, "", append([]string{"why"}, target...)...); strings.Contains(got.out, "nothing stands in the way") {
					t.Errorf("why %v: %s", target, got.out)
				}
			}
		})
	}
}

// TestAdviceCanBeTyped: what why says to type has the names of what it is about, the
// file that was given, and the flags that reach the service.
func TestAdviceCanBeTyped(t *testing.T) {
	here(t)
	service := lab()
	service.clusters[0].State, service.clusters[0].Status = model.ClusterCancelled, "cancelled"
	for _, target := range [][]string{{"lab"}, {"-f", "cluster.yaml"}, {"host", "node-1"}} {
		got := run(t, service, "", append([]string{"why", "--insecure"}, target...)...)
		if got.code != 0 || strings.Contains(got.out, "NAME") || strings.Contains(got.out, "-f FILE") || !strings.Contains(got.out, "oaictl --insecure ") {
			t.Errorf("why %v: %s%s", target, got.out, got.errors)
		}
	}
}

// TestWhyNamesWhoHoldsTheInstallation, whichever way it is asked.
func TestWhyNamesWhoHoldsTheInstallation(t *testing.T) {
	here(t)
	service := lab()
	c := &service.clusters[0]
	c.State, c.Validations, c.Hold, c.Unhold = model.ClusterReady, nil, "argocd", "kubectl patch agentclusterinstall -n lab lab"
	for i := range service.hosts {
		service.hosts[i].Validations, service.hosts[i].State = nil, model.HostReady
	}
	got := run(t, service, "", "why", "lab")
	for _, words := range []string{"lab.example.com is Ready: waiting for: argocd, who holds the installation, to let it start; everything else is ready.\n", "Next: kubectl patch agentclusterinstall -n lab lab\n"} {
		if !strings.Contains(got.out, words) {
			t.Errorf("does not say %q: %+v", words, got)
		}
	}
	c.State = model.ClusterInstalling
	if got := run(t, service, "", "why", "lab"); strings.Contains(got.out, "argocd") {
		t.Errorf("a hold of what has begun: %+v", got)
	}
}

// TestWhyOfAHostThatOutlivesItsCluster says what is known of it.
func TestWhyOfAHostThatOutlivesItsCluster(t *testing.T) {
	here(t)
	service := lab()
	service.clusters = nil
	if got := run(t, service, "", "why", "host", "node-1"); got.code != 0 || !strings.HasPrefix(got.out, "node-1 is ") {
		t.Errorf("got %+v", got)
	}
}

// TestWhyAsksForAllThatTheFileSays, so that it decides on what create cluster would see.
func TestWhyAsksForAllThatTheFileSays(t *testing.T) {
	here(t)
	file := strings.Replace(clusterYAML, "spec:\n", "spec:\n  ignoreValidations: {hosts: [ntp-synced]}\n", 1)
	must.Do(t, os.WriteFile("ignoring.yaml", []byte(file), 0o600))
	service := lab()
	run(t, service, "", "why", "-f", "ignoring.yaml")
	if !service.asked.Ignored || !service.asked.Detail {
		t.Errorf("asked for %+v", service.asked)
	}
}

func TestWhyTellsWhatIsWaitedFor(t *testing.T) {
	here(t)
	service := lab()
	service.hosts, service.clusters[0].Validations, service.clusters[0].State = nil, nil, model.ClusterDiscovering
	got := run(t, service, "", "why", "-f", "cluster.yaml")
	if !strings.HasPrefix(got.out, "lab.example.com is Discovering: waiting for: node-1 to boot") {
		t.Errorf("got %+v", got)
	}
}
