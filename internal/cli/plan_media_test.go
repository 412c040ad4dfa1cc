package cli

import (
	"strings"
	"testing"
)

// TestPlanWarnsOfWhatCreateRefuses: plan and create cluster agree on whether there is a URL for BMCs to read from, and
// plan names the ejections that follow.
func TestPlanWarnsOfWhatCreateRefuses(t *testing.T) {
	const refusal = "--media-url is needed with --bmc-proxy"
	proxy := booted(t)
	service := lab()
	service.clusters = nil
	plan := []string{"plan", "-f", "cluster.yaml", "--bmc-proxy", proxy}
	got := run(t, service, "", plan...)
	for _, words := range []string{"\nTo know:\n  ! create cluster would not start: " + refusal, "\n  · eject the discovery image of node-1 when "} {
		if got.code != 0 || !strings.Contains(got.out, words) {
			t.Errorf("ends with %d and does not say %q:\n%s%s", got.code, words, got.out, got.errors)
		}
	}
	if got := run(t, service, "", append(plan, "--media-url", "http://192.0.2.1:8880")...); got.code != 0 || strings.Contains(got.out, refusal) {
		t.Errorf("warns of a URL that is given: %d\n%s%s", got.code, got.out, got.errors)
	}
	if got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "--bmc-proxy", proxy, "--media-listen", "127.0.0.1:0", "--dry-run"); got.code != 0 || strings.Contains(got.out, refusal) {
		t.Errorf("warns of an address that is given: %d\n%s%s", got.code, got.out, got.errors)
	}
}
