package validate

import (
	"slices"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

// TestMemoryIsMeasuredWithPatience takes a machine with a little less memory than asked
// for, and tells how much a smaller one has.
func TestMemoryIsMeasuredWithPatience(t *testing.T) {
	judge := func(mib int64) (string, string) {
		e := &hostCheck{c: &model.Cluster{}, h: &model.Host{PrintedHost: model.PrintedHost{Role: model.RoleMaster}, Inv: &model.Inventory{Inventory: models.Inventory{Memory: &models.Memory{PhysicalBytes: mib << 20}}}}}
		e.need.RAMMiB = 16 << 10
		rules := rules().Host
		i := slices.IndexFunc(rules, func(r rule) bool { return r.ID == "has-memory-for-role" })
		return hostSubject().outcome(e, rules[i])
	}
	if status, message := judge(16<<10 - 100); status != model.Passed {
		t.Errorf("%s: %s", status, message)
	}
	const want = "Require at least 16.00 GiB RAM for role master, found only 8.00 GiB"
	if status, message := judge(8 << 10); status != model.Failed || message != want {
		t.Errorf("%s: %s", status, message)
	}
}
