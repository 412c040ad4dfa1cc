package kube

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Read takes an object apart into a type of hubapi.
func Read[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return out, nil
}

// ID is how an object is named among all of a hub.
func ID(namespace, name string) string { return namespace + "/" + name }

// SplitID takes an id apart. One without a namespace has that of inside.
func SplitID(id, inside string) (namespace, name string) {
	namespace, name, qualified := strings.Cut(id, "/")
	if !qualified {
		return inside, id
	}
	return namespace, name
}

// SecretValue is the value of a key of a Secret.
func SecretValue(u *unstructured.Unstructured, key string) ([]byte, error) {
	encoded, found, err := unstructured.NestedString(u.Object, "data", key)
	if err != nil || !found {
		return nil, fmt.Errorf("the Secret %s/%s has no key %s", u.GetNamespace(), u.GetName(), key)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("the key %s of the Secret %s/%s cannot be read", key, u.GetNamespace(), u.GetName())
	}
	return data, nil
}

// Shorten is a text that fits a line of a terminal or two.
func Shorten(text string) string {
	const most = 600
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// HoldsManifests says whether an object of ours is a ConfigMap of manifests.
func HoldsManifests(u *unstructured.Unstructured) bool {
	switch folder := FolderOf(u); spec.ManifestFolder(folder) {
	case spec.FolderManifests, spec.FolderOpenShift:
		return u.GetKind() == hubapi.KindConfigMap
	}
	return false
}

// FolderOf is the folder of cluster.yaml that a ConfigMap of ours holds:
// <cluster>-manifests or <cluster>-openshift, a number behind it or not.
func FolderOf(u *unstructured.Unstructured) string {
	rest := strings.TrimPrefix(u.GetName(), u.GetLabels()[hubapi.LabelCluster]+"-")
	folder, _, _ := strings.Cut(rest, "-")
	return folder
}

// InstallOf is the AgentClusterInstall that a ClusterDeployment refers to, or
// nil.
func (at *Namespace) InstallOf(deployment *unstructured.Unstructured) *unstructured.Unstructured {
	group, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterInstallRef", "group")
	name, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterInstallRef", "name")
	if name == "" || group != hubapi.GroupHiveExtension {
		return nil
	}
	return at.Store(AgentClusterInstalls()).Get(name)
}

// DebugOf is what the service says of a cluster in its own words; empty before
// it has looked at it.
func DebugOf(made *hive.AgentClusterInstall) hive.DebugInfo {
	if made.Status.DebugInfo == nil {
		return hive.DebugInfo{}
	}
	return *made.Status.DebugInfo
}

// Installed says whether a ClusterDeployment counts as installed.
func Installed(deployment *hive.ClusterDeployment) bool {
	return deployment.Spec.Installed != nil && *deployment.Spec.Installed
}

// BoundTo is the id of the cluster that an InfraEnv is bound to, "" if none.
func BoundTo(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterRef", "name")
	namespace, _, _ := unstructured.NestedString(u.Object, "spec", "clusterRef", "namespace")
	if name == "" {
		return ""
	}
	return ID(cmp.Or(namespace, u.GetNamespace()), name)
}
