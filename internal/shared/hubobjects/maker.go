// Package hubobjects makes each object of a hub from a cluster.yaml, and reads it again. Each kind of object has one
// table (such as [InstallTable]) that says which fields hold which setting. The plane of a hub applies and reads objects by
// these tables, render writes files by them, and the formats that consist of such objects convert by them.
package hubobjects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
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
	// Labels and Annotations are put on every object in the namespace, beside our own.
	Labels, Annotations map[string]string
}

func (h *Maker) addNote(format string, args ...any) {
	h.Notes = append(h.Notes, fmt.Sprintf(format, args...))
}

// Object is an object of the cluster in its namespace.
func (h *Maker) Object(kind, name string) *unstructured.Unstructured {
	object := NewObject(kind, h.Cluster, h.Namespace, name)
	mark(object.Object, "annotations", h.Annotations)
	for key, value := range h.Labels {
		if key != hubapi.LabelCluster { // by which the object is found again
			mark(object.Object, "labels", map[string]string{key: value})
		}
	}
	return object
}

// NamespaceObject is the namespace itself.
func (h *Maker) NamespaceObject() *unstructured.Unstructured {
	namespace := NewObject(hubapi.KindNamespace, h.Cluster, "", h.Namespace)
	if h.Namespace != h.Cluster.HubNamespace() {
		namespace.SetLabels(nil)
	}
	return namespace
}

// Refusals collects what a format has no field for, each with its line in the file.
type Refusals struct {
	Cluster *spec.Cluster
	List    []spec.Problem
}

// Refuse records that a field cannot be expressed, and what to do about it.
func (r *Refusals) Refuse(field, message, remedy string) {
	r.List = append(r.List, r.Cluster.Problem(field, message, remedy))
}

// RefuseHost records that a field of a host cannot be expressed.
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

// PullSecretName is the Secret with the pull secret: the one referred to, else ours.
func PullSecretName(c *spec.Cluster) string {
	return named(c.Spec.PullSecret.SecretRef, c.Metadata.Name+"-pull-secret")
}

// DiscoverySecretName is the Secret with the pull secret of the InfraEnv that a host has to
// itself: the one referred to, else ours; "" for a host that says none.
func DiscoverySecretName(c *spec.Cluster, h *spec.Host) string {
	if h.Discovery == nil || h.Discovery.PullSecret.IsZero() {
		return ""
	}
	return named(h.Discovery.PullSecret.SecretRef, c.Metadata.Name+"-"+h.Name+"-pull-secret")
}

func named(ref *spec.SecretRef, own string) string {
	if ref != nil {
		return ref.Name
	}
	return own
}

// NMStateConfigName is the name of the NMStateConfig of a host.
func NMStateConfigName(c *spec.Cluster, host string) string { return c.Metadata.Name + "-" + host }

// BMCSecretName is the Secret with a BMC's credentials: the one referred to, else ours.
func BMCSecretName(c *spec.Cluster, h *spec.Host) string {
	return named(h.BMC.Credentials.SecretRef, c.Metadata.Name+"-"+h.Name+"-bmc")
}

// FencingSecretName is the name of the Secret by which a host is powered off by
// its peer, for Agent.spec.fencingCredentialsSecretRef; "" for a host without
// fencing. It has the keys address, username, password and
// certificateVerification.
func FencingSecretName(c *spec.Cluster, h *spec.Host) string {
	if h.Fencing == nil {
		return ""
	}
	return named(h.Fencing.Credentials.SecretRef, c.Metadata.Name+"-"+h.Name+"-fencing")
}

// TokenSecretName is the name of the Secret with the token that a host shows to
// the Ignition endpoint, for Agent.spec.ignitionEndpointTokenReference; "" for a
// host without one. It has the key ignition-token.
func TokenSecretName(c *spec.Cluster, h *spec.Host) string {
	if h.IgnitionEndpoint == nil || h.IgnitionEndpoint.Token.IsZero() {
		return ""
	}
	return named(h.IgnitionEndpoint.Token.SecretRef, c.Metadata.Name+"-"+h.Name+"-ignition-token")
}

// Fields are the fields of an object: maps, lists ([]any), texts, int64, bools.
type Fields = map[string]any

// NewObject is an object of ours; namespace is "" for one that is in none.
func NewObject(kind string, c *spec.Cluster, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: Fields{}}
	object.SetGroupVersionKind(hubapi.GroupVersionKind(kind))
	object.SetName(name)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	mark(object.Object, "labels", map[string]string{hubapi.LabelCluster: c.Metadata.Name})
	return object
}

// mark sets labels or annotations, beside those that are there.
func mark(object Fields, kind string, texts map[string]string) {
	for name, text := range texts {
		_ = unstructured.SetNestedField(object, text, "metadata", kind, name) // both are maps
	}
}

// Put sets a field if it has a value.
func Put[T ~string](in Fields, name string, value T) {
	if value != "" {
		in[name] = string(value)
	}
}

// PutAll sets a list if it is not nil; an empty one clears what was there.
func PutAll(in Fields, name string, list []string) {
	if list != nil {
		in[name] = AnyList(list)
	}
}

// AnyList is texts as a field of an object holds them.
func AnyList(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// AnyMap is texts by their keys as a field of an object holds them.
func AnyMap(texts map[string]string) Fields {
	out := make(Fields, len(texts))
	for key, text := range texts {
		out[key] = text
	}
	return out
}

// ListOf are one-field objects, such as [{cidr: 10.0.0.0/16}].
func ListOf(name string, values []string) []any {
	out := make([]any, len(values))
	for i, value := range values {
		out[i] = Fields{name: value}
	}
	return out
}

// ProxyFields is a proxy in the fields of a hub; nil where the file says nothing of one.
func ProxyFields(proxy spec.Proxy) Fields {
	if proxy.HTTP == "" && proxy.HTTPS == "" && proxy.No == nil {
		return nil
	}
	out := Fields{}
	Put(out, "httpProxy", proxy.HTTP.Reveal())
	Put(out, "httpsProxy", proxy.HTTPS.Reveal())
	Put(out, "noProxy", joined(proxy.No))
	if len(out) == 0 {
		// Of an object that loses all its fields an API server makes null, and refuses that.
		out["noProxy"] = ""
	}
	return out
}

// proxies is a proxy; an empty one is written, too.
func proxies() form[spec.Proxy] {
	return form[spec.Proxy]{
		write: func(proxy spec.Proxy) any {
			if proxy.No == nil {
				proxy.No = []string{}
			}
			return ProxyFields(proxy)
		},
		read: func(content any) (spec.Proxy, error) {
			fields, err := as[Fields](content)
			return spec.Proxy{
				HTTP: spec.ProxyURL(textAt(fields, "httpProxy")), HTTPS: spec.ProxyURL(textAt(fields, "httpsProxy")),
				No: clustersettings.Commas(textAt(fields, "noProxy")),
			}, err
		},
	}
}

// SortedHosts are the hosts of the file in the order of their names.
func SortedHosts(c *spec.Cluster) []*spec.Host {
	hosts := make([]*spec.Host, len(c.Spec.Hosts))
	for i := range c.Spec.Hosts {
		hosts[i] = &c.Spec.Hosts[i]
	}
	slices.SortFunc(hosts, func(a, b *spec.Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}

func joined(list []string) string { return strings.Join(list, ",") }
