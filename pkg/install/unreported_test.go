package install_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// fenced is a cluster of two that power each other off.
func fenced() *spec.Cluster {
	c, token := sample(2, 0), spec.SourceOf(spec.NewSecret("t0ken"))
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		h.Fencing = &spec.Fencing{Address: fmt.Sprintf("https://10.0.0.%d/redfish/v1/Systems/1", i+1)}
		h.IgnitionEndpoint = &spec.HostIgnitionEndpoint{Token: &token, Headers: map[string]string{"X-Machine": "hidden"}}
	}
	c.Spec.Overrides.Host = map[string]any{"new_field": "hidden"}
	return c
}

// TestWhatIsNotGivenBack is sent when a host is configured first, along with
// the rest, and not by every run; and again for --resend-secrets.
func TestWhatIsNotGivenBack(t *testing.T) {
	w := readyWorld(t, fenced())
	w.observed.Cluster.State = model.ClusterDiscovering
	for i := range w.observed.Hosts {
		w.observed.Hosts[i].Settings = model.Settings{}
	}
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	if count(w, model.UpdateHost) != 2 || len(w.writes) != 2 {
		t.Fatalf("wrote %v", keys(w.writes))
	}
	for _, a := range w.writes {
		for _, setting := range []model.Setting{model.SettingRole, model.SettingFencing, model.SettingEndpointToken, model.SettingEndpointHeaders, model.SettingHostExtra} {
			if a.Settings[setting] == "" {
				t.Errorf("%s: %s was not sent", a.Key, setting)
			}
		}
		if text := fmt.Sprintf("%+v %s", a.Changes, a.Settings); strings.Contains(text, "hidden") || strings.Contains(text, "t0ken") {
			t.Errorf("%s shows a secret: %s", a.Key, text)
		}
	}
	w.writes = nil
	if err := settle(w); err != nil || len(w.writes) > 0 {
		t.Errorf("a second run writes %v (%v)", keys(w.writes), err)
	}
	w.desired.Options.ResendSecrets = true
	sent := 0
	for _, a := range w.decide().Actions {
		if a.Kind == model.UpdateHost && a.Settings[model.SettingFencing] != "" && a.Settings[model.SettingEndpointToken] != "" && a.Settings[model.SettingEndpointHeaders] != "" {
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("--resend-secrets sends those of %d hosts", sent)
	}
}

// TestFencingThatIsGivenBack is compared.
func TestFencingThatIsGivenBack(t *testing.T) {
	w := readyWorld(t, fenced())
	for i := range w.observed.Hosts {
		w.observed.Hosts[i].Settings[model.SettingFencing] = model.ValueOf(fmt.Sprintf("https://10.0.0.%d/redfish/v1/Systems/1", i+1))
	}
	if plan := w.decide(); !hasKind(plan, model.StartInstall) {
		t.Errorf("the same: %v", keys(plan.Actions))
	}
	w.observed.Hosts[0].Settings[model.SettingFencing] = model.ValueOf("https://10.9.9.9/redfish/v1/Systems/1")
	if plan := w.decide(); !slices.Equal(keys(plan.Actions), []string{"host/cp-0/update"}) {
		t.Errorf("another address: %v", keys(plan.Actions))
	}
}

// TestNothingToSendItWith is said: it would never be sent.
func TestNothingToSendItWith(t *testing.T) {
	c := fenced()
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		h.Role, h.Hostname, h.IgnitionEndpoint = "", "", nil
	}
	plan := readyWorld(t, c).decide()
	if len(plan.Warnings) != 2 || !strings.Contains(plan.Warnings[0].Message, "fencing, spec.overrides.host of cp-0") {
		t.Errorf("warnings %+v", plan.Warnings)
	}
}

// TestBundlesAreSentAsTheFileSays, with their optional operators, and together
// with the operators where those change.
func TestBundlesAreSentAsTheFileSays(t *testing.T) {
	c := sample(3, 0)
	c.Spec.Bundles = []spec.Bundle{{ID: "virtualization", Optional: []string{"mtv"}}, {ID: "openshift-ai"}}
	c.Spec.Operators = []spec.Operator{{Name: "lvm"}}
	w := readyWorld(t, c)
	want := model.ValueOf([]spec.Bundle{{ID: "virtualization", Optional: []string{"mtv"}}, {ID: "openshift-ai"}})
	first := newWorld(w.desired).decide()
	if got := first.Actions[0].Settings[model.SettingBundles]; got != want {
		t.Errorf("registered with %s, want %s", got, want)
	}
	if !strings.Contains(fmt.Sprintf("%+v", first.Actions[0].Changes), "virtualization with mtv, openshift-ai") {
		t.Errorf("shown as %+v", first.Actions[0].Changes)
	}
	w.observed.Cluster.Settings[model.SettingBundles] = model.ValueOf([]spec.Bundle{{ID: "openshift-ai"}, {ID: "virtualization"}})
	if plan := w.decide(); len(plan.Warnings) > 0 || !hasKind(plan, model.StartInstall) {
		t.Errorf("the ids alone: %v, %+v", keys(plan.Actions), plan.Warnings)
	}
	delete(w.observed.Cluster.Settings, model.SettingBundles)
	if plan := w.decide(); len(plan.Warnings) > 0 {
		t.Errorf("not given back: %+v", plan.Warnings)
	}
	w.desired.Spec.Spec.Operators = []spec.Operator{{Name: "lvm"}, {Name: "mce"}}
	plan := w.decide()
	if len(plan.Actions) != 1 || plan.Actions[0].Settings[model.SettingBundles] != want || plan.Actions[0].Settings[model.SettingOperators] == "" {
		t.Errorf("another operator: %+v", plan.Actions)
	}
}
