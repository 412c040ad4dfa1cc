package nodeplan

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestApprovers(t *testing.T) {
	const also = "warn OthersApprove: regardless of --approve, certificate requests of nodes are also approved by "
	machines := func(q *Question) {
		q.Observed.Spoke.MachineAPI, q.Observed.Spoke.Machines = true, []model.Machine{{Name: "m-0"}}
	}
	dayOne := func(ago time.Duration) func(*Question) {
		return func(q *Question) {
			q.Observed.Spoke.Requests = []model.CertificateRequest{
				{Approved: true, Message: "This CSR was approved by the assisted-installer-controller", ConditionAt: now.Add(-ago)},
				{Approved: true, Message: "This CSR was approved by the assisted-installer-controller", ConditionAt: now.Add(-ago)},
			}
		}
	}
	for name, test := range map[string]struct {
		mode   model.Approve
		change func(*Question)
		want   string
	}{
		"auto":            {model.ApproveAuto, machines, ""},
		"not said":        {"", machines, ""},
		"ask, and nobody": {model.ApproveAsk, func(*Question) {}, ""},
		"off, and nobody": {model.ApproveOff, func(*Question) {},
			"warn NobodyApproves: oaictl does not approve the certificate requests of nodes (--approve off), and it knows of no other approver"},
		"machine-approver":        {model.ApproveAsk, machines, also + "the cluster's machine-approver (for nodes that have a Machine)"},
		"the API, and no Machine": {model.ApproveAsk, func(q *Question) { q.Observed.Spoke.MachineAPI = true }, ""},
		"a hub": {model.ApproveOff, func(q *Question) {
			q.Observed.Cluster.Approver = "the hub's Agent controller"
		}, also + "the hub's Agent controller (for the hosts that it adds)"},
		"a hub that leaves it to it": {model.ApproveAsk, func(q *Question) {
			machines(q)
			q.Observed.Cluster.Approver = "x"
			q.Desired.Spec.Spec.Boot.Method = spec.BootMetal3
		}, also + "the cluster's machine-approver (for nodes that have a Machine)"},
		"the first day": {model.ApproveAsk, dayOne(time.Minute), also +
			"the controller of the installation, which still runs (for all nodes)"},
		"the first day is over": {model.ApproveAsk, dayOne(time.Hour), ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := asked(test.change)
			q.Desired.Options.Approve = test.mode
			check.Same(t, test.want, said(Approvers(q)))
		})
	}
}
