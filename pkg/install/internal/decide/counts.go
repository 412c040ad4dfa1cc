package decide

import (
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// counts are the machines that a cluster shall have.
type counts struct {
	controlPlane, workers, arbiters int
	requiredWorkers                 int
}

func (c counts) total() int    { return c.controlPlane + c.workers + c.arbiters }
func (c counts) required() int { return c.controlPlane + c.requiredWorkers + c.arbiters }

func (p *planner) counts() counts {
	return counts{
		controlPlane: p.spec.ControlPlaneCount(), workers: p.spec.WorkerCount(), arbiters: p.spec.ArbiterCount(),
		requiredWorkers: p.spec.RequiredWorkers(),
	}
}

// unnamedMissing is how many machines that the file counts without naming them
// have not come yet.
func (p *planner) unnamedMissing() int {
	if !p.spec.Spec.AcceptUnknownHosts {
		return 0
	}
	return p.counts().total() - len(p.matches.Part) - len(p.missingHosts())
}

func (p *planner) presentWorkers() int {
	workers := 0
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role == spec.Worker && p.matches.ByName[host.Name] != nil {
			workers++
		}
	}
	return workers
}

// presentCounts is how many hosts of which role are there to be installed, for
// a service that counts before it starts. Workers that are not required and did
// not come are not among them; machines that the file does not name are workers.
func (p *planner) presentCounts() model.Settings {
	c := p.counts()
	return model.Settings{
		setting.ControlPlane: setting.ValueOf(c.controlPlane), setting.Arbiters: setting.ValueOf(c.arbiters),
		setting.Workers: setting.ValueOf(max(0, len(p.matches.Part)-c.controlPlane-c.arbiters)),
	}
}

// missingHosts names the hosts of the file that the service has not seen, or
// that came too late for the install and have not been added since.
func (p *planner) missingHosts() []string {
	var missing []string
	for i := range p.spec.Spec.Hosts {
		name := p.spec.Spec.Hosts[i].Name
		if have := p.matches.ByName[name]; have == nil || have.Day2 && have.State != model.HostAdded {
			missing = append(missing, name)
		}
	}
	return missing
}
