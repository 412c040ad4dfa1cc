package explain_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestFill(t *testing.T) {
	all := explain.Names{Cluster: "lab", Hosts: []string{"cp-0", "cp-1"}, Stage: "Rebooting"}
	one := explain.Names{Cluster: "lab", Hosts: []string{"cp-0"}}
	for _, tt := range []struct {
		advice model.Advice
		names  explain.Names
		want   string
	}{
		{"Cure the cause, then {reset NAME} (on a hub: {delete cluster NAME}) and boot.", all, "Cure the cause, then oaictl reset lab (on a hub: oaictl delete cluster lab) and boot."},
		{"{describe host NAME}, or nproc on the host.", all, "oaictl describe host cp-0, or nproc on the host."},
		{"power it off and run {delete host NAME}.", all, "power it off and run oaictl delete host cp-0 (or another of them)."},
		{"power it off and run {delete host NAME}.", one, "power it off and run oaictl delete host cp-0."},
		{"{explain stage NAME} says what a stage does.", all, `oaictl explain stage "Rebooting" says what a stage does.`},
		{"{explain stage NAME} says what a stage does.", one, "oaictl explain stage NAME says what a stage does."},
		{"kubectl get csr, then kubectl certificate approve NAME, twice", all, "kubectl get csr, then kubectl certificate approve NAME, twice"},
		{"{wait cluster NAME --for installed}", explain.Names{}, "oaictl wait cluster NAME --for installed"},
	} {
		if got := explain.Fill(tt.advice, tt.names).String(); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.advice, got, tt.want)
		}
	}
}
