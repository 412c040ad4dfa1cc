//go:build e2e

package real

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// needs skips a test of a cluster that the service says it does not support, with what
// it says. The simulated one supports all of them.
func (x *site) needs(t testing.TB, cluster *spec.Cluster) {
	t.Helper()
	if x.given.service == "" {
		return
	}
	version := cluster.Spec.OpenShift.Version
	if !x.hub { // the versions of a hub are its ClusterImageSets
		var versions map[string]any
		x.wire.get(t, "/v2/openshift-versions", &versions)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(versions)), func(v string) bool { return v == version || strings.HasPrefix(v, version+".") }) {
			t.Skipf("the service has no OpenShift %s", version)
		}
	}
	var answer struct {
		Features map[string]string `json:"features"`
	}
	path := "/v2/support-levels/features?" + url.Values{"openshift_version": {version}, "cpu_architecture": {"x86_64"}}.Encode()
	_, err := x.wire.do(t.Context(), http.MethodGet, path, nil, &answer)
	switch {
	case x.hub && errors.Is(err, errRefused):
		t.Log("the service behind the hub tells nobody what it supports")
		return
	case err != nil:
		t.Fatal(err)
	}
	for _, feature := range featuresOf(cluster) {
		if level := answer.Features[feature]; level == "" || slices.Contains([]string{"unavailable", "unsupported"}, level) {
			t.Skipf("the service's support of %s with OpenShift %s is %q", feature, version, level)
		}
	}
}

// featuresOf are the service's words for what a cluster needs that a service may not
// have.
func featuresOf(cluster *spec.Cluster) []string {
	s := &cluster.Spec
	var out []string
	add := func(when bool, feature string) {
		if when {
			out = append(out, feature)
		}
	}
	count := map[spec.Role]int{}
	for i := range s.Hosts {
		count[s.Hosts[i].Role]++
	}
	add(count[spec.ControlPlane] == 1, "SNO")
	add(count[spec.ControlPlane] > 3, "NON_STANDARD_HA_CONTROL_PLANE")
	add(count[spec.Arbiter] > 0, "TNA")
	add(s.Topology.Fencing, "TNF")
	add(len(s.Network.VIPs.API) > 1, "DUAL_STACK_VIPS")
	add(len(s.Network.Machine) > 1, "DUAL_STACK")
	add(s.Platform.Type == spec.NoneType, "NONE_PLATFORM")
	add(s.Network.LoadBalancer == spec.UserManaged, "USER_MANAGED_LOAD_BALANCER")
	for _, operator := range s.Operators {
		add(true, strings.ToUpper(operator.Name))
	}
	return out
}
