package decide_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestBlockerOfAFailingCheck says who can cure it, and what it leads to.
func TestBlockerOfAFailingCheck(t *testing.T) {
	failing := func(id, message string) model.Validation {
		return model.Validation{ID: id, Category: "network", Status: "failure", Message: message}
	}
	for name, test := range map[string]struct {
		cluster, host []model.Validation
		cure          model.Cure
		message       string
	}{
		"cured by the file": {cluster: []model.Validation{failing("api-vips-defined", "no API address")},
			cure: model.CureFile, message: "no API address"},
		"cured at the machine": {host: []model.Validation{failing("has-min-memory", "too little memory")},
			cure: model.CurePerson, message: "cp-1: too little memory"},
		"a warning that holds the install up": {
			host: []model.Validation{failing("ntp-synced", "no time"), failing("time-synced-between-host-and-service", "an hour ahead")},
			cure: model.CurePerson, message: "cp-1: no time; hence cp-1: an hour ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
			w.Observed.Cluster.State, w.Observed.Cluster.Validations = model.ClusterBlocked, test.cluster
			w.Observed.Hosts[1].Validations = test.host
			plan := w.Decide()
			if len(plan.Blockers) != 1 {
				t.Fatalf("blockers %+v", plan.Blockers)
			}
			check.Equal(t, plan.Blockers[0].Cure, test.cure, "cure")
			check.Equal(t, plan.Blockers[0].Message, test.message, "message")
		})
	}
}
