package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// AnnotationOwner is on a reserved Agent: NAMESPACE/NAME of its AgentMachine. A label has no room
// for a long name.
const AnnotationOwner = hubapi.AnnotationAgentMachine

// longestLabel is how long the value of a label may be.
const longestLabel = 63

// LabelOf is the name of an AgentMachine as the value of a label: long ones end in what stands for the
// whole name.
func LabelOf(name string) string {
	if len(name) <= longestLabel {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	mark := "-" + hex.EncodeToString(sum[:])[:16]
	return strings.TrimRight(name[:longestLabel-len(mark)], "-.") + mark
}

// OwnerOf is the AgentMachine that an Agent is reserved for, by its labels and annotations. Of a long
// name without the annotation no more is known than its label. Any value of the label is a
// reservation, whoever made it.
func OwnerOf(labels, annotations map[string]string) (owner types.NamespacedName, reserved bool) {
	label := labels[agentv1.AgentMachineRefLabel]
	if label == "" {
		return types.NamespacedName{}, false
	}
	owner = types.NamespacedName{Namespace: annotations[agentv1.AgentMachineRefNamespaceAnnotation], Name: label}
	if namespace, name, both := strings.Cut(annotations[AnnotationOwner], "/"); both && namespace == owner.Namespace && LabelOf(name) == label {
		owner.Name = name
	}
	return owner, true
}

// IsOwnedBy reports whether an Agent is reserved for an AgentMachine.
func (h *Host) IsOwnedBy(machine types.NamespacedName) bool {
	return h.Reserved && h.Owner.Namespace == machine.Namespace && (h.Owner.Name == machine.Name || h.Owner.Name == LabelOf(machine.Name) && len(machine.Name) > longestLabel)
}
