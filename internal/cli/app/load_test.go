package app

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestOnlyForAHub: what only a hub knows is refused with a REST service, by its line,
// and what an installed cluster needs there is asked for.
func TestOnlyForAHub(t *testing.T) {
	const text = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {kubeconfig: {secretRef: {name: admin}}}
  hub:
    ipxe: always
    nodeLabels: {a: b}
  hosts: [{name: w, match: {mac: "52:54:00:00:00:01"}}, {name: x, match: {infraEnv: x}, discovery: {pullSecret: {secretRef: {name: x}}}}]
`
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, true }
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	err = checkREST(c)
	for _, want := range []string{
		"cluster.yaml:10:11: spec.hub.ipxe: is only for a hub", "cluster.yaml:11:5: spec.hub.nodeLabels: ",
		"cluster.yaml:8:3: spec.import.clusterID: is missing", "cluster.yaml:8:25: spec.import.kubeconfig.secretRef: names a Secret on a hub",
		"cluster.yaml:12:114: spec.hosts[1].discovery.pullSecret.secretRef: names a Secret on a hub",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}
