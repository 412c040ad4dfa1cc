package lifecycle

import (
	"encoding/json"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	// ReplacingAnnotation is on a control plane: the unhealthy Machines that were deleted and have no
	// successor yet.
	ReplacingAnnotation = "controlplane.cluster.x-k8s.io/remediation-in-progress"
	// RemediationForAnnotation is on a Machine that was made for an unhealthy one: which that was, and
	// how often in a row it was tried.
	RemediationForAnnotation = "controlplane.cluster.x-k8s.io/remediation-for"
)

// Replacing are the Remediations that a control plane's annotation says; what cannot be read says nothing.
func Replacing(annotation string) []Remediation {
	var all []Remediation
	if json.Unmarshal([]byte(annotation), &all) != nil {
		return nil
	}
	return all
}

// RemediationFor is the remediation that a Machine was made for; nil for none.
func RemediationFor(m *clusterv1.Machine) *Remediation {
	text := m.Annotations[RemediationForAnnotation]
	if text == "" {
		return nil
	}
	r := &Remediation{}
	if json.Unmarshal([]byte(text), r) != nil {
		return nil
	}
	return r
}

// Note is a value as text for an annotation.
func Note(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // plain fields give no error
		return ""
	}
	return string(text)
}
