// Package hubobjects makes each of a hub's objects out of a cluster.yaml: what is
// rendered and applied, and what formats that consist of such objects share.
package hubobjects

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
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
func (h *Maker) Object(kind, name string) *unstructured.Unstructured {
	return NewObject(kind, h.Cluster, h.Namespace, name)
}

// NamespaceObject is the namespace itself.
func (h *Maker) NamespaceObject() *unstructured.Unstructured {
	namespace := NewObject(hubapi.KindNamespace, h.Cluster, "", h.Namespace)
	if h.Namespace != NamespaceOf(h.Cluster) {
		namespace.SetLabels(nil)
	}
	return namespace
}

// Refusals collects what a format has no place for, each with its place in the
// file.
type Refusals struct {
	Cluster *spec.Cluster
	List    []spec.Problem
}

// Refuse notes that a field cannot be said, and what to do about it.
func (r *Refusals) Refuse(field, message, remedy string) {
	file, line, col := r.Cluster.Position(field)
	r.List = append(r.List, spec.Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
}

// RefuseHost notes that a field of a host cannot be said.
func (r *Refusals) RefuseHost(h *spec.Host, name, message, remedy string) {
	r.Refuse(r.Cluster.HostField(h, name), message, remedy)
}

// Err is all of it as a *spec.Problems in the order of the file, or nil.
func (r *Refusals) Err() error {
	if len(r.List) == 0 {
		return nil
	}
	slices.SortStableFunc(r.List, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	return &spec.Problems{List: slices.Compact(r.List)}
}
