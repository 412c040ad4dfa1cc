package install

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NodeView is one machine of a cluster in all that it is: a host of the service, a machine of
// the installed cluster, and a node.
type NodeView struct {
	Name          string                 // in the file, else of the host, else of the node
	Host          *model.Host            // nil: the service knows none
	Node          *model.Node            // nil: it has not joined
	Machine       string                 // of the Machine API, "" for none
	BareMetalHost string                 // that of the installed cluster, else of the hub
	Metal         string                 // the state of that
	Requests      []model.RequestVerdict // for certificates, that are pending
	// Stuck is what the machine waits for, or what blocks it (Trouble); "" for nothing.
	Stuck   string
	Trouble bool
	// Stranger reports that the name belongs to no machine that is known: a machine asks for a certificate under that
	// name, and a host that the run waits for may have changed its name.
	Stranger bool
}

// opLook is what is done to an installed cluster that is only shown.
const opLook = "look at the nodes of"

// InspectNodes looks at the installed cluster of an observation, and puts together what is known
// of each of its machines. Why the cluster itself cannot be seen stands in the observation's
// Spoke.Trouble; then the rows have what the service knows.
func (client *Client) InspectNodes(ctx context.Context, desired *model.Desired,
	observed *model.Observed) ([]NodeView, *model.Observed, error) {
	now, own := taken(observed), *desired
	own.Options.AddNodes = true
	if err := client.observeNodes(ctx, &own, now); err != nil {
		return nil, nil, err
	}
	if fault := decide.SpokeFault(opLook, &own, now); fault != nil && now.Spoke != nil {
		now.Spoke = &model.Spoke{Trouble: fault.Error(), TroubleKind: model.TroubleUnreachable}
		own.Options.AddNodes = false
	}
	v := nodeViews{desired: &own, observed: now, plan: decide.Explain(&own, now, ""), spoke: cmp.Or(now.Spoke, &model.Spoke{})}
	return v.rows(), now, nil
}

// nodeViews puts rows together.
type nodeViews struct {
	desired  *model.Desired
	observed *model.Observed
	plan     model.Plan
	spoke    *model.Spoke
}

func (v *nodeViews) rows() []NodeView {
	var rows []NodeView
	seen := map[string]bool{}
	for _, named := range decide.NewSnapshot(v.desired, v.observed).Hosts() {
		row := NodeView{Name: named.Name, Host: named.Host}
		hostname := named.Name
		if named.Host != nil {
			hostname = cmp.Or(named.Host.Hostname, hostname)
			row.Name = cmp.Or(row.Name, named.Host.DisplayName())
		}
		if row.Node = v.spoke.NodeByName(hostname); row.Node != nil {
			seen[row.Node.Name] = true
		}
		rows = append(rows, v.completed(row))
	}
	awaited := 0
	var waiting []string
	for i := range rows {
		if isAwaited(&rows[i]) {
			awaited, waiting = i+1, append(waiting, rows[i].Name)
		}
	}
	for i := range v.spoke.Nodes {
		if n := &v.spoke.Nodes[i]; !seen[n.Name] {
			rows = append(rows, v.completed(NodeView{Name: n.Name, Node: n}))
		}
	}
	if len(waiting) == 0 {
		awaited = len(rows)
	}
	return slices.Insert(rows, awaited, v.strangers(waiting)...)
}

// isAwaited reports whether a machine was installed and has not joined.
func isAwaited(row *NodeView) bool {
	return row.Host != nil && row.Host.Day2 && row.Node == nil && (row.Host.HasRebooted() || row.Host.State == model.HostAdded)
}

// mostStrangers is how many names that belong to no known host are shown.
const mostStrangers = 10

// strangers are the names of no host that is known for which certificates are asked with the
// bootstrapper's token. They are shown, and never approved.
func (v *nodeViews) strangers(waiting []string) []NodeView {
	var rows []NodeView
	more := map[string]bool{}
	for _, verdict := range v.plan.Requests {
		if verdict.Kind != model.RequestClient || verdict.Reason != model.ReasonUnknownName || verdict.Node == "" {
			continue
		}
		i := slices.IndexFunc(rows, func(row NodeView) bool { return row.Name == verdict.Node })
		switch {
		case i >= 0:
			rows[i].Requests = append(rows[i].Requests, verdict)
		case len(rows) == mostStrangers:
			more[verdict.Node] = true
		default:
			row := NodeView{Name: verdict.Node, Requests: []model.RequestVerdict{verdict}, Trouble: true, Stranger: true,
				Stuck: "no host has this name"}
			if len(waiting) > 0 {
				row.Stuck += ", and " + listtext.ListText(waiting) + " is still waited for: a hostname that changed with the reboot?"
			}
			rows = append(rows, row)
		}
	}
	if len(more) > 0 {
		rows[mostStrangers-1].Stuck += fmt.Sprintf("; and so %d more names", len(more))
	}
	return rows
}

// completed adds what else is known of a machine.
func (v *nodeViews) completed(row NodeView) NodeView {
	if row.Node != nil {
		if m := v.spoke.MachineOf(row.Node.Name); m != nil {
			row.Machine, row.BareMetalHost = m.Name, m.BareMetalHost
		}
	}
	for _, e := range v.observed.Enrolled {
		if row.BareMetalHost == "" && e.Name == row.Name {
			row.BareMetalHost, row.Metal = e.Name, e.State
		}
	}
	if m := v.spoke.HostOfMetal(row.BareMetalHost); m != nil {
		row.Metal = m.State
	}
	for _, verdict := range v.plan.Requests {
		if verdict.Host == row.Name && verdict.Decision != model.RequestIgnore {
			row.Requests = append(row.Requests, verdict)
		}
	}
	row.Stuck, row.Trouble = v.stuck(row)
	return row
}

// stuck is the first thing that the plan says of a machine.
func (v *nodeViews) stuck(row NodeView) (text string, trouble bool) {
	concerns := func(s model.Scope) bool {
		return s == model.ScopeHost.Of(row.Name) || s == model.ScopeNode.Of(row.Name) || row.Host != nil && s == model.ScopeHost.Of(row.Host.ID)
	}
	for i := range v.plan.Blockers {
		if b := &v.plan.Blockers[i]; concerns(b.Scope) || slices.Contains(b.Hosts, row.Name) {
			return b.Message, true
		}
	}
	for i := range v.plan.Actions {
		if a := &v.plan.Actions[i]; concerns(a.Scope) {
			return "oaictl to " + a.Describe(), false
		}
	}
	for i := range v.plan.Waits {
		if w := &v.plan.Waits[i]; concerns(w.Scope) {
			return w.For, false
		}
	}
	switch {
	case row.Node == nil || row.Node.Ready && !row.Node.Cordoned && !row.Node.Deleting:
		return "", false
	case row.Node.Deleting:
		return "the node is being deleted", false
	case !row.Node.Ready:
		return strings.TrimSpace("not Ready: " + cmp.Or(row.Node.Message, row.Node.Reason)), true
	}
	return "cordoned: no pod is scheduled on it", false
}
