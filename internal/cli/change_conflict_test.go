package cli

import (
	"strings"
	"testing"
)

// The error for a verb that comes at the wrong time has the cluster's state and what may be done in it, with the
// cluster's name and without the service's inner words.
func TestOutOfTurnOverTheWire(t *testing.T) {
	service := newLive(t)
	service.post(t, "clusters", map[string]any{"name": "lab", "base_dns_domain": "example.com", "openshift_version": "4.20", "cpu_architecture": "x86_64"})
	for line, want := range map[string]string{
		"cancel lab --yes":                           "oaictl: cancel the install of lab.example.com: its install has not begun, so there is nothing to cancel (the service calls it insufficient)\nNext: to go on, run oaictl create cluster -f FILE; to give it up, run oaictl delete cluster lab\n",
		"reset lab --yes":                            "oaictl: reset the install of lab.example.com: its install has not begun, so there is nothing to reset (the service calls it insufficient)\nNext: to go on, run oaictl create cluster -f FILE; to give it up, run oaictl delete cluster lab\n",
		"download kubeconfig lab --to -":             "oaictl: download kubeconfig of lab.example.com: the install, which makes it, has not begun (the service calls it insufficient)\nNext: oaictl wait cluster lab --for installed\n",
		"download ignition lab --dir " + t.TempDir(): "oaictl: download bootstrap.ign of lab.example.com: the install, which makes it, has not begun (the service calls it insufficient)\nNext: oaictl wait cluster lab --for installed\n",
	} {
		if got := runLive(t, service.URL, "", false, strings.Fields(line)...); got.code != 1 || got.errors != want {
			t.Errorf("%s: code %d\n%swant\n%s", line, got.code, got.errors, want)
		}
	}
}
