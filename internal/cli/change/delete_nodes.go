package change

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// fateOfNodes says what becomes of the machines of a cluster that is deleted.
func (o *changeOptions) fateOfNodes(seen *install.Found) string {
	state := model.ClusterStateOf(seen.Ref.Status)
	switch {
	case o.ReturnToPool:
		return fmt.Sprintf("The nodes of %s are booted into the discovery image, for the pool that they came from: nothing of it runs on.", seen.FullName())
	case state.Installed():
		return fmt.Sprintf("The nodes of %s keep running; only the %s forgets them.", seen.FullName(), o.keeper())
	case state.Running():
		return fmt.Sprintf("The install of %s ends with it; its machines are left as far as they are.", seen.FullName())
	}
	return ""
}

// fateOfNode says what becomes of the node of a host that is deleted.
func (o *changeOptions) fateOfNode(host install.Host, name string) string {
	switch {
	case o.RemoveNode && host.Role == model.RoleControlPlane:
		return fmt.Sprintf("The node %s, of the control plane, is taken out of its cluster first.", name)
	case o.RemoveNode:
		return fmt.Sprintf("The node %s is taken out of its cluster first, if it is part of one.", name)
	case host.State == model.HostInstalled, host.State == model.HostAdded:
		return fmt.Sprintf("The node %s keeps running; only the %s forgets it.", name, o.keeper())
	}
	return ""
}

// keeper is who keeps the records that are deleted.
func (o *changeOptions) keeper() string {
	if o.Globals.Backend == base.BackendHub {
		return "hub"
	}
	return "service"
}
