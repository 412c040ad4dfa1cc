package diagnose

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// masters says with numbers what is wrong with the number of control plane
// hosts. The service only says that it is.
type masters struct {
	pass    Pass // why it is a wait, "" if it is none
	cure    explain.Cure
	field   string // "" for the catalogue's
	meaning string // "" for the catalogue's
	remedy  model.Advice
}

func mastersOf(in Input) masters {
	r := in.Roles
	able := r.ControlPlane + r.Auto // are control plane hosts, or can become one
	missing := r.Wanted - able
	switch {
	case r.Wanted == 0:
		return masters{cure: explain.CureMachine}
	case r.ControlPlane > r.Wanted:
		return masters{
			cure: explain.CureFile, field: "spec.hosts[].role",
			meaning: fmt.Sprintf("%s the role control-plane, and the cluster takes exactly %d.", have(r.ControlPlane), r.Wanted),
			remedy: model.Advicef("Give %s another role in spec.hosts[].role, or correct spec.topology.controlPlane.",
				of(r.ControlPlane-r.Wanted)),
		}
	case missing > 0:
		return tooFew(in, able, missing)
	case r.Wanted == 1 && in.Registered > 1:
		return masters{
			cure:    explain.CureFile,
			meaning: fmt.Sprintf("A single-node cluster takes exactly one host, and %d have registered (%s).", in.Registered, r),
			remedy:  "Power off the hosts that do not belong to it and delete them with {delete host NAME}, or correct spec.topology.",
		}
	case r.Wanted == 2 && r.Arbiter == 0 && able < 3:
		m := masters{
			cure:    explain.CureMachine,
			meaning: "Two control plane hosts need an arbiter, or credentials to power each other off (fencing).",
			remedy:  "Boot a third host with the role arbiter, or set spec.topology.fencing and spec.hosts[].fencing.",
		}
		if in.Expected > in.Registered {
			m.pass = PassHosts
		}
		return m
	}
	return masters{
		pass: PassService, cure: explain.CureWait,
		meaning: fmt.Sprintf("There are enough hosts (%s; %d control plane hosts wanted), and the service has not given out the roles yet.",
			r, r.Wanted),
		remedy: "Wait a minute. If it stays, give every host its role in spec.hosts[].role.",
	}
}

// tooFew is the case that hosts are missing, or have other roles.
func tooFew(in Input, able, missing int) masters {
	r := in.Roles
	if in.Expected > 0 && in.Registered >= in.Expected {
		return masters{
			cure: explain.CureFile, field: "spec.hosts[].role",
			meaning: fmt.Sprintf("All %d hosts have registered (%s), and %d of them can become control plane hosts; the cluster needs %d.",
				in.Registered, r, able, r.Wanted),
			remedy: model.Advicef("Give %d more the role control-plane in spec.hosts[].role, add hosts, or correct spec.topology.controlPlane.",
				missing),
		}
	}
	m := masters{
		cure:    explain.CureMachine,
		meaning: fmt.Sprintf("%d of the %d control plane hosts have registered (%s).", able, r.Wanted, r),
		remedy:  model.Advicef("Boot %d more into the discovery image.", missing),
	}
	if in.Expected > in.Registered {
		m.pass = PassHosts
	}
	return m
}

// explainMasters puts the numbers into a cause.
func explainMasters(cause *Cause, in Input) {
	m := mastersOf(in)
	cause.Cure = m.cure
	if m.field != "" {
		cause.Field = m.field
	}
	if m.meaning != "" {
		cause.Meaning, cause.Remedy = m.meaning, m.remedy
	}
}

// String lists the counts that are not zero.
func (r Roles) String() string {
	text := ""
	for _, part := range []struct {
		count int
		role  string
	}{
		{r.ControlPlane, "control-plane"}, {r.Worker, "worker"}, {r.Arbiter, "arbiter"}, {r.Auto, "auto"},
	} {
		if part.count == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", part.count, part.role)
	}
	if text == "" {
		return "no host"
	}
	return text
}

func have(n int) string {
	if n == 1 {
		return "1 host has"
	}
	return fmt.Sprintf("%d hosts have", n)
}

func of(n int) string {
	if n == 1 {
		return "one of them"
	}
	return fmt.Sprintf("%d of them", n)
}
