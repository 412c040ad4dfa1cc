package decide

import (
	"cmp"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// attendance says which hosts have come, and whether they suffice.
type attendance struct {
	spec      *spec.Cluster
	infraEnvs []model.InfraEnv
	now       time.Time
	cluster   *model.Cluster
	roster    *roster
}

// counts are the machines that a cluster shall have.
type counts struct {
	controlPlane, workers, arbiters int
	requiredWorkers                 int
}

func (c counts) total() int    { return c.controlPlane + c.workers + c.arbiters }
func (c counts) required() int { return c.controlPlane + c.requiredWorkers + c.arbiters }

func (a *attendance) counts() counts {
	return counts{
		controlPlane: a.spec.ControlPlaneCount(), workers: a.spec.WorkerCount(), arbiters: a.spec.ArbiterCount(),
		requiredWorkers: a.spec.RequiredWorkers(),
	}
}

// missingHosts names the hosts of the file that the service has not seen, or
// that came too late for the install and have not been added since.
func (a *attendance) missingHosts() []string {
	var missing []string
	for i := range a.spec.Spec.Hosts {
		name := a.spec.Spec.Hosts[i].Name
		if have := a.roster.ByName[name]; have == nil || have.Day2 && have.State != model.HostAdded {
			missing = append(missing, name)
		}
	}
	return missing
}

// unnamedMissing is how many machines that the file counts without naming them
// have not come yet.
func (a *attendance) unnamedMissing() int {
	if !a.spec.Spec.AcceptUnknownHosts {
		return 0
	}
	return a.counts().total() - len(a.roster.Part) - len(a.missingHosts())
}

func (a *attendance) presentWorkers() int {
	workers := 0
	for i := range a.spec.Spec.Hosts {
		if host := &a.spec.Spec.Hosts[i]; host.Role == spec.Worker && a.roster.ByName[host.Name] != nil {
			workers++
		}
	}
	return workers
}

// presentCounts is how many hosts of each role are there to be installed, for a service that counts before it starts.
// Workers that are not required and did not come are not counted; machines that the file does not name are workers.
func (a *attendance) presentCounts() model.Settings {
	c := a.counts()
	return model.Settings{
		model.SettingControlPlane: model.ValueOf(c.controlPlane), model.SettingArbiters: model.ValueOf(c.arbiters),
		model.SettingWorkers: model.ValueOf(max(0, len(a.roster.Part)-c.controlPlane-c.arbiters)),
	}
}

// enoughHosts reports whether the hosts that are there suffice for the start, and names those that are missing. Workers
// that are not required are waited for until their time is up.
func (a *attendance) enoughHosts() (missing []string, ok bool) {
	for i := range a.spec.Spec.Hosts {
		host := &a.spec.Spec.Hosts[i]
		switch {
		case a.roster.ByName[host.Name] != nil:
		case host.Role == spec.Worker:
			missing = append(missing, host.Name)
		default:
			return nil, false
		}
	}
	for range a.unnamedMissing() {
		missing = append(missing, "a worker")
	}
	enough := len(a.roster.Part) >= a.counts().required() && !a.now.Before(a.optionalEnds())
	return missing, len(missing) == 0 || enough
}

// defaultWithin is how long workers that are not required are waited for
// where the file does not say.
const defaultWithin = time.Hour

// optionalEnds is until when workers that are not required are waited for.
func (a *attendance) optionalEnds() time.Time {
	within := time.Duration(a.spec.Spec.Topology.Required.Within)
	return a.imageSince().Add(cmp.Or(within, defaultWithin))
}

// imageSince is when the first image could have been booted for this cluster.
func (a *attendance) imageSince() time.Time {
	var since time.Time
	for _, env := range a.infraEnvs {
		if since.IsZero() || env.Created.Before(since) {
			since = env.Created
		}
	}
	if since.Before(a.cluster.Created) {
		return a.cluster.Created // a pool that is older than the cluster
	}
	return since
}
