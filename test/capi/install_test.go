package capi

import "testing"

// TestCompact takes a cluster of three machines from its template to Available.
func TestCompact(t *testing.T) {
	r := newRig(t, 3)
	r.order("compact", 0)
	r.untilAvailable(aWhile)
	r.checkKubeconfig()
	if nodes := r.nodes(); len(nodes) != 3 {
		t.Errorf("its nodes are %v", nodes)
	}
}

// TestCompactOverREST does so by a service without a hub, adds a worker, and deletes the cluster.
func TestCompactOverREST(t *testing.T) {
	r := newRig(t, 4, func(r *rig) { r.overREST = true })
	r.order("compact", 0)
	r.untilAvailable(aWhile)
	r.scaleWorkers(1)
	r.untilWorkers(1)
	r.delete()
	r.checkGone()
}

// TestLiveISO boots the machines of a cluster from its discovery images, and adds one.
func TestLiveISO(t *testing.T) {
	r := newRig(t, 5)
	r.order("metal3", 1)
	r.untilAvailable(aWhile)
	r.untilWorkers(1)
	r.scaleWorkers(2)
	r.untilWorkers(2)
	r.delete()
	r.checkGone()
}
