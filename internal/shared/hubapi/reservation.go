package hubapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestLabel is how long the value of a label may be.
const longestLabel = 63

// AgentMachineLabel is the name of an AgentMachine as the value of a label: a long name is cut and ends in a hash of
// the whole name.
func AgentMachineLabel(name string) string {
	if len(name) <= longestLabel {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	mark := "-" + hex.EncodeToString(sum[:])[:16]
	return strings.TrimRight(name[:longestLabel-len(mark)], "-.") + mark
}

// AgentMachineOf is the AgentMachine that an Agent is reserved for, by its labels and annotations. If a long name has
// no annotation, only its label is known. Any value of the label is a reservation, no matter which client wrote it.
func AgentMachineOf(labels, annotations map[string]string) (namespace, name string, reserved bool) {
	label := labels[LabelAgentMachine]
	if label == "" {
		return "", "", false
	}
	namespace = annotations[AnnotationAgentMachineNamespace]
	if within, whole, both := strings.Cut(annotations[AnnotationAgentMachine], "/"); both && within == namespace &&
		AgentMachineLabel(whole) == label {
		return namespace, whole, true
	}
	return namespace, label, true
}
