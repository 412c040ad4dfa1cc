package nodes

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/model"
)

// returns reports whether the host goes back to the pool that it came from.
func (t *leaving) returns() bool { return t.Desired.Options.Remove.ReturnToPool }

// returnsFirst reports whether the host goes back before its node is deleted: where the service boots
// it into the discovery image, with an agent that runs on the node. The Machine API would delete the
// node before that.
func (t *leaving) returnsFirst() bool {
	return t.returns() && t.Have != nil && t.Have.Returns == model.ReturnByService && t.machine == nil && t.node != nil && t.node.Ready && !t.node.Deleting
}

// isReturned reports whether the host has gone back, and its node still runs: the service's agent on it
// is about to boot it into the discovery image.
func (t *leaving) isReturned() bool {
	return t.returns() && t.Have == nil && !t.replaced && t.machine == nil && t.node != nil && t.node.Ready && t.node.Leaving
}

// wasReturned reports whether this loop has given the host back.
func (t *leaving) wasReturned() bool {
	return t.returns() && t.Memory.Done[t.key("record")].Kind == model.ReturnHost
}

// pool is the InfraEnv that the host came from.
func (t *leaving) pool() string {
	if t.Have == nil || !t.returns() {
		return ""
	}
	if env := t.infraEnv(); env != nil {
		return env.Name
	}
	return t.Have.InfraEnvID
}

// infraEnv is the InfraEnv that the host booted, nil for one that is not the cluster's.
func (t *leaving) infraEnv() *model.InfraEnv {
	i := slices.IndexFunc(t.Observed.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == t.Have.InfraEnvID })
	if i < 0 {
		return nil
	}
	return &t.Observed.InfraEnvs[i]
}

// noPool refuses to give back a host that came from no pool.
func (t *leaving) noPool() *model.Blocker {
	const remedy = "leave --return-to-pool out"
	switch {
	case !t.returns() || t.begun():
		return nil
	case t.Have == nil:
		return t.refuse("NoRecord", "no-record", model.CureNow, fmt.Sprintf("the service has no host %s that could go back to a pool", t.Name), remedy)
	case t.infraEnv() != nil && t.infraEnv().ClusterID != "":
		return t.refuse("NoPool", "no-pool", model.CureNow,
			fmt.Sprintf("%s cannot go back to a pool: the InfraEnv %s, which it booted, is bound to the cluster", t.Name, t.infraEnv().Name), remedy)
	}
	return nil
}

// recordText is what becomes of the service's record.
func (t *leaving) recordText() string {
	switch {
	case !t.returns():
		return "delete the service's record of " + t.Name
	case t.returnsFirst():
		return fmt.Sprintf("give %s back to the pool %s: the service boots it into the discovery image", t.Name, t.pool())
	case t.Have != nil && t.Have.Returns == model.ReturnByHub:
		return fmt.Sprintf("give %s back to the pool %s: the hub boots it into the discovery image, through its BareMetalHost", t.Name, t.pool())
	}
	return fmt.Sprintf("give %s back to the pool %s, once somebody boots it into the discovery image", t.Name, t.pool())
}

func (t *leaving) recordKind() model.Kind {
	if t.returns() {
		return model.ReturnHost
	}
	return model.RemoveHost
}

// awaitReboot waits for a host that has gone back to leave its node.
func (t *leaving) awaitReboot() {
	t.wait(model.Wait{
		Key: t.key("reboots"), Scope: t.scope(), Who: model.WhoMachine,
		For:  fmt.Sprintf("%s to be booted into the discovery image by the service's agent on it", t.nodeName),
		Next: "see that agent: oc -n assisted-installer get pods -o wide; where it cannot do it, boot the machine by hand",
	})
}
