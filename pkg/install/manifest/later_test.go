package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/manifest"
)

// TestWorkersOfASingleNode are in no object that it is installed by, and told as
// lost by their places in the file; a hub has their objects once it takes them.
func TestWorkersOfASingleNode(t *testing.T) {
	c := parse(t, head+`spec:
  openshift: {version: "4.20.1"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24], defaults: {gateway: 192.168.127.1, dns: [192.168.127.1]}}
  topology: {workers: 1, required: {workers: 0}}
  boot: {method: metal3}
  hosts:
  - {name: later, role: worker, net: {mac: "52:54:00:00:00:01", ip: 192.168.127.11/24}, bmc: {address: 192.0.2.1, system: "1", credentials: {env: BMC}}}
  - {name: node, role: control-plane, labels: {a: b}, net: {mac: "52:54:00:00:00:02", ip: 192.168.127.12/24}, bmc: {address: 192.0.2.2, system: "1", credentials: {env: BMC}}}
`)
	const counts = "controlPlaneAgents: 1\n    workerAgents: 0\n"
	if text := render(t, c, manifest.HubOptions{}); strings.Contains(text, "later") || strings.Contains(text, "52:54:00:00:00:01") || !strings.Contains(text, counts) {
		t.Errorf("a hub is told of the worker before it can take it:\n%s", text)
	}
	if text := render(t, c, manifest.HubOptions{Later: true}); strings.Count(text, "kind: BareMetalHost\n") != 2 || strings.Count(text, "kind: NMStateConfig\n") != 2 || !strings.Contains(text, counts) {
		t.Errorf("a hub is not told of the worker:\n%s", text)
	}
	for name, write := range formats() {
		text, lost := write(t, c, manifest.WriteOptions{Secrets: true})
		if strings.Contains(text, "later") || strings.Contains(text, "52:54:00:00:00:01") {
			t.Errorf("%s has the worker:\n%s", name, text)
		}
		var paths []string
		for _, loss := range lost {
			paths = append(paths, loss.Path)
		}
		for _, path := range []string{"spec.topology.workers", "spec.hosts[0]"} {
			if !slices.Contains(paths, path) {
				t.Errorf("%s does not tell that %s is lost: %v", name, path, paths)
			}
		}
		if labels := slices.Contains(paths, "spec.hosts[1].labels"); labels != (name != "clusterinstance") || slices.Contains(paths, "spec.hosts[0].labels") {
			t.Errorf("%s names the wrong host: %v", name, paths)
		}
	}
}
