package pool

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

// AnnotationOwner is on a reserved Agent: NAMESPACE/NAME of its AgentMachine. A label has no room
// for a long name.
const AnnotationOwner = hubapi.AnnotationAgentMachine

// LabelOf is the name of an AgentMachine as the value of a label: a long name is cut and ends in a hash of the whole
// name.
func LabelOf(name string) string { return hubapi.AgentMachineLabel(name) }

// OwnerOf is the AgentMachine that an Agent is reserved for, by its labels and annotations.
func OwnerOf(labels, annotations map[string]string) (owner types.NamespacedName, reserved bool) {
	owner.Namespace, owner.Name, reserved = hubapi.AgentMachineOf(labels, annotations)
	return owner, reserved
}

// IsOwnedBy reports whether an Agent is reserved for an AgentMachine.
func (h *Host) IsOwnedBy(machine types.NamespacedName) bool {
	return h.Reserved && h.Owner.Namespace == machine.Namespace &&
		(h.Owner.Name == machine.Name || h.Owner.Name == LabelOf(machine.Name) && LabelOf(machine.Name) != machine.Name)
}
