package host

import (
	"context"
	"time"
)

// bootstrapTail is what the bootstrap does after writing its own disk: it hosts
// the first control plane until the other machines carry it.
func (l *life) bootstrapTail(inst *installation) []op {
	return []op{
		l.stageOp(inst, stageWaitControlPlane, "waiting for bootstrap to prepare", l.jitter.of(bootstrapPreparing)),
		l.stageOp(inst, stageWaitControlPlane, "waiting for masters to join bootstrap control plane", 0),
		l.waitForMasters(inst),
		l.stageOp(inst, stageWaitBootkube, "", l.jitter.of(bootkubeTime)),
		l.stageOp(inst, stageWaitController, "waiting for controller pod ready event", l.jitter.of(controllerTime)),
		func(ctx context.Context) (time.Duration, bool) {
			l.fleet.startController(ctx, inst.args)
			return peerPoll, true
		},
	}
}

// waitForMasters reports the other control plane nodes as they join, until there
// are enough to take over: all but the bootstrap, but no more than two.
func (l *life) waitForMasters(inst *installation) op {
	enough := min(max(inst.args.controlPlanes(), 2)-1, 2)
	return func(ctx context.Context) (time.Duration, bool) {
		if wait, held := l.held(ctx, inst); held {
			return wait, false
		}
		c, err := l.fleet.looks.clusterAt(ctx, inst.args.ClusterID, statusAge)
		if err != nil {
			return peerPoll, false
		}
		joined, arbiters, arbitersJoined := 0, 0, 0
		for _, h := range c.Hosts {
			if !controlPlane(h.Role) || h.ID == l.spec.UUID {
				continue
			}
			stage := l.fleet.advance(ctx, h, stageJoined)
			there := stage == stageJoined || stage == stageDone
			switch {
			case h.Role == "arbiter":
				arbiters++
				if there {
					arbitersJoined++
				}
			case there:
				joined++
			}
		}
		if joined >= enough && (arbiters == 0 || arbitersJoined > 0) {
			return l.jitter.of(peerPoll), true
		}
		return peerPoll, false
	}
}
