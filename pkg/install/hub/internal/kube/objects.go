package kube

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
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

// InstallOf is the AgentClusterInstall that a ClusterDeployment refers to, or nil.
func (at *Namespace) InstallOf(deployment *unstructured.Unstructured) *unstructured.Unstructured {
	group, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterInstallRef", "group")
	name, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterInstallRef", "name")
	if name == "" || group != hubapi.GroupHiveExtension {
		return nil
	}
	return at.Store(AgentClusterInstalls).Get(name)
}

// DebugOf is what the service says of a cluster; empty before it has reconciled it.
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

// BoundTo is the id of the cluster that an InfraEnv or an Agent is bound to, "" if none.
func BoundTo(u *unstructured.Unstructured) string {
	return cmp.Or(referred(u, "clusterRef"), referred(u, "clusterDeploymentName"))
}

// referred is the id that a reference in an object's spec names, "" if it has none.
func referred(u *unstructured.Unstructured, field string) string {
	name, _, _ := unstructured.NestedString(u.Object, "spec", field, "name")
	namespace, _, _ := unstructured.NestedString(u.Object, "spec", field, "namespace")
	if name == "" {
		return ""
	}
	return ID(cmp.Or(namespace, u.GetNamespace()), name)
}

// InfraEnvOf is the id of the InfraEnv that an Agent registered in.
func InfraEnvOf(agent *unstructured.Unstructured) string {
	return ID(agent.GetNamespace(), Label(agent, hubapi.LabelAgentInfraEnv))
}

// Label is the value of an object's label, "" without it. Unlike GetLabels it copies nothing: it is asked for of each
// object of a namespace.
func Label(u *unstructured.Unstructured, key string) string {
	value, _, _ := unstructured.NestedString(u.Object, "metadata", "labels", key)
	return value
}

// ClusterOf is the id of the cluster that an object of its namespace belongs to, "" where it
// belongs to none, or may belong to several.
func ClusterOf(u *unstructured.Unstructured) string {
	switch Kind(u.GetKind()) {
	case ClusterDeployments: // further ones of the same name are reported
		return ""
	case AgentClusterInstalls:
		return referred(u, "clusterDeploymentRef")
	case Agents, InfraEnvs:
		return BoundTo(u)
	case BareMetalHosts: // Cluster API's provider notes the Cluster that has taken one
		if name := Label(u, labelClusterAPI); name != "" {
			return ID(u.GetNamespace(), name)
		}
	}
	if name := Label(u, hubapi.LabelCluster); name != "" {
		return ID(u.GetNamespace(), name)
	}
	return ""
}

// ImageSetOf is the name of the ClusterImageSet that an AgentClusterInstall refers to.
func ImageSetOf(made *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(made.Object, "spec", "imageSetRef", "name")
	return name
}

// labelClusterAPI is Cluster API's, with the name of a Cluster.
const labelClusterAPI = "cluster.x-k8s.io/cluster-name"

// Kind is a kind of object that is read or written, by its name in an object.
type Kind string

// The kinds of a hub. Of the ConfigMaps only those of oaictl are read.
const (
	Namespaces           Kind = hubapi.KindNamespace
	Secrets              Kind = hubapi.KindSecret
	ConfigMaps           Kind = hubapi.KindConfigMap
	ClusterDeployments   Kind = hubapi.KindClusterDeployment
	ClusterImageSets     Kind = hubapi.KindClusterImageSet
	AgentClusterInstalls Kind = hubapi.KindAgentClusterInstall
	InfraEnvs            Kind = hubapi.KindInfraEnv
	NMStateConfigs       Kind = hubapi.KindNMStateConfig
	Agents               Kind = hubapi.KindAgent
	AgentClassifications Kind = hubapi.KindAgentClassification
	BareMetalHosts       Kind = hubapi.KindBareMetalHost

	// PreprovisioningImages are read one by one, where a machine waits for its image.
	PreprovisioningImages Kind = hubapi.KindPreprovisioningImage
)

// Resource is the kind as the API server serves it.
func (k Kind) Resource() schema.GroupVersionResource { return hubapi.Resource(string(k)) }

// Selector is the label that objects have to carry to be watched, "" for none.
func (k Kind) Selector() string {
	if k == ConfigMaps {
		return hubapi.LabelCluster
	}
	return ""
}

// Required are the kinds without which a hub installs nothing.
func Required() []Kind {
	return []Kind{ClusterDeployments, ClusterImageSets, AgentClusterInstalls, InfraEnvs, NMStateConfigs, Agents}
}

// Watched are the kinds that are watched in a cluster's namespace, if the hub has them.
func Watched() []Kind {
	return []Kind{ClusterDeployments, AgentClusterInstalls, InfraEnvs, NMStateConfigs, Agents, ConfigMaps, BareMetalHosts,
		AgentClassifications}
}

