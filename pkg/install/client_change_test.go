package install

import (
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// A verb that comes at the wrong time is answered with the cluster's state and what may be done in it.
func TestOutOfTurnByState(t *testing.T) {
	conflict := &model.Fault{Code: model.CodeFailure, Op: "x cluster", On: "c1", Status: 409, Err: errors.New("no condition found (409)")}
	for _, tt := range []struct {
		status string
		refuse func(*Found, error) error
		says   string
		next   string
	}{
		{"installed", (*Found).cancelRefused, "lab.example.com: the install is done, so there is nothing to cancel (the service calls it installed)", "oaictl download kubeconfig lab"},
		{"error", (*Found).cancelRefused, "the install has ended, so there is nothing to cancel (the service calls it error)",
			"oaictl reset cluster lab"},
		{"installed", (*Found).resetRefused, "an installed cluster cannot be reset", "oaictl describe cluster lab"},
		{"finalizing", (*Found).deleteRefused, "while it is being installed (the service calls it finalizing)",
			"oaictl cancel cluster lab"},
		{"strange", (*Found).cancelRefused, "it is strange: no condition found (409)", "oaictl describe cluster lab"},
		{"installing", func(f *Found, err error) error { return f.notMadeYet(err, "kubeconfig") }, "has not made it yet", "--no-ingress"},
		{"cancelled", func(f *Found, err error) error {
			return f.notMadeYet(err, "kubeconfig")
		}, "ended before it was made", "oaictl why lab"},
	} {
		seen := &Found{Ref: model.ClusterRef{ID: "c1", Name: "lab", BaseDomain: "example.com", Status: tt.status}}
		err := tt.refuse(seen, conflict)
		if !strings.Contains(err.Error(), tt.says) || !strings.Contains(model.FaultOf(err).Next.String(), tt.next) ||
			strings.Contains(err.Error(), "c1") {
			t.Errorf("%s: %v\nnext %s", tt.status, err, model.FaultOf(err).Next)
		}
		if other := errors.New("other"); !errors.Is(tt.refuse(seen, other), other) {
			t.Errorf("%s: another error was changed", tt.status)
		}
	}
}
