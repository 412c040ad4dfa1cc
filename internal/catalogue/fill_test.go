package catalogue_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/catalogue"
)

func TestFill(t *testing.T) {
	all := catalogue.Names{Cluster: "lab", Hosts: []string{"cp-0", "cp-1"}, Stage: "Rebooting", File: "lab.yaml"}
	one := catalogue.Names{Cluster: "lab", Hosts: []string{"cp-0"}}
	for _, tt := range []struct {
		advice string
		names  catalogue.Names
		want   string
	}{
		{"Cure the cause, then oaictl reset NAME (on a hub: oaictl delete cluster NAME) and boot.", all, "Cure the cause, then oaictl reset lab (on a hub: oaictl delete cluster lab) and boot."},
		{"oaictl describe host NAME, or nproc on the host.", all, "oaictl describe host cp-0, or nproc on the host."},
		{"power it off and run oaictl delete host NAME.", all, "power it off and run oaictl delete host cp-0 (or another of them)."},
		{"power it off and run oaictl delete host NAME.", one, "power it off and run oaictl delete host cp-0."},
		{"oaictl explain stage NAME says what a stage does.", all, `oaictl explain stage "Rebooting" says what a stage does.`},
		{"oaictl explain stage NAME says what a stage does.", one, "oaictl explain stage NAME says what a stage does."},
		{"oc get csr, then oc adm certificate approve NAME, twice", all, "oc get csr, then oc adm certificate approve NAME, twice"},
		{"then run oaictl create cluster -f FILE again.", all, "then run oaictl create cluster -f lab.yaml again."},
		{"oaictl wait cluster NAME --for installed", catalogue.Names{}, "oaictl wait cluster NAME --for installed"},
	} {
		if got := catalogue.Fill(tt.advice, tt.names); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.advice, got, tt.want)
		}
	}
}

// TestAdviceFitsAHub: a cluster is not reset there.
func TestAdviceFitsAHub(t *testing.T) {
	resets := 0
	for _, kind := range catalogue.Kinds() {
		for _, entry := range catalogue.All(kind) {
			if !strings.Contains(entry.Remedy, "oaictl reset NAME") {
				continue
			}
			resets++
			if !strings.Contains(entry.Remedy, "on a hub") || !strings.Contains(entry.Remedy, "oaictl delete cluster NAME") {
				t.Errorf("%s %s: %s", kind, entry.Name, entry.Remedy)
			}
		}
	}
	if resets == 0 {
		t.Error("no entry advises to reset a cluster")
	}
}
