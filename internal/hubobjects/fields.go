package hubobjects

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Fields are the fields of an object: maps, lists ([]any), texts, int64, bools.
type Fields = map[string]any

// NewObject is an object of ours, labelled with its cluster. namespace is "" for
// one that stands in none.
func NewObject(kind string, c *spec.Cluster, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: Fields{}}
	object.SetGroupVersionKind(hubapi.GroupVersionKind(kind))
	object.SetName(name)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	addLabels(object, map[string]string{hubapi.LabelCluster: c.Metadata.Name})
	return object
}

func addLabels(object *unstructured.Unstructured, labels map[string]string) {
	all := object.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	object.SetLabels(all)
}

// Put sets a field that is said.
func Put[T ~string](in Fields, name string, value T) {
	if value != "" {
		in[name] = string(value)
	}
}

// PutAll sets a list that is said; an empty one clears what was there.
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

// ProxyFields is the proxy as both AgentClusterInstall and InfraEnv have it; nil
// where the file says nothing of one.
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

// proxies is a proxy, of which an empty one is said too.
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
				HTTP: spec.ProxyURL(textAt(fields, "httpProxy")), HTTPS: spec.ProxyURL(textAt(fields, "httpsProxy")), No: setting.Commas(textAt(fields, "noProxy")),
			}, err
		},
	}
}

func addAnnotations(object *unstructured.Unstructured, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	all := object.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, annotations)
	object.SetAnnotations(all)
}

func byName(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) }

// SortedHosts are the hosts of the file in the order of their names.
func SortedHosts(c *spec.Cluster) []*spec.Host {
	hosts := make([]*spec.Host, len(c.Spec.Hosts))
	for i := range c.Spec.Hosts {
		hosts[i] = &c.Spec.Hosts[i]
	}
	slices.SortFunc(hosts, func(a, b *spec.Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}

// joined is a list as the service takes it in one text.
func joined(list []string) string { return strings.Join(list, ",") }
