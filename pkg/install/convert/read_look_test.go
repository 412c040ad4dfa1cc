package convert_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestReadToLook reads an input that says neither its version nor a pull secret:
// enough to find its cluster and to know its hosts, and no less is refused.
func TestReadToLook(t *testing.T) {
	text := strings.Replace(installConfig, `pullSecret: '{"auths":{"a":{"auth":"YTpi"}}}'`, "fips: false", 1)
	files := memory{"in/install-config.yaml": []byte(text), "in/agent-config.yaml": []byte(agentConfig)}
	c := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: files.env(), Find: true}))(t)
	if got := c.Cluster; got.Metadata.Name != "c" || got.Spec.BaseDomain != "example.com" || len(got.Spec.Hosts) != 1 || got.Spec.OpenShift.Version != "" {
		t.Errorf("got %+v", got)
	}
	if _, err := convert.Read(t.Context(), "in", convert.Options{Env: files.env()}); err == nil ||
		!strings.Contains(err.Error(), "--openshift-version") || !strings.Contains(err.Error(), "--pull-secret") {
		t.Errorf("to install: %v", err)
	}
	files["in/install-config.yaml"] = []byte(strings.Replace(text, "10.0.0.0/24", "10.0.0.7/24", 1))
	check.Says(t, check.Err(convert.Read(t.Context(), "in", convert.Options{Env: files.env(), Find: true})), "networking.machineNetwork[0].cidr", "a wrong value")
}
