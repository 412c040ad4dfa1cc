package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// HubOptions say how the objects of a cluster are made.
type HubOptions struct {
	// Namespace that they stand in; "" for [NamespaceOf] the cluster.
	Namespace string
	// ImageSet is the ClusterImageSet to refer to; "" for
	// spec.openshift.imageSet, else our own where spec.openshift.releaseImage is
	// given, else the one that is by custom named after the version,
	// openshift-v<version>.
	ImageSet string
	// Hold is AgentClusterInstall.spec.holdInstallation; nil for spec.hold.
	Hold *bool
	// Secrets says that Secrets are made, with their contents. Otherwise they are
	// only referred to.
	Secrets bool
	// Installed says that the cluster is installed, so that InfraEnvs bound to it
	// may name the version of their live system, once they are there: the hub takes
	// it not with their creation.
	Installed bool
	// Later says that the workers of a single node are among its hosts, which a hub
	// takes only once it is installed.
	Later bool
	// InfraEnvs say which hosts boot which image; nil for what
	// install.InfraEnvPlans makes of the file alone.
	InfraEnvs []install.InfraEnvPlan
	// Bound says that the InfraEnv which the hosts boot is bound to the cluster.
	// BareMetalHosts do not name the cluster then: the service refuses those that
	// do. Otherwise one that spec.infraEnv.ref names is taken for a pool.
	Bound bool
}

// HubObjects are the objects of a cluster on a hub.
type HubObjects struct {
	// Namespace is the namespace itself. It has our label only where it is named
	// after the cluster, and so is the cluster's own.
	Namespace *unstructured.Unstructured
	// ImageSet is the ClusterImageSet; nil unless it is made by us.
	ImageSet *unstructured.Unstructured
	// Cluster is, in the order to apply: Secrets, ConfigMaps, AgentClassifications,
	// ClusterDeployment, AgentClusterInstall.
	Cluster []*unstructured.Unstructured
	// InfraEnvs are the discovery images; empty where spec.infraEnv.ref names one
	// that exists.
	InfraEnvs []InfraEnvObjects
	// Hosts are what single hosts need, in the order of their names: only those
	// that need something.
	Hosts []HostObjects
	// Notes are what has to be known of the objects, and what they need that is
	// not among them. Each is one sentence.
	Notes []string
}

// InfraEnvObjects are an InfraEnv and the networks of its hosts, which are to be
// there first, or the image is made twice.
type InfraEnvObjects struct {
	// Name of the InfraEnv.
	Name string
	// NMStateConfigs of its hosts that have a static network, in the order of
	// their names.
	NMStateConfigs []*unstructured.Unstructured
	// InfraEnv itself.
	InfraEnv *unstructured.Unstructured
}

// HostObjects are what a single host needs. An Agent is made by the service, so
// it is none of them.
type HostObjects struct {
	// Name of the host in the file.
	Name string
	// Secrets with the credentials of its BMC, for fencing, and its token for the
	// Ignition endpoint.
	Secrets []*unstructured.Unstructured
	// BareMetalHost, where spec.boot.method is metal3 and the host has a bmc; nil
	// otherwise.
	BareMetalHost *unstructured.Unstructured
}

// Hub makes the objects that describe a cluster to a hub. Whatever the file says
// and a hub has no place for is an error, a *spec.Problems that names each field
// with its place. What oaictl itself acts by (how hosts are recognised, which
// may be installed) needs no place and is not refused.
func Hub(c *spec.Cluster, o HubOptions) (*HubObjects, error) {
	if !o.Later {
		c = c.AtInstall()
	}
	if o.Namespace == "" {
		o.Namespace = NamespaceOf(c)
	}
	if o.InfraEnvs == nil && c.Spec.InfraEnv.Ref == "" {
		plans, err := install.InfraEnvPlans(c, nil)
		if err != nil {
			return nil, fmt.Errorf("plan the InfraEnvs of cluster %s: %w", c.Metadata.Name, err)
		}
		o.InfraEnvs = plans
	}
	h := &hub{
		refusals: refusals{cluster: c}, namespace: o.Namespace, set: o.ImageSet, hold: o.Hold,
		secrets: o.Secrets, installed: o.Installed, bound: o.Bound,
	}
	h.refuseAll()
	out := &HubObjects{Namespace: h.namespaceObject()}
	out.ImageSet = h.imageSet()
	out.Cluster = h.clusterObjects()
	out.InfraEnvs = h.infraEnvs(o.InfraEnvs)
	out.Hosts = h.hosts(o.InfraEnvs)
	if err := h.err(); err != nil {
		return nil, err
	}
	out.Notes = h.notes
	return out, nil
}

// All is every object in the order to apply.
func (o *HubObjects) All() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range []*unstructured.Unstructured{o.Namespace, o.ImageSet} {
		if object != nil {
			all = append(all, object)
		}
	}
	all = append(all, o.Cluster...)
	for _, env := range o.InfraEnvs {
		all = append(append(all, env.NMStateConfigs...), env.InfraEnv)
	}
	for _, host := range o.Hosts {
		all = append(all, host.Secrets...)
		if host.BareMetalHost != nil {
			all = append(all, host.BareMetalHost)
		}
	}
	return all
}

// hub makes objects and collects what cannot be said.
type hub struct {
	refusals
	namespace string // that objects stand in
	set       string // the ClusterImageSet to refer to
	hold      *bool  // AgentClusterInstall.spec.holdInstallation; nil for spec.hold
	secrets   bool   // whether Secrets are made, with their contents
	installed bool   // whether the cluster is
	bound     bool   // whether the InfraEnv that hosts boot is bound to the cluster
	notes     []string
}

func (h *hub) note(format string, args ...any) {
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

// object is an object of the cluster in its namespace.
func (h *hub) object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	return newObject(kind, h.cluster, h.namespace, name)
}

// namespaceObject is the namespace itself.
func (h *hub) namespaceObject() *unstructured.Unstructured {
	namespace := newObject(kindNamespace(), h.cluster, "", h.namespace)
	if h.namespace != NamespaceOf(h.cluster) {
		namespace.SetLabels(nil)
	}
	return namespace
}
