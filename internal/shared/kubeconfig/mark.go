package kubeconfig

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// markName is the extension of entries that were merged. It says for which cluster.
const markName = "oaictl.io/cluster"

// mark names a cluster. The id alone does not: two hubs may have the same one.
type mark struct {
	ID     string `json:"id"`
	Server string `json:"server"`
}

// markOf is the cluster that an entry was merged for, zero where nothing says so.
func markOf(extensions map[string]runtime.Object) mark {
	unknown, is := extensions[markName].(*runtime.Unknown)
	if !is {
		return mark{}
	}
	var m mark
	if json.Unmarshal(unknown.Raw, &m) != nil {
		return mark{}
	}
	return m
}

// whose says whether a mark is that of the cluster of an access; known is false where it
// cannot be said.
func (m mark) whose(a Access) (is, known bool) {
	if m.ID == "" || a.ID == "" {
		return false, false
	}
	return m.ID == a.ID && sameServer(m.Server, a.cluster.Server), true
}

// marked are the extensions of an entry that is merged: those of the entry, then what the
// access brings along, and for which cluster it is.
func marked(have, brought map[string]runtime.Object, a Access) map[string]runtime.Object {
	out := map[string]runtime.Object{}
	maps.Copy(out, have)
	maps.Copy(out, brought)
	if a.ID != "" {
		raw, err := json.Marshal(mark{ID: a.ID, Server: a.cluster.Server})
		if err == nil {
			out[markName] = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
