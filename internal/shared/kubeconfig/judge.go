package kubeconfig

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Taken says that a kubeconfig has a name for something else.
type Taken struct {
	Path string // the kubeconfig
	Name string
	Why  string // what has the name
	// Same says that it is an earlier cluster of the same full name: another name for the new
	// one would hide that the other is gone.
	Same bool
}

func (t *Taken) Error() string { return t.Why }

// nameState is what a name is in a kubeconfig, from the point of view of one cluster.
type nameState int

const (
	free  nameState = iota // there is nothing of the name
	ours                   // what there is, is the cluster's
	taken                  // something is not
)

// judge says whose a name is. The context, the cluster and the user of it go together.
func (c *Config) judge(name string, a Access) (nameState, *Taken) {
	cluster, user, context := c.api.Clusters[name], c.api.AuthInfos[name], c.api.Contexts[name]
	if cluster == nil && user == nil && context == nil {
		return free, nil
	}
	if why := againstCluster(cluster, c.embeddedCluster(cluster), a); why != "" {
		return taken, &Taken{Path: c.Path, Name: name, Why: why, Same: sameServer(cluster.Server, a.cluster.Server)}
	}
	for _, why := range []string{againstContext(context, name), againstUser(user, c.embeddedUser(user), context, cluster, a)} {
		if why != "" {
			return taken, &Taken{Path: c.Path, Name: name, Why: why}
		}
	}
	return ours, nil
}

// againstCluster says why an entry is another cluster's, "" where it is this one's.
func againstCluster(have, embedded *api.Cluster, a Access) string {
	if have == nil {
		return ""
	}
	if !sameServer(have.Server, a.cluster.Server) {
		return fmt.Sprintf("the cluster there is at %s, and this one at %s", shown(have.Server), a.Server())
	}
	m := markOf(have.Extensions)
	switch is, known := m.whose(a); {
	case known && !is:
		return fmt.Sprintf("the cluster there is an earlier one at %s, with the id %s", shown(have.Server), m.ID)
	case !known && !shareAuthority(embedded, a.cluster):
		return fmt.Sprintf("the cluster there is also at %s, but has other certificates, as one that was installed earlier", shown(have.Server))
	}
	return ""
}

// againstContext says to what else a context leads.
func againstContext(have *api.Context, name string) string {
	if have == nil || have.Cluster == name && have.AuthInfo == name {
		return ""
	}
	return fmt.Sprintf("the context there is of the cluster %q and the user %q", have.Cluster, have.AuthInfo)
}

// againstUser says why an entry belongs to another user. The entry of the cluster's own context may be renewed if it is
// the same person with the same kind of credentials.
func againstUser(have, embedded *api.AuthInfo, context *api.Context, cluster *api.Cluster, a Access) string {
	if have == nil || sameCredentials(embedded, a.user) {
		return ""
	}
	m := markOf(have.Extensions)
	switch is, known := m.whose(a); {
	case is:
		return ""
	case known:
		return fmt.Sprintf("the user there is one of another cluster, with the id %s", m.ID)
	}
	if context != nil && cluster != nil && samePerson(embedded, a.user) {
		return ""
	}
	return "the user there has other credentials"
}

// samePerson reports whether both are let in by nothing but a certificate, of one name.
func samePerson(a, b *api.AuthInfo) bool {
	for _, u := range []*api.AuthInfo{a, b} {
		if u.Token != "" || u.TokenFile != "" || u.Username != "" || u.Exec != nil || u.AuthProvider != nil {
			return false
		}
	}
	one, other := clientCertificate(a), clientCertificate(b)
	return one != nil && other != nil && one.Subject.String() == other.Subject.String()
}

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
