package install_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// shown is a world's installed cluster as a plane that only observes.
type shown struct{ *decidetest.World }

// Observe is of install.Nodes.
func (s shown) Observe(context.Context, *model.Desired, *model.Observed) (*model.Spoke, error) {
	return &s.Spoke.Seen, nil
}

// Act is of install.Nodes.
func (shown) Act(context.Context, *model.Desired, *model.Observed, model.Action) error {
	return context.Canceled
}

// Changed is of install.Nodes.
func (shown) Changed() <-chan struct{} { return nil }

func rowsOf(t *testing.T, w *decidetest.World) []install.NodeView {
	t.Helper()
	observed := w.Observed
	rows, _, err := install.New(&plane{World: w}, install.Config{Nodes: shown{w}}).InspectNodes(t.Context(), w.Desired, &observed)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestStrangers: a name that no host has is shown beside the hosts that are waited for.
func TestStrangers(t *testing.T) {
	w := decidetest.AddsOne(t)
	w.Spoke.Seen.Requests = nil
	w.Spoke.Seen.Nodes = []model.Node{{Name: "elsewhere", Created: decidetest.Start(), Ready: true}}
	for range 2 {
		w.Spoke.Ask(w.Observed.At, decidetest.ClientRequest(), "localhost")
	}
	forged := decidetest.ClientRequest()
	forged.Username = "system:serviceaccount:default:default"
	w.Spoke.Ask(w.Observed.At, forged, "forged")
	w.Spoke.Ask(w.Observed.At, decidetest.ServingRequest("elsewhere"), "elsewhere", "192.0.2.9")
	rows := rowsOf(t, w)
	name := func(name string) int {
		return slices.IndexFunc(rows, func(r install.NodeView) bool { return r.Name == name })
	}
	at := name("localhost")
	if at < 1 || rows[at-1].Name != "worker-1" || !rows[at].Stranger || !rows[at].Trouble || len(rows[at].Requests) != 2 {
		t.Fatalf("rows %+v", rows)
	}
	if want := "no host has this name, and worker-1 is still waited for: a hostname that changed with the reboot?"; rows[at].Stuck != want {
		t.Errorf("it says %q", rows[at].Stuck)
	}
	if name("forged") >= 0 || name("elsewhere") <= at || rows[name("elsewhere")].Stranger {
		t.Errorf("rows %+v", rows)
	}
	if plan := w.Decide(); decidetest.HasKind(plan, model.ApproveRequest) {
		t.Error("a stranger is approved")
	}
	for i := range 30 {
		w.Spoke.Ask(w.Observed.At, decidetest.ClientRequest(), "stranger-"+string(rune('a'+i%26))+strings.Repeat("x", i/26))
	}
	strange := slices.DeleteFunc(rowsOf(t, w), func(r install.NodeView) bool { return !r.Stranger })
	if len(strange) != 10 || !strings.HasSuffix(strange[9].Stuck, "; and so 21 more names") {
		t.Errorf("%d strangers, the last %+v", len(strange), strange[len(strange)-1])
	}
}
