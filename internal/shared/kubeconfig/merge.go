package kubeconfig

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Wish is how an access is to be merged.
type Wish struct {
	// Names are what its context, cluster and user may be called: by the first one that is
	// the cluster's already, else by the first one that is free.
	Names []string
	// Overwrite takes the first name, also if the file has it for something else.
	Overwrite bool
	// Use makes its context the current one.
	Use bool
}

// Done is what became of an entry.
type Done string

// What becomes of an entry.
const (
	Added       Done = "added"
	Refreshed   Done = "refreshed"
	Overwritten Done = "overwritten"
	Unchanged   Done = "unchanged"
)

// Merged is what became of an access that was merged.
type Merged struct {
	Name string // of its context, cluster and user
	Done Done
	// Text is the kubeconfig now, nil where it is as it was.
	Text []byte
	// Before is the current context as it was.
	Before  string
	Current string
	// Others are further contexts that use what was overwritten.
	Others []string
	// Newer is when the client certificate ends that was there and stays, since it ends after
	// the one that was to be merged; zero where it does not.
	Newer time.Time
}

// Place is which of several kubeconfigs an access belongs into, as kubectl reads them: the
// one that has it, else the one at index otherwise.
func Place(files []*Config, a Access, wish Wish, otherwise int) int {
	for _, name := range wish.names() {
		for i, file := range files {
			is, _ := file.judge(name, a)
			if is == ours {
				return i
			}
			if is == taken { // and so hides what later files have
				break
			}
		}
	}
	return otherwise
}

func (w Wish) names() []string {
	if w.Overwrite {
		return w.Names[:1]
	}
	return w.Names
}

// Merge puts an access into a kubeconfig. others are kubeconfigs that are read beside it:
// what they call something else is no name for it. The error is a *Taken where no name is
// left.
func (c *Config) Merge(others []*Config, a Access, wish Wish) (Merged, error) {
	out := Merged{Before: c.Current(), Current: c.Current()}
	name, is, err := c.choose(others, a, wish)
	if err != nil {
		return out, err
	}
	out.Name = name
	want := c.api.DeepCopy()
	if is == ours && !wish.Overwrite {
		out.Newer = c.newer(name, a)
	}
	touched := c.lay(want, name, a, is, !out.Newer.IsZero())
	switch {
	case is == taken:
		out.Done, out.Others = Overwritten, c.alsoUsing(name)
	case is == free:
		out.Done = Added
	case len(touched) > 0:
		out.Done = Refreshed
	default:
		out.Done = Unchanged
	}
	if wish.Use {
		want.CurrentContext, out.Current = name, name
	}
	if len(touched) > 0 || out.Current != out.Before {
		out.Text, err = c.rewritten(want, touched)
	}
	return out, err
}

// Use is the kubeconfig with another current context, nil where that is it already.
func (c *Config) Use(name string) ([]byte, error) {
	if c.Current() == name {
		return nil, nil
	}
	want := c.api.DeepCopy()
	want.CurrentContext = name
	return c.rewritten(want, nil)
}

// choose finds the name to merge under, and what stands there now.
func (c *Config) choose(others []*Config, a Access, wish Wish) (string, nameState, error) {
	if wish.Overwrite {
		is, _ := c.judge(wish.Names[0], a)
		return wish.Names[0], is, nil
	}
	for _, name := range wish.Names {
		if is, _ := c.judge(name, a); is == ours {
			return name, is, nil
		}
	}
	var first *Taken
	for _, name := range wish.Names {
		why := c.takenAnywhere(others, name, a)
		if why == nil {
			return name, free, nil
		}
		if first == nil {
			first = why
		}
		if why.Same {
			break
		}
	}
	return "", taken, first
}

// takenAnywhere says what has a name in one of several kubeconfigs, nil for nothing.
func (c *Config) takenAnywhere(others []*Config, name string, a Access) *Taken {
	for _, file := range append([]*Config{c}, others...) {
		if _, why := file.judge(name, a); why != nil {
			return why
		}
	}
	return nil
}

// newer is when the client certificate of a user ends, zero where that is not after the one
// of an access.
func (c *Config) newer(name string, a Access) time.Time {
	have := c.embeddedUser(c.api.AuthInfos[name])
	if have == nil || !endsBefore(a.user, have) {
		return time.Time{}
	}
	return clientCertificate(have).NotAfter
}

