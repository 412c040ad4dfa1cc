package hub

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// wantNothing observes with a plane that remembers nothing and decides.
func wantNothing(t *testing.T, p *Plane, c *spec.Cluster) model.Plan {
	t.Helper()
	o, err := p.Observe(t.Context(), model.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, InfraEnv: c.Spec.InfraEnv.Ref}, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := install.Decide(&model.Desired{Spec: c}, o, model.Memory{}, o.At)
	for _, a := range plan.Actions {
		t.Errorf("it would %s: %+v", a.Kind, a.Changes)
	}
	for _, b := range plan.Blockers {
		t.Errorf("blocked: %s", b.Message)
	}
	return plan
}

// Whatever an example says, a process that did not make its objects takes them
// for what they shall be.
func TestExamplesAreReadBackByAFreshProcess(t *testing.T) {
	examples, err := filepath.Glob("../../../examples/*/cluster.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	read := 0
	for _, path := range examples {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			c, err := spec.Load(t.Context(), path, spec.OSEnv())
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Spec.Operators)+len(c.Spec.Bundles)+len(c.Spec.Overrides.Host)+len(c.Spec.Overrides.InfraEnv) > 0 || c.Spec.InfraEnv.Ref != "" {
				t.Skip("not all of it has a place on a hub, or in the namespace")
			}
			p, at := filledPlane(t, c.Metadata.Name)
			made(t, p, at, c)
			wantNothing(t, p, c)
			read++
		})
	}
	if read < 5 {
		t.Errorf("%d examples only", read)
	}
}

// Roles that mean the same machines are the same, in whatever words.
func TestHyperthreadingIsReadBackByAFreshProcess(t *testing.T) {
	for _, roles := range []string{"all", "none", "[control-plane, worker]", "[worker]", "[control-plane, worker, arbiter]"} {
		t.Run(roles, func(t *testing.T) {
			text := strings.Replace(fullText, "hyperthreading: [control-plane]", "hyperthreading: "+roles, 1)
			p, at := filledPlane(t, "lab")
			c := parseCluster(t, text)
			made(t, p, at, c)
			wantNothing(t, p, c)
			other := parseCluster(t, fullText)
			o, err := p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			plan := install.Decide(&model.Desired{Spec: other}, o, model.Memory{}, o.At)
			if len(plan.Actions) != 1 || len(plan.Actions[0].Changes) != 1 || plan.Actions[0].Changes[0].Field != string(model.SettingHyperthreading) {
				t.Errorf("other roles: %+v", plan.Actions)
			}
		})
	}
}

// Time servers beside those of DHCP are a matter of the images: one that the
// file only refers to is not changed, and nothing is sent for it.
func TestTimeServersOfAPool(t *testing.T) {
	for name, test := range map[string]struct {
		pool []any
		warn bool
	}{"the same": {[]any{"ntp.example.com"}, false}, "others": {[]any{"10.0.0.1"}, true}, "none": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(clusterText, "name: %s", "name: lab", 1)
			text = strings.Replace(text, `  discovery: {kernelArgs: [console=ttyS0], networkDelay: 30s}`, "  infraEnv: {ref: pool}", 1)
			text = strings.Replace(text, `version: "4.20"`, `version: "4.20.3", releaseImage: "quay.io/ocp/release:4.20.3-x86_64"`, 1)
			p, at := filledPlane(t, "lab")
			c := parseCluster(t, text)
			made(t, p, at, c)
			fields := map[string]any{"pullSecretRef": map[string]any{"name": "x"}}
			if test.pool != nil {
				fields["additionalNTPSources"] = test.pool
			}
			pool := object("agent-install.openshift.io/v1beta1", "InfraEnv", "lab", "pool", map[string]any{"spec": fields})
			pool.SetResourceVersion("1")
			put(t, at, pool)
			plan := wantNothing(t, p, c)
			warned := false
			for _, w := range plan.Warnings {
				warned = warned || strings.Contains(w.Message, string(model.SettingExtraNTP))
			}
			if warned != test.warn {
				t.Errorf("warnings %+v", plan.Warnings)
			}
		})
	}
}
