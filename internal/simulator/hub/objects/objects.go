// Package objects is a hub's objects as the simulated operators read and write them.
package objects

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/oaictl/oaictl/internal/hubapi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that the controllers watch or write.
type Kind string

// The kinds.
const (
	KindCluster        Kind = hubapi.KindClusterDeployment
	KindInstall        Kind = hubapi.KindAgentClusterInstall
	KindInfraEnv       Kind = hubapi.KindInfraEnv
	KindNMState        Kind = hubapi.KindNMStateConfig
	KindAgent          Kind = hubapi.KindAgent
	KindClassification Kind = hubapi.KindAgentClassification
	KindImageSet       Kind = hubapi.KindClusterImageSet
	KindBareMetal      Kind = hubapi.KindBareMetalHost
	KindSecret         Kind = hubapi.KindSecret
	KindConfigMap      Kind = hubapi.KindConfigMap
)

// Resource is where a kind is served.
func (k Kind) Resource() schema.GroupVersionResource {
	for _, known := range hubapi.Kinds() {
		if known.Kind == string(k) {
			return known.GroupVersionResource()
		}
	}
	return schema.GroupVersionResource{}
}

// ClusterScoped tells kinds that have no namespace.
func (k Kind) ClusterScoped() bool { return k == KindImageSet }

// Watched lists the kinds that are watched; what is optional may have no definition on the server.
func Watched() []Kind {
	return []Kind{KindCluster, KindInstall, KindInfraEnv, KindNMState, KindAgent, KindClassification, KindImageSet,
		KindBareMetal, KindSecret, KindConfigMap}
}

// Optional tells kinds that the API server may not serve.
func (k Kind) Optional() bool { return k == KindBareMetal || k == KindClassification }

// Object is any object of the API server.
type Object = unstructured.Unstructured

// ToJSON encodes a value; "" where it cannot be encoded.
func ToJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// SameJSON tells whether two texts are the same JSON. What is no JSON is compared as it is.
func SameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return ToJSON(x) == ToJSON(y)
}

// AsPrinted gives an object the form in which the service writes it back. The
// service reads objects into types of its own and writes them whole: what its
// types leave out when it is zero is gone afterwards, even if a client had said
// so on purpose, and what they always print is there.
func AsPrinted(k Kind, o *Object) *Object {
	o = o.DeepCopy()
	spec, found, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil || !found {
		return o
	}
	switch k {
	case KindInstall:
		DropZero(spec)
	case KindCluster:
		if _, said := spec["installed"]; !said {
			spec["installed"] = false
		}
		control, _ := spec["controlPlaneConfig"].(map[string]any)
		if control == nil {
			control = map[string]any{}
		}
		if control["servingCertificates"] == nil {
			control["servingCertificates"] = map[string]any{}
		}
		spec["controlPlaneConfig"] = control
	case KindInfraEnv:
		DropZero(spec)
		if spec["nmStateConfigLabelSelector"] == nil {
			spec["nmStateConfigLabelSelector"] = map[string]any{}
		}
	}
	o.Object["spec"] = spec
	return o
}

// DropZero removes what is zero from a spec; structures stay, and what has a meaning when zero.
func DropZero(fields map[string]any) {
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			if !hasLabels(name) {
				DropZero(v)
			}
		case []any:
			if len(v) == 0 {
				delete(fields, name)
			}
		case nil:
			delete(fields, name)
		default:
			always := []string{"clusterID", "infraID", "userManagedNetworking"} // hive.ClusterMetadata has both of the first
			if reflect.ValueOf(v).IsZero() && !slices.Contains(always, name) {
				delete(fields, name)
			}
		}
	}
}

// hasLabels tells the structures that are labels: one without a value stays.
func hasLabels(name string) bool { return name == "agentLabels" || name == "matchLabels" }

// AddFinalizer tells whether it was not there yet.
func AddFinalizer(o *Object, name string) bool {
	list := o.GetFinalizers()
	if slices.Contains(list, name) {
		return false
	}
	o.SetFinalizers(append(list, name))
	return true
}

// DropFinalizer tells whether it was there.
func DropFinalizer(o *Object, name string) bool {
	list := o.GetFinalizers()
	at := slices.Index(list, name)
	if at < 0 {
		return false
	}
	o.SetFinalizers(slices.Delete(slices.Clone(list), at, at+1))
	return true
}

// SetMark puts a label or annotation into a map, and tells whether that changed it.
func SetMark(marks map[string]string, name, value string) (map[string]string, bool) {
	if old, there := marks[name]; there && old == value {
		return marks, false
	}
	if marks == nil {
		marks = map[string]string{}
	}
	marks[name] = value
	return marks, true
}

// Nested reads a text at a path; "" where there is none.
func Nested(o *Object, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}