// lay puts an access over the entries of a name, or with missing only beside them, and says
// which it changed.
func (c *Config) lay(want *api.Config, name string, a Access, is nameState, missing bool) []entry {
	cluster, user, context := want.Clusters[name], want.AuthInfos[name], want.Contexts[name]
	if is == taken {
		cluster, user, context = nil, nil, nil
	}
	var touched []entry
	if now := clusterOver(cluster, c.embeddedCluster(cluster), a); now != nil && (cluster == nil || !missing) {
		want.Clusters[name], touched = now, append(touched, entry{clustersList, name, is == taken})
	}
	if now := userOver(user, c.embeddedUser(user), a); now != nil && (user == nil || !missing) {
		want.AuthInfos[name], touched = now, append(touched, entry{usersList, name, is == taken})
	}
	if context == nil {
		now := a.context.DeepCopy()
		now.Cluster, now.AuthInfo, now.Extensions = name, name, marked(nil, now.Extensions, a)
		want.Contexts[name], touched = now, append(touched, entry{contextsList, name, is == taken})
	}
	return touched
}

func (c *Config) embeddedCluster(have *api.Cluster) *api.Cluster {
	if have == nil {
		return nil
	}
	out := have.DeepCopy()
	_ = c.embed(out, &api.AuthInfo{}) // what cannot be read is like nothing
	return out
}

func (c *Config) embeddedUser(have *api.AuthInfo) *api.AuthInfo {
	if have == nil {
		return nil
	}
	out := have.DeepCopy()
	_ = c.embed(&api.Cluster{}, out) // what cannot be read is like nothing
	return out
}

// clusterOver is the cluster of an access, with what a person gave the entry of before: how
// it is reached from here. It is nil where the entry says the same already.
func clusterOver(have, embedded *api.Cluster, a Access) *api.Cluster {
	now := a.cluster.DeepCopy()
	now.LocationOfOrigin = ""
	if have == nil {
		now.Extensions = marked(nil, now.Extensions, a)
		return now
	}
	if now.TLSServerName == "" {
		now.TLSServerName = have.TLSServerName
	}
	if now.ProxyURL == "" {
		now.ProxyURL = have.ProxyURL
	}
	now.DisableCompression = now.DisableCompression || have.DisableCompression
	if sameServer(have.Server, now.Server) && sameAuthorities(embedded, now) && have.InsecureSkipTLSVerify == now.InsecureSkipTLSVerify &&
		have.TLSServerName == now.TLSServerName && have.ProxyURL == now.ProxyURL && have.DisableCompression == now.DisableCompression {
		return nil
	}
	now.Extensions = marked(have.Extensions, now.Extensions, a)
	return now
}

// userOver is the user of an access, with what a person has added to the entry before: the user to impersonate. It is
// nil if the entry is the same already.
func userOver(have, embedded *api.AuthInfo, a Access) *api.AuthInfo {
	now := a.user.DeepCopy()
	now.LocationOfOrigin = ""
	if have == nil {
		now.Extensions = marked(nil, now.Extensions, a)
		return now
	}
	if sameCredentials(embedded, now) {
		return nil
	}
	if now.Impersonate == "" {
		now.Impersonate, now.ImpersonateUID = have.Impersonate, have.ImpersonateUID
		now.ImpersonateGroups, now.ImpersonateUserExtra = have.ImpersonateGroups, have.ImpersonateUserExtra
	}
	now.Extensions = marked(have.Extensions, now.Extensions, a)
	return now
}

// alsoUsing are the contexts, but for that of the name itself, that use its cluster or user.
func (c *Config) alsoUsing(name string) []string {
	var all []string
	for _, other := range slices.Sorted(maps.Keys(c.api.Contexts)) {
		if context := c.api.Contexts[other]; other != name && (context.Cluster == name || context.AuthInfo == name) {
			all = append(all, other)
		}
	}
	return all
}

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
		if slices.Contains(entries, entry{list: usersList, name: context.AuthInfo}) ||
			slices.Contains(entries, entry{list: clustersList, name: context.Cluster}) {
			all = append(all, name)
		}
	}
	return all
}
