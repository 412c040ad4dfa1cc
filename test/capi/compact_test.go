package capi

import (
	"testing"
	"time"
)

// TestCompact takes a cluster of three machines from its template to Available.
func TestCompact(t *testing.T) {
	r := newRig(t, 3)
	r.order("compact", 0)
	r.untilAvailable(5 * time.Minute)
	if nodes := r.nodes(); len(nodes) != 3 {
		t.Errorf("its nodes are %v", nodes)
	}
}
