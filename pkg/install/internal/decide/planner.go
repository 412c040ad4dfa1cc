package decide

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// planner has the values that decide, each of which knows what it needs and those that it stands on.
type planner struct {
	*collector
	desired         *model.Desired
	options         *model.Options
	spec            *spec.Cluster // as it is desired now: see [model.Desired.At]
	name, full      string        // the cluster's name, without its domain and with it
	observed        *model.Observed
	memory          model.Memory
	now             time.Time
	cluster         *model.Cluster
	question        *nodes.Question
	only            string // the host that alone is asked about, "" for all
	explains        bool   // also what fails and holds nothing up is asked for
	roster          *roster
	attendance      *attendance
	members         *members
	images          *images
	checks          *checks
	infraEnvs       *infraEnvs
	boot            *boot
	hostSettings    *hostSettings
	hostStates      *hostStates
	hosts           *hosts
	unknownHosts    *unknownHosts
	networks        *networks
	registration    *registration
	clusterSettings *clusterSettings
	drift           *drift
	preparation     *preparation
	start           *start
	leftOut         *leftOut
	results         *results
	installation    *installation
	spokeNodes      *spokeNodes
	added           *added
	installed       *installed
	removal         *removal
	attempts        *attempts
	limits          *limits
}

func newPlanner(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) *planner {
	present := desired.At(observed)
	p := &planner{
		desired: present, options: &present.Options, spec: present.Spec, name: present.Spec.Metadata.Name, full: present.FullName(),
		observed: observed, memory: memory, now: now, cluster: observed.Cluster,
		question: &nodes.Question{Desired: present, Observed: observed, Memory: memory, Now: now},
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
	p.attendance = &attendance{spec: p.spec, observed: p.observed, now: p.now, cluster: p.cluster, roster: p.roster}
	p.members = &members{options: p.options, spec: p.spec, cluster: p.cluster, roster: p.roster, attendance: p.attendance}
	p.images = &images{
		options: p.options, spec: p.spec, name: p.name, observed: p.observed, cluster: p.cluster, question: p.question,
		roster: p.roster, attendance: p.attendance, members: p.members,
	}
	p.checks = &checks{
		collector: p.collector, spec: p.spec, name: p.name, memory: p.memory, now: p.now, cluster: p.cluster, only: p.only,
		explains: p.explains, roster: p.roster, attendance: p.attendance,
	}
	p.infraEnvs = &infraEnvs{
		collector: p.collector, desired: p.desired, options: p.options, spec: p.spec, name: p.name, observed: p.observed,
		memory: p.memory, now: p.now, cluster: p.cluster, members: p.members, images: p.images,
	}
	p.boot = &boot{
		collector: p.collector, options: p.options, spec: p.spec, observed: p.observed, memory: p.memory, now: p.now, cluster: p.cluster,
		explains: p.explains, roster: p.roster, members: p.members, images: p.images,
	}
	p.hostSettings = &hostSettings{collector: p.collector, desired: p.desired, spec: p.spec, roster: p.roster}
	p.hostStates = &hostStates{
		collector: p.collector, spec: p.spec, name: p.name, observed: p.observed, now: p.now, cluster: p.cluster, roster: p.roster,
		images: p.images, boot: p.boot, hostSettings: p.hostSettings,
	}
	p.hosts = &hosts{
		collector: p.collector, spec: p.spec, name: p.name, observed: p.observed, roster: p.roster, attendance: p.attendance,
		images: p.images, boot: p.boot, hostSettings: p.hostSettings, hostStates: p.hostStates,
	}
	p.unknownHosts = &unknownHosts{
		collector: p.collector, spec: p.spec, roster: p.roster, attendance: p.attendance, images: p.images, hostSettings: p.hostSettings,
		hostStates: p.hostStates,
	}
	p.networks = &networks{
		collector: p.collector, spec: p.spec, observed: p.observed, cluster: p.cluster, only: p.only, roster: p.roster,
		attendance: p.attendance,
	}
	p.registration = &registration{
		collector: p.collector, desired: p.desired, options: p.options, spec: p.spec, name: p.name, full: p.full, observed: p.observed,
		memory: p.memory, cluster: p.cluster, checks: p.checks,
	}
	p.clusterSettings = &clusterSettings{
		collector: p.collector, options: p.options, spec: p.spec, name: p.name, observed: p.observed, memory: p.memory,
		cluster: p.cluster, roster: p.roster, infraEnvs: p.infraEnvs, networks: p.networks, registration: p.registration,
	}
	p.drift = &drift{
		collector: p.collector, options: p.options, spec: p.spec, cluster: p.cluster, roster: p.roster, images: p.images,
		hostSettings: p.hostSettings, clusterSettings: p.clusterSettings,
	}
	p.preparation = &preparation{
		collector: p.collector, name: p.name, memory: p.memory, now: p.now, cluster: p.cluster, roster: p.roster, checks: p.checks,
	}
	p.start = &start{
		collector: p.collector, options: p.options, spec: p.spec, name: p.name, memory: p.memory, now: p.now, cluster: p.cluster,
		roster: p.roster, attendance: p.attendance, images: p.images, preparation: p.preparation,
	}
	p.leftOut = &leftOut{
		collector: p.collector, options: p.options, spec: p.spec, cluster: p.cluster, roster: p.roster, checks: p.checks,
		hostStates: p.hostStates,
	}
	p.results = &results{collector: p.collector, observed: p.observed, cluster: p.cluster}
	p.installation = &installation{
		collector: p.collector, name: p.name, cluster: p.cluster, roster: p.roster, attendance: p.attendance, hostStates: p.hostStates,
		drift: p.drift, preparation: p.preparation, results: p.results,
	}
	p.spokeNodes = &spokeNodes{collector: p.collector, spec: p.spec, question: p.question, roster: p.roster, members: p.members}
	p.added = &added{
		collector: p.collector, spec: p.spec, name: p.name, cluster: p.cluster, question: p.question, roster: p.roster,
		members: p.members, images: p.images, checks: p.checks, infraEnvs: p.infraEnvs, boot: p.boot, hostSettings: p.hostSettings,
		hostStates: p.hostStates, hosts: p.hosts, spokeNodes: p.spokeNodes,
	}
	p.installed = &installed{
		collector: p.collector, options: p.options, spec: p.spec, name: p.name, observed: p.observed, cluster: p.cluster,
		roster: p.roster, attendance: p.attendance, drift: p.drift, results: p.results, added: p.added,
	}
	p.removal = &removal{
		collector: p.collector, observed: p.observed, cluster: p.cluster, question: p.question, roster: p.roster,
		registration: p.registration,
	}
	p.attempts = &attempts{collector: p.collector, options: p.options, observed: p.observed, memory: p.memory, now: p.now}
	p.limits = &limits{
		collector: p.collector, desired: p.desired, options: p.options, name: p.name, full: p.full, observed: p.observed,
		memory: p.memory, roster: p.roster,
	}
}
