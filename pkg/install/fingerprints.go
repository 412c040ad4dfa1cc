package install

import (
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// aspect is what of a look concerns one scope: what its reconciler acts on, or shows.
type aspect struct {
	Actions  []actionAspect
	Waits    []string
	Blockers []string
	Warnings []string
	Object   any
	Spoke    any `json:",omitempty"` // what of the installed cluster concerns the control plane
}

// actionAspect is an action that is to be carried out now. It differs after each try, so that its reconciler is woken
// when it is time to try it again.
type actionAspect struct {
	Key   string
	Tried *tried `json:",omitempty"`
}

type spokeAspect struct {
	Trouble, Version string
	Operators        []model.ClusterOperator
	Nodes            []nodeAspect
	Etcd             any
}

type nodeAspect struct {
	Name, Version string
	Ready         bool
}

func spokeOf(s *model.Spoke) spokeAspect {
	seen := spokeAspect{Trouble: s.Trouble, Version: s.Version, Operators: s.Operators, Etcd: s.Etcd}
	for i := range s.Nodes {
		seen.Nodes = append(seen.Nodes, nodeAspect{s.Nodes[i].Name, s.Nodes[i].Version, s.Nodes[i].Ready})
	}
	return seen
}

// hostAspect is what of a host is shown. How much of an image is written is not: it changes too often.
type hostAspect struct {
	ID, InfraEnv, Cluster, Hostname, Stage string
	State                                  model.HostState
	Day2                                   bool
	Interfaces                             []model.Interface
}

type stateAspect struct {
	ID    string
	State model.ClusterState
}

type clusterAspect struct {
	ID, OpenShiftID, Version, Message string
	State                             model.ClusterState
	Verdict                           model.Verdict
	Kubeconfig, NoIngress             bool
	Hosts                             int
}

type infraEnvAspect struct {
	ID, URL, Info, Type string
	State               model.ImageState
	Created             time.Time
}

// Fingerprints are numbers for all scopes of the look. The number of a scope is the same in two looks where nothing that
// concerns the scope has changed: its actions, waits, blockers and warnings, and what a status shows of its object.
func (look *Look) Fingerprints() map[model.Scope]uint64 {
	aspects := map[model.Scope]*aspect{}
	of := func(scope model.Scope) *aspect {
		if aspects[scope] == nil {
			aspects[scope] = &aspect{}
		}
		return aspects[scope]
	}
	plan := &look.Plan
	for _, a := range plan.Actions {
		at := of(a.Scope)
		action := actionAspect{Key: a.Key}
		if before, was := look.tried[a.Key]; was {
			action.Tried = &before
		}
		at.Actions = append(at.Actions, action)
	}
	for _, w := range plan.Waits {
		at := of(w.Scope)
		at.Waits = append(at.Waits, w.For)
	}
	for _, b := range plan.Blockers {
		if b.Scope == model.ScopeCluster {
			continue // they are added with those of all
		}
		at := of(b.Scope)
		at.Blockers = append(at.Blockers, b.Message)
	}
	for _, w := range plan.Warnings {
		at := of(w.Scope)
		at.Warnings = append(at.Warnings, w.Message)
	}
	for _, named := range look.Hosts() {
		if h := named.Host; h != nil && named.Name != "" {
			of(model.ScopeHost.Of(named.Name)).Object = hostAspect{
				ID: h.ID, InfraEnv: h.InfraEnvID, Cluster: h.ClusterID, Hostname: h.Hostname, Stage: h.Progress.Stage, State: h.State, Day2: h.Day2,
				Interfaces: h.Inventory.Interfaces,
			}
		}
	}
	for i := range look.Observed.InfraEnvs {
		e := &look.Observed.InfraEnvs[i]
		of(model.ScopeInfraEnv.Of(e.Name)).Object = infraEnvAspect{ID: e.ID, URL: e.Image.URL, Info: e.Image.Info, Type: e.Image.Type,
			State: e.Image.State, Created: e.Image.Created}
	}
	cluster := of(model.ScopeCluster)
	for _, b := range plan.Blockers { // each one blocks the cluster, too
		cluster.Blockers = append(cluster.Blockers, b.Message)
	}
	if c := look.Observed.Cluster; c != nil {
		of(model.ScopeState).Object = stateAspect{c.ID, c.State}
		cluster.Object = clusterAspect{
			ID: c.ID, OpenShiftID: c.OpenShiftID, Version: c.Version, Message: plan.Message, State: c.State, Verdict: plan.Verdict,
			Kubeconfig: c.Kubeconfig, NoIngress: c.NoIngress, Hosts: len(look.Observed.Hosts),
		}
	}
	if s := look.Observed.Spoke; s != nil {
		of(model.ScopeCluster).Spoke = spokeOf(s)
		for _, n := range s.Nodes {
			n.Created, n.ReadySince = time.Time{}, time.Time{} // on our clock, where they are a little other at each look
			of(model.ScopeNode.Of(n.Name)).Object = n
		}
	}
	marks := make(map[model.Scope]uint64, len(aspects))
	for scope, at := range aspects {
		data, err := json.Marshal(at)
		if err != nil {
			data = []byte(err.Error()) // plain fields give no error
		}
		sum := fnv.New64a()
		_, _ = sum.Write(data) // it never fails
		marks[scope] = sum.Sum64()
	}
	return marks
}