// OfHosts are those of them that are watched in another namespace, which a cluster has hosts from.
func OfHosts() []Kind { return []Kind{InfraEnvs, NMStateConfigs, Agents, BareMetalHosts} }

// Known are all kinds that are read or written.
func Known() []Kind {
	return append(Required(), Namespaces, Secrets, ConfigMaps, BareMetalHosts, AgentClassifications)
}

// KindOf finds the kind of an object that is to be written.
func KindOf(name string) (Kind, error) {
	if !slices.Contains(Known(), Kind(name)) {
		return "", fmt.Errorf("no %s is ever written", name)
	}
	return Kind(name), nil
}

// ClusterWide says whether objects of the kind stand in no namespace.
func (k Kind) ClusterWide() bool { return k == Namespaces || k == ClusterImageSets }

// adoptable says whether objects of the kind go with a cluster that is taken over.
func (k Kind) adoptable() bool {
	return slices.Contains([]Kind{ClusterDeployments, AgentClusterInstalls, ConfigMaps, Secrets}, k)
}

// DeletingFault is the fault for an object that is on its way out.
func DeletingFault(u *unstructured.Unstructured) *model.Fault {
	what, next := "its "+u.GetKind(),
		model.Advice("wait until it is gone, then run the same command again; a finalizer that stays is that of a controller that is down")
	switch u.GetKind() {
	case hubapi.KindNamespace:
		what = "it"
	case hubapi.KindClusterDeployment:
		next = model.Command("delete cluster", ID(u.GetNamespace(), u.GetName())) + ", which goes on with it, and tells what it waits for"
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "observe cluster", On: ID(u.GetNamespace(), u.GetName()),
		Err:  fmt.Errorf("%s %w since %s%s", what, install.ErrDeleting, u.GetDeletionTimestamp().UTC().Format("15:04:05"), holders(u)),
		Next: next,
	}
}

// holders says what holds an object that is being deleted; a namespace tells of its content.
func holders(u *unstructured.Unstructured) string {
	if u.GetKind() != hubapi.KindNamespace {
		return HeldBy(u, " (of %s)")
	}
	var texts []string
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["status"] != string(metav1.ConditionTrue) {
			continue
		}
		if message, _ := fields["message"].(string); message != "" {
			texts = append(texts, strings.TrimSuffix(message, "."))
		}
	}
	finalizers, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers")
	for _, finalizer := range append(finalizers, u.GetFinalizers()...) {
		if finalizer != "kubernetes" { // that of the namespace controller, which goes by the content
			texts = append(texts, "the finalizer "+finalizer)
		}
	}
	if len(texts) == 0 {
		return "; its content is not gone yet"
	}
	return ": " + strings.Join(texts, "; ")
}

// HeldBy says what holds an object that is to go.
func HeldBy(u *unstructured.Unstructured, whose string) string {
	if u.GetDeletionTimestamp() == nil && len(u.GetOwnerReferences()) > 0 {
		return ", which goes with what owns it"
	}
	text := ""
	for _, finalizer := range u.GetFinalizers() {
		text += ", held by the finalizer " + finalizer + fmt.Sprintf(whose, finalizerOwner(finalizer))
	}
	if text == "" {
		return ", held by nothing: the garbage collector of the hub is behind"
	}
	return text + cleanupMessage(u)
}

func cleanupMessage(u *unstructured.Unstructured) string {
	if u.GetKind() != hubapi.KindAgent {
		return ""
	}
	agent, err := Read[agentinstall.Agent](u)
	if err != nil {
		return ""
	}
	c := hubapi.FindCondition(agent.Status.Conditions, hubapi.ConditionCleanup)
	if c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
		return ", whose node can't be taken out of its cluster: " + Shorten(redact.Text(c.Message))
	}
	return ""
}

// finalizerOwner is whose a finalizer is, and so what is down where it stays.
func finalizerOwner(finalizer string) string {
	switch {
	case finalizer == hubapi.FinalizerBMAC:
		return "the bare-metal-agent controller of the assisted-service, or the bare metal operator that it waits for,"
	case strings.HasPrefix(finalizer, hubapi.GroupHive+"/"):
		return "Hive's operator"
	case strings.Contains(finalizer, hubapi.GroupAgentInstall):
		return "the assisted-service"
	case strings.Contains(finalizer, hubapi.GroupMetal3):
		return "the bare metal operator"
	case finalizer == metav1.FinalizerDeleteDependents, finalizer == metav1.FinalizerOrphanDependents:
		return "the garbage collector of the hub"
	}
	return "its owner"
}
