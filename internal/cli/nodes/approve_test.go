package nodes

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRequestsMeant: which requests an `approve` is about, and what --request cannot name.
func TestRequestsMeant(t *testing.T) {
	seen := &model.Observed{
		Cluster: &model.Cluster{ClusterRef: model.ClusterRef{Name: "lab"}},
		Hosts:   []model.Host{{ID: "id-1", Hostname: "W-1"}, {ID: "id-2", Hostname: "w-2"}},
	}
	verdict := func(name, node string, decision model.RequestDecision, reason, newer string) model.RequestVerdict {
		return model.RequestVerdict{Name: name, Kind: model.RequestClient, Node: node, Host: node, Decision: decision, Reason: reason, Newer: newer, Message: "because"}
	}
	all := []model.RequestVerdict{
		verdict("csr-new", "w-1", model.RequestAsk, model.ReasonRivalKeys, ""),
		verdict("csr-old", "w-1", model.RequestRefuse, model.ReasonSuperseded, "csr-new"),
		verdict("csr-other", "w-2", model.RequestAsk, model.ReasonRivalKeys, ""),
		verdict("csr-done", "w-1", model.RequestIgnore, model.ReasonApproved, ""),
		verdict("csr-denied", "w-1", model.RequestIgnore, model.ReasonDenied, ""),
	}
	for given, test := range map[string]struct {
		code       model.Code
		says, next string
	}{
		"":           {},
		"csr-new":    {},
		"csr-done":   {},
		"csr-old":    {model.CodeFailure, "csr-new is the newest request of that node", "if it is the node's: oaictl approve w-1 --request csr-new"},
		"csr-other":  {model.CodeFailure, "does not belong to w-1, but to w-2", "give the name of that node"},
		"csr-denied": {model.CodeFailure, "is not pending: because", "oaictl get nodes lab"},
		"csr-nope":   {model.CodeNotFound, "approve csr-nope: no kubelet has made", "oaictl get nodes lab"},
	} {
		t.Run(given, func(t *testing.T) {
			var errors strings.Builder
			o := &approveOptions{App: app.New(app.Identify(nil), streams.Streams{Err: &errors}, nil), nodes: []string{"w-1"}, ids: []string{"id-1"}}
			if given != "" {
				o.Requests = []string{given}
			}
			of, err := o.meant(all, seen)
			if test.code == 0 {
				if err != nil || len(of) != 4 || of[0].Name != "csr-new" || (given == "csr-done") != (errors.Len() > 0) {
					t.Errorf("%v, %+v, %s", err, of, errors.String())
				}
				return
			}
			if model.FaultOf(err).Code != test.code || !strings.Contains(err.Error(), test.says) || model.FaultOf(err).Next.String() != test.next {
				t.Errorf("code %d: %v; next %s", model.FaultOf(err).Code, err, model.FaultOf(err).Next)
			}
		})
	}
}
