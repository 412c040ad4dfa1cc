package install_test

import (
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestSnapshotAnswers: what the library says of an observation is what deciding says of it.
func TestSnapshotAnswers(t *testing.T) {
	r := decidetest.ReadyRack(t, 1, 0)
	r.Boxes["cp-0"].Power, r.Boxes["cp-0"].Media = model.PowerIsOn, decidetest.ImageOf("cp-0")
	plan, observed, err := r.Plan()
	if err != nil {
		t.Fatal(err)
	}
	s := &install.Look{Desired: r.Desired, Observed: observed, Plan: plan}
	if hosts := s.Hosts(); len(hosts) != 1 || hosts[0].Name != "cp-0" || hosts[0].Host != nil {
		t.Errorf("hosts %+v", hosts)
	}
	if reading := s.Reading(); len(reading) != 1 || reading[0] != "cp-0" || len(s.HaveToBoot("cp-0", "gone")) != 1 {
		t.Errorf("%v read their images", reading)
	}
	plans, err := install.InfraEnvPlans(r.Desired.Spec, observed.InfraEnvs)
	if env, known := s.InfraEnv("cp-0"); err != nil || !known || len(plans) != 1 || env.Name != plans[0].Name {
		t.Errorf("cp-0 boots %q of %+v (%v)", env.Name, plans, err)
	}
	if steps := s.Then(); len(steps) == 0 || steps[len(steps)-1].Kind != model.SaveKubeconfig {
		t.Errorf("then %+v", steps)
	}
}
