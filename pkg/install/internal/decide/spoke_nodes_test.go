package decide_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestOthersApproveToo: a user who wants to approve each request reads at the start which other approvers there are.
func TestOthersApproveToo(t *testing.T) {
	for _, mode := range []model.Approve{model.ApproveAuto, model.ApproveAsk, model.ApproveOff} {
		w := decidetest.Grown(t, false, spec.Host{Name: "w-5"})
		w.Spoke = decidetest.NewSpoke()
		w.Spoke.Seen.MachineAPI, w.Spoke.Seen.Machines = true, []model.Machine{{Name: "m-0", Node: "cp-0"}}
		w.Desired.Options.Approve = mode
		told := 0
		for _, warning := range w.Decide().Warnings {
			if warning.Reason == "OthersApprove" && strings.Contains(warning.Message, "machine-approver") {
				told++
			}
		}
		if want := map[model.Approve]int{model.ApproveAsk: 1, model.ApproveOff: 1}[mode]; told != want {
			t.Errorf("--approve %s: told %d times", mode, told)
		}
	}
}

// TestApprovalOfRequests: who approves requests, and where a run ends if its question has no answer.
func TestApprovalOfRequests(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(w *decidetest.World)
		approves bool
		blocked  model.Cure
		waits    model.Who
	}{
		"auto": {func(*decidetest.World) {}, true, "", ""},
		"off":  {func(w *decidetest.World) { w.Desired.Options.Approve = model.ApproveOff }, false, "", model.WhoUser},
		"ask":  {func(w *decidetest.World) { w.Desired.Options.Approve = model.ApproveAsk }, false, model.CurePerson, ""},
		"ask, and nobody": {func(w *decidetest.World) {
			w.Desired.Options.Approve, w.Desired.Options.Unattended = model.ApproveAsk, true
		}, false, model.CureAnswer, ""},
		"ask, and yes": {func(w *decidetest.World) {
			w.Desired.Options.Approve = model.ApproveAsk
			w.Memory.Answer(model.RequestVerdict{UID: "uid-csr-1", Reason: model.ReasonProven}, true)
		}, true, "", ""},
		"ask, and no": {func(w *decidetest.World) {
			w.Desired.Options.Approve = model.ApproveAsk
			w.Memory.Answer(model.RequestVerdict{UID: "uid-csr-1", Reason: model.ReasonProven}, false)
		}, false, model.CurePerson, ""},
		"of the reboot before": {func(w *decidetest.World) {
			w.Spoke.Seen.Requests[0].Created = decidetest.Start()
		}, false, model.CurePerson, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.AddsOne(t)
			w.Spoke.Seen.Requests[0].Approved = false
			test.change(w)
			plan := w.Decide()
			if decidetest.HasKind(plan, model.ApproveRequest) != test.approves {
				t.Errorf("actions %v", decidetest.Keys(plan.Actions))
			}
			if test.blocked != "" && (len(plan.Blockers) != 1 || plan.Blockers[0].Cure != test.blocked ||
				plan.Blockers[0].Scope != "node/worker-1") {
				t.Errorf("blockers %+v", plan.Blockers)
			}
			if test.waits != "" && !slices.ContainsFunc(plan.Waits,
				func(x model.Wait) bool { return x.Who == test.waits && x.Scope == "node/worker-1" }) {
				t.Errorf("waits %+v", plan.Waits)
			}
		})
	}
}

// TestAllowedAddress: what a person says of an address beforehand is an answer.
func TestAllowedAddress(t *testing.T) {
	w := decidetest.AddsOne(t)
	for range 30 {
		w.Rest(t)
		w.Pass()
		if i := slices.IndexFunc(w.Spoke.Seen.Requests,
			func(r model.CertificateRequest) bool { return strings.Contains(r.Signer, "serving") }); i >= 0 {
			w.Spoke.Seen.Requests = w.Spoke.Seen.Requests[:i]
			break
		}
	}
	r := decidetest.ServingRequest("worker-1")
	r.Message = "of worker-1"
	w.Spoke.Ask(w.Observed.At, r, "worker-1", "192.0.2.77")
	w.Pass()
	plan := w.Decide()
	if len(plan.Questions) != 1 || len(plan.Blockers) != 1 ||
		plan.Blockers[0].Remedy.String() != "oaictl approve worker-1 --allow-address worker-1=192.0.2.77" {
		t.Fatalf("questions %+v, blockers %+v", plan.Questions, plan.Blockers)
	}
	w.Desired.Options.AllowAddresses = map[string][]netip.Addr{"worker-1": {netip.MustParseAddr("192.0.2.77")}}
	if plan := w.Decide(); !decidetest.HasKind(plan, model.ApproveRequest) {
		t.Errorf("%+v", plan)
	}
	w.Desired.Options.AllowAddresses, w.Desired.Spec.Host("worker-1").Addresses = nil, []string{"192.0.2.77"}
	if plan := w.Decide(); !decidetest.HasKind(plan, model.ApproveRequest) {
		t.Errorf("%+v", plan)
	}
	w.Desired.Spec.Spec.Network.VIPs.API = []string{"192.0.2.77"}
	if plan := w.Decide(); decidetest.HasKind(plan, model.ApproveRequest) {
		t.Error("a virtual address is approved")
	}
}

// TestMarksOfAddedNodes: a node gets once what the file says of it, as it joins and long after.
func TestMarksOfAddedNodes(t *testing.T) {
	w := decidetest.AddsOne(t)
	w.Live(t, 10)
	w.Desired.Spec.Host("worker-1").Labels = map[string]string{"rack": "a"}
	for _, later := range []time.Duration{0, 30 * 24 * time.Hour} {
		w.Observed.At = w.Observed.At.Add(later)
		if got := decidetest.Keys(w.Decide().Actions); !slices.Equal(got, []string{"node/worker-1/update"}) {
			t.Errorf("%s later: %v", later, got)
		}
	}
}
