package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// planner has the values that decide, each of which knows what it needs and those that it stands on.
type planner struct {
	*collector
	desired    *model.Desired
	options    *model.Options
	spec       *spec.Cluster // as it is desired now: see [model.Desired.At]
	name, full string        // the cluster's name, without its domain and with it
	observed   *model.Observed
	memory     model.Memory
	now        time.Time
	cluster    *model.Cluster
	question   nodes.Question
	held       bool   // machines are not to be booted yet
	only       string // the host that alone is asked about, "" for all
	explains   bool   // also what fails and holds nothing up is asked for
	// bootsFrom is imagesByHost, once it was asked for.
	bootsFrom map[string]string
	// intended is latePlans, once it was asked for.
	intended []model.InfraEnvPlan
	roster   *roster
}

func newPlanner(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) *planner {
	present := desired.At(observed)
	p := &planner{
		desired: present, options: &present.Options, spec: present.Spec, name: present.Spec.Metadata.Name, full: present.FullName(),
		observed: observed, memory: memory, now: now, cluster: observed.Cluster,
		question: nodes.Question{Desired: present, Observed: observed, Memory: memory, Now: now},
		roster: &roster{
			Matches: MatchHosts(slices.Concat(present.Spec.Spec.Hosts, desired.Options.LeftOut), observed), spec: present.Spec, whole: desired.Spec,
		},
	}
	p.roster.leaveOut(desired.Options.LeftOut)
	p.compose()
	return p
}

// compose makes the values that decide, with a new plan. Each stands on those before it.
func (p *planner) compose() {
	p.collector = &collector{readOnly: p.options.ReadOnly}
}

// reconsiderAfter is how long after a permanent refusal the same call is tried again where no user runs the command
// again: the cause, a quota or a permission, may have been cured, and no event reports that.
const reconsiderAfter = 10 * time.Minute

// rests reports whether what was refused is not to be tried at present.
func (p *planner) rests(r model.Refusal) bool {
	if r.Permanent {
		return !p.options.Unattended || p.now.Before(r.Last.Add(reconsiderAfter))
	}
	return p.now.Before(r.Until)
}

// spokeAnswers reports whether the installed cluster can be worked with.
func (p *planner) spokeAnswers() bool {
	return p.observed.Spoke != nil && p.observed.Spoke.Trouble == ""
}

// kubeconfigFlag names the cluster's kubeconfig to a program, where one lies or will.
func (p *planner) kubeconfigFlag() string {
	return "--kubeconfig " + names.Quoted(cmp.Or(p.options.ClusterKubeconfig, p.observed.Results.KubeconfigPath, p.name+"/auth/"+model.KubeconfigFile))
}

// imageDifferences compares what the file says of an InfraEnv with it, except what the file overrides in the service's
// own words. Of a version a service may keep only the minor release, from which it takes the live system.
func imageDifferences(want model.Settings, env *model.InfraEnv) []setting.Difference {
	return slices.DeleteFunc(setting.Differences(want, env.Settings), func(d setting.Difference) bool {
		return slices.Contains(env.Overridden, d.Setting) || d.Setting == model.SettingVersion && setting.SameVersion(d.Have, d.Want)
	})
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
	return p.counts().total() - len(p.roster.Part) - len(p.missingHosts())
}

func (p *planner) presentWorkers() int {
	workers := 0
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role == spec.Worker && p.roster.ByName[host.Name] != nil {
			workers++
		}
	}
	return workers
}

// presentCounts is how many hosts of each role are there to be installed, for a service that counts before it starts.
// Workers that are not required and did not come are not counted; machines that the file does not name are workers.
func (p *planner) presentCounts() model.Settings {
	c := p.counts()
	return model.Settings{
		model.SettingControlPlane: model.ValueOf(c.controlPlane), model.SettingArbiters: model.ValueOf(c.arbiters),
		model.SettingWorkers: model.ValueOf(max(0, len(p.roster.Part)-c.controlPlane-c.arbiters)),
	}
}

// missingHosts names the hosts of the file that the service has not seen, or
// that came too late for the install and have not been added since.
func (p *planner) missingHosts() []string {
	var missing []string
	for i := range p.spec.Spec.Hosts {
		name := p.spec.Spec.Hosts[i].Name
		if have := p.roster.ByName[name]; have == nil || have.Day2 && have.State != model.HostAdded {
			missing = append(missing, name)
		}
	}
	return missing
}
