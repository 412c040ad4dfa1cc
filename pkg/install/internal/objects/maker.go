// Package objects makes each of a hub's objects out of a cluster.yaml: what is
// rendered and applied, and what formats that consist of such objects share.
package objects

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Maker makes objects and collects what cannot be said.
type Maker struct {
	Refusals
	Namespace string // that objects stand in
	Set       string // the ClusterImageSet to refer to
	Hold      *bool  // AgentClusterInstall.spec.holdInstallation; nil for spec.hold
	Secrets   bool   // whether Secrets are made, with their contents
	Installed bool   // whether the cluster is
	Bound     bool   // whether the InfraEnv that hosts boot is bound to the cluster
	Notes     []string
}

func (h *Maker) note(format string, args ...any) {
	h.Notes = append(h.Notes, fmt.Sprintf(format, args...))
}

// Object is an object of the cluster in its namespace.
func (h *Maker) Object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	return NewObject(kind, h.Cluster, h.Namespace, name)
}

// NamespaceObject is the namespace itself.
func (h *Maker) NamespaceObject() *unstructured.Unstructured {
	namespace := NewObject(kindNamespace(), h.Cluster, "", h.Namespace)
	if h.Namespace != NamespaceOf(h.Cluster) {
		namespace.SetLabels(nil)
	}
	return namespace
}
