package kubeconfig

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Renewed is what became of the entries of a cluster whose access was renewed.
type Renewed struct {
	// Contexts are those that use an entry that was renewed.
	Contexts []string
	// Text is the kubeconfig now, nil where it is as it was.
	Text []byte
}

// Renew gives the entries that have the old access the new one: the user with the old credentials, and the cluster that
// trusts the same authority as the old one, under any name. What was merged for the cluster is renewed if it is older,
// or does not reach the cluster any more. A user with other credentials for the same cluster is left alone.
func (c *Config) Renew(old, now Access) (Renewed, error) {
	want := c.api.DeepCopy()
	var touched []entry
	merged := func(extensions map[string]runtime.Object) bool {
		is, _ := markOf(extensions).whose(now)
		return is
	}
	for name, have := range c.api.AuthInfos {
		embedded := c.embeddedUser(have)
		if !sameCredentials(embedded, old.user) && !(merged(have.Extensions) && endsBefore(embedded, now.user)) {
			continue
		}
		if user := userOver(have, embedded, now); user != nil {
			want.AuthInfos[name], touched = user, append(touched, entry{list: usersList, name: name})
		}
	}
	for name, have := range c.api.Clusters {
		embedded := c.embeddedCluster(have)
		is := sameServer(have.Server, old.cluster.Server) && sameAuthorities(embedded, old.cluster)
		leads := sameServer(have.Server, now.cluster.Server) && shareAuthority(embedded, now.cluster)
		if !is && (leads || !merged(have.Extensions)) {
			continue
		}
		if cluster := clusterOver(have, embedded, now); cluster != nil {
			want.Clusters[name], touched = cluster, append(touched, entry{list: clustersList, name: name})
		}
	}
	if len(touched) == 0 {
		return Renewed{}, nil
	}
	text, err := c.rewritten(want, touched)
	return Renewed{Contexts: c.contextsOf(touched), Text: text}, err
}

// endsBefore reports whether the client certificate of the one ends before that of the other.
func endsBefore(one, other *api.AuthInfo) bool {
	a, b := clientCertificate(one), clientCertificate(other)
	return a != nil && b != nil && a.NotAfter.Before(b.NotAfter)
}

// contextsOf are the contexts that use one of the entries.
func (c *Config) contextsOf(entries []entry) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.api.Contexts)) {
		context := c.api.Contexts[name]
		if slices.Contains(entries, entry{list: usersList, name: context.AuthInfo}) || slices.Contains(entries, entry{list: clustersList, name: context.Cluster}) {
			all = append(all, name)
		}
	}
	return all
}
