package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install"
)

// A verb that comes at the wrong time is told the cluster's state and what
// suits it, with the cluster's name and without the service's inner words.
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

func TestOutOfTurnByState(t *testing.T) {
	conflict := &install.Fault{Code: install.CodeFailure, Op: "x cluster", On: "c1", Status: 409, Err: errors.New("no condition found (409)")}
	for _, tt := range []struct {
		status string
		refuse func(error, *base.Observation) error
		says   string
		next   string
	}{
		{"installed", cancelRefused, "lab.example.com: the install is done, so there is nothing to cancel (the service calls it installed)", "oaictl download kubeconfig lab"},
		{"error", cancelRefused, "the install has ended, so there is nothing to cancel (the service calls it error)", "oaictl reset lab"},
		{"installed", resetRefused, "an installed cluster cannot be reset", "oaictl describe cluster lab"},
		{"finalizing", deleteRefused, "while it is being installed (the service calls it finalizing)", "oaictl cancel lab"},
		{"strange", cancelRefused, "it is strange: no condition found (409)", "oaictl describe cluster lab"},
		{"installing", func(err error, s *base.Observation) error { return notThereYet(err, "kubeconfig", s) }, "has not made it yet", "--no-ingress"},
		{"cancelled", func(err error, s *base.Observation) error { return notThereYet(err, "kubeconfig", s) }, "ended before it was made", "oaictl why lab"},
	} {
		seen := &base.Observation{Ref: install.ClusterRef{ID: "c1", Name: "lab", BaseDomain: "example.com", Status: tt.status}}
		err := tt.refuse(conflict, seen)
		if !strings.Contains(err.Error(), tt.says) || !strings.Contains(install.NextOf(err), tt.next) || strings.Contains(err.Error(), "c1") {
			t.Errorf("%s: %v\nnext %s", tt.status, err, install.NextOf(err))
		}
		if other := errors.New("other"); !errors.Is(tt.refuse(other, seen), other) {
			t.Errorf("%s: another error was changed", tt.status)
		}
	}
}
