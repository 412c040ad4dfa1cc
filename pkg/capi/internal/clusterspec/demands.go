package clusterspec

import (
	"cmp"
	"context"

	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Demands is what a cluster asks of the host of one of its Machines.
type Demands struct {
	// Arch is the architecture; "" and spec.Multi for any.
	Arch spec.Arch
	// SingleNode says that the cluster has one machine of the control plane.
	SingleNode bool
}

// Demands reads what a Cluster asks of the host of a Machine, before one is chosen: an installation is known only once all
// machines of the control plane have theirs. It is clusterloop.ErrNotYet where the control plane is not there.
func (s *Source) Demands(ctx context.Context, key clusterloop.Key, machine string) (Demands, error) {
	c, err := s.Read(ctx, key)
	if err != nil {
		return Demands{}, err
	}
	asked := Demands{Arch: archOf(c), SingleNode: replicasOf(c.ControlPlane) == 1}
	for _, m := range c.Machines {
		if m.Name == machine {
			asked.Arch = cmp.Or(hostArch(c, m), asked.Arch)
		}
	}
	return asked, nil
}
