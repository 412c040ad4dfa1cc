package install

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/catalogue"
	"github.com/oaictl/oaictl/pkg/install/diagnose"
)

// Explain finds the causes behind the failing validations of a cluster and its
// hosts, under the hosts' names in the file.
func Explain(desired *Desired, observed *Observed) diagnose.Report {
	p := newPlanner(desired, observed, Memory{}, observed.At)
	all := make([]*Host, 0, len(observed.Hosts))
	for i := range observed.Hosts {
		all = append(all, &observed.Hosts[i])
	}
	return p.explain(all)
}

func (p *planner) explain(hosts []*Host) diagnose.Report {
	ignored := p.spec.Spec.IgnoreValidations
	in := diagnose.Input{
		Registered: len(hosts), Expected: p.counts().total(),
		Roles:          diagnose.Roles{Wanted: p.counts().controlPlane},
		IgnoredCluster: ignored.Cluster, IgnoredHosts: ignored.Hosts,
		Checks: make([]diagnose.Check, 0, openChecks(hosts)),
	}
	if p.cluster != nil {
		in.Checks = p.checks(in.Checks, catalogue.SubjectCluster, nil, p.cluster.Validations)
	}
	for _, h := range hosts {
		switch h.Role {
		case RoleControlPlane:
			in.Roles.ControlPlane++
		case RoleWorker:
			in.Roles.Worker++
		case RoleArbiter:
			in.Roles.Arbiter++
		default:
			in.Roles.Auto++
		}
		in.Checks = p.checks(in.Checks, catalogue.SubjectHost, h, h.Validations)
	}
	return diagnose.Explain(in)
}

// openChecks counts, to make room at once, what does not pass of many hosts.
func openChecks(hosts []*Host) int {
	n := 0
	for _, h := range hosts {
		for i := range h.Validations {
			if !h.Validations[i].passes() {
				n++
			}
		}
	}
	return n
}

func (p *planner) checks(to []diagnose.Check, subject catalogue.Subject, h *Host, list []Validation) []diagnose.Check {
	name, id := "", ""
	if h != nil {
		name, id = p.hostName(h), h.ID
	}
	for i := range list {
		v := &list[i]
		if v.passes() {
			continue
		}
		to = append(to, diagnose.Check{
			Subject: subject, Host: name, ID: v.ID, Category: v.Category, Status: v.Status, Message: v.Message,
			Seen: p.seen(subject, id, v),
		})
	}
	return to
}

func checkKey(subject catalogue.Subject, hostID string, v *Validation) string {
	return string(subject) + "/" + hostID + "/" + v.ID + "/" + v.Status
}

// evaluation is how often the service, and the agents it asks, come to a new
// result. Looking more often than that tells nothing new of a check.
const evaluation = 20 * time.Second

// seen is in how many evaluations in a row a check has had its status. Without
// memory it has had it for long.
func (p *planner) seen(subject catalogue.Subject, hostID string, v *Validation) int {
	if p.memory.Checks == nil {
		return diagnose.Settled
	}
	since, known := p.memory.Checks[checkKey(subject, hostID, v)]
	if !known {
		return 1
	}
	return 1 + int(p.now.Sub(since)/evaluation)
}

// clusterChecks explains the validations that stand in the way of the install.
func (p *planner) clusterChecks() {
	if p.cluster.State == ClusterReady {
		return
	}
	p.causes(p.explain(p.matches.part))
}

// causes makes blockers of what stands in the way, and waits of what passes.
func (p *planner) causes(report diagnose.Report) {
	silent := slices.ContainsFunc(p.matches.part, func(h *Host) bool { return h.State == HostDisconnected })
	for _, cause := range report.Causes {
		if silent && mutual(cause.ID) {
			continue // the host that does not answer is named itself
		}
		b := causeBlocker(cause)
		b.Remedy = catalogue.Fill(b.Remedy, catalogue.Names{Cluster: p.name(), Hosts: b.Hosts})
		p.block(b)
	}
	for _, cause := range report.Waits {
		if cause.Pass == diagnose.PassHosts {
			continue // the hosts themselves are waited for by name
		}
		p.wait(Wait{Key: "validation/" + string(cause.Subject) + "/" + cause.ID, Scope: causeScope(cause), For: "the service: " + causeText(cause), Who: WhoService})
	}
}

// mutual says whether a check is about the ways between hosts and to the service.
func mutual(id string) bool {
	switch id {
	case "connected", "belongs-to-majority-group", "sufficient-network-latency-requirement-for-role", "sufficient-packet-loss-requirement-for-role", "mtu-valid":
		return true
	}
	return false
}

// reasonValidation is the reason of blockers that are failing checks.
const reasonValidation = "ValidationFails"

func causeBlocker(cause diagnose.Cause) Blocker {
	b := Blocker{
		Key: "validation/" + string(cause.Subject) + "/" + cause.ID, Scope: causeScope(cause), Reason: reasonValidation,
		Message: causeText(cause), Field: cause.Field, Remedy: cause.Remedy, Hosts: cause.Hosts, Cure: CurePerson,
		Validations: []string{cause.ID},
	}
	if cause.Cure == catalogue.CureFile {
		b.Cure = CureFile
	}
	if b.Remedy == "" {
		b.Remedy = "oaictl explain validation " + cause.ID
	}
	for _, ref := range cause.Consequences {
		b.Validations = append(b.Validations, ref.ID)
	}
	return b
}

func causeScope(cause diagnose.Cause) Scope {
	if len(cause.Hosts) == 1 {
		return HostScope(cause.Hosts[0])
	}
	return ScopeCluster
}

// causeText is a cause in one sentence: what the service says, and of whom.
func causeText(cause diagnose.Cause) string {
	text := firstOf(cause.Meaning, cause.Title, cause.ID)
	if len(cause.Messages) > 0 {
		text = cause.Messages[0].Text
	}
	if len(cause.Hosts) == 0 {
		return text
	}
	return fmt.Sprintf("%s: %s", few(cause.Hosts), text)
}

// few are names for a sentence: nobody reads hundreds of them.
func few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
}
