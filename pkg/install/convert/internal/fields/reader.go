// Package fields has the table of the fields of cluster.yaml (table.go). A row says where each document of a format has the
// field, and how it is read and written there. The package also carries over what several formats write in the same way:
// hosts and their networks, BMCs, pools of machines, proxies, mirrors, certificates, extra manifests.
package fields

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Reader carries settings over.
type Reader struct {
	*input.Account
	AgentBased  bool       // whether the input is the agent-based installer's, which has no namespaces
	BareRedfish bool       // whether a BMC's address without a scheme means Redfish
	ArchByRole  []RoleArch // architectures of machines, by their role

	ovn      *input.Node            // networking.ovnKubernetesConfig of an install-config
	policies map[string]*input.Node // what sources of mirrors say of themselves, other than the default
}

// RoleArch is the architecture of all machines of a role.
type RoleArch struct {
	Role spec.Role
	Arch spec.Arch
}

// Pool is a pool of machines of install-config.yaml.
type Pool struct {
	N    *input.Node
	Role spec.Role
	Name string
	To   **int
	Must bool // whether a pool that is not there means three machines
}

// GiveArches gives hosts the architecture of their role.
func (r *Reader) GiveArches() {
	for _, by := range r.ArchByRole {
		for i := range r.Cluster.Spec.Hosts {
			if h := r.Host(i); h.Role == by.Role && h.Arch == "" {
				h.Arch = by.Arch
			}
		}
	}
}

// Hyperthreading carries over which roles use it. A pool that does not say uses it.
func (r *Reader) Hyperthreading(pools []Pool) {
	said, arbiters, on := false, false, spec.RoleSet{}
	for _, p := range pools {
		n := p.N.Get("hyperthreading")
		if r.HasHyperthreading(n, true) {
			on = append(on, string(p.Role))
		}
		said = said || n != nil
		arbiters = arbiters || p.Role == spec.Arbiter && p.N != nil
	}
	if said {
		r.Cluster.Spec.Hyperthreading = r.NamedRoles(on, arbiters)
	}
}

// HasHyperthreading says whether a pool uses it, which unsaid says of one that does not.
func (r *Reader) HasHyperthreading(n *input.Node, unsaid bool) bool {
	r.From("spec.hyperthreading", n)
	switch word := r.Text(n); word {
	case "":
		return unsaid
	case "Enabled", "Disabled":
		return word == "Enabled"
	default:
		r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write Enabled or Disabled")
		return true
	}
}

// NamedRoles is a set of roles, all of them by their one word. A cluster without arbiters may
// have a pool of them.
func (r *Reader) NamedRoles(roles spec.RoleSet, arbiters bool) spec.RoleSet {
	all := []string{string(spec.ControlPlane), string(spec.Worker)}
	if arbiters || r.Cluster.ArbiterCount() > 0 {
		all = append(all, string(spec.Arbiter))
	}
	if len(slices.DeleteFunc(all, func(role string) bool { return slices.Contains(roles, role) })) == 0 {
		return spec.RoleSet{spec.AllRoles}
	}
	if r.Cluster.Spec.Topology.Arbiters == nil {
		roles = slices.DeleteFunc(roles, func(role string) bool { return role == string(spec.Arbiter) })
	}
	if len(roles) == 0 {
		roles = spec.RoleSet{spec.NoRoles}
	}
	return roles
}

// OneWord is the first of some keys; the others are words for the same.
func (r *Reader) OneWord(n *input.Node, keys ...string) *input.Node {
	chosen := input.First(n, keys...)
	for _, key := range keys {
		other := n.Get(key)
		if other == nil || other == chosen {
			continue
		}
		if reflect.DeepEqual(other.Plain(), chosen.Plain()) {
			r.Means(other, "says what "+chosen.Key+" does")
		}
		r.Lose(other, "is another word for "+chosen.Key+", which is taken")
	}
	return chosen
}

// Namespace is what objects stand in, which cluster.yaml does not say.
func (r *Reader) Namespace(n *input.Node) {
	if n == nil {
		return
	}
	if n.Kind == input.TextNode && n.Text == r.Cluster.HubNamespace() {
		r.Means(n, "is where oaictl puts the objects of this cluster anyway")
		return
	}
	if r.AgentBased {
		r.Means(n, "the agent-based installer uses no namespace")
		return
	}
	r.Lose(n, "cluster.yaml names no namespace: ask for it when objects are rendered or applied")
}

// SSHKeys carries public keys over, one a line.
func (r *Reader) SSHKeys(n *input.Node) {
	if n == nil {
		return
	}
	var keys []spec.PublicSource
	for line := range strings.Lines(n.Peek()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, spec.PublicSource{Inline: line})
		}
	}
	if strings.Contains(n.Peek(), "PRIVATE KEY") {
		r.Wrong(n, "is a private key", "give the public one; its file ends in .pub")
		return
	}
	if have := &r.Cluster.Spec.SSHKeys; len(keys) > 0 || *have != nil {
		input.Carry(r.Account, "spec.sshKeys", have, n, keys)
	}
	r.Text(n)
}

// TrustBundle carries certificates over.
func (r *Reader) TrustBundle(n *input.Node) {
	if n == nil {
		return
	}
	text := strings.TrimSpace(n.Peek())
	have := &r.Cluster.Spec.Registry.TrustBundle
	switch {
	case *have != nil && strings.TrimSpace((*have).Inline) != text:
		r.Second("spec.registry.trustBundle", n)
		return
	case strings.Contains(text, "PRIVATE KEY"):
		r.Wrong(n, "holds a private key", "give certificates only")
		return
	}
	r.Text(n)
	if text != "" {
		*have = &spec.PublicSource{Inline: text + "\n"}
		r.From("spec.registry.trustBundle", n)
	}
}

// Tang carries Tang servers over.
func (r *Reader) Tang(n *input.Node) {
	for i, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		field := fmt.Sprintf("spec.diskEncryption.tang[%d]", i)
		r.From(field, item)
		var server spec.TangServer
		r.SetIn(field+".url", &server.URL, input.First(item, "url", "URL"))
		r.SetIn(field+".thumbprint", &server.Thumbprint, item.Get("thumbprint"))
		r.Cluster.Spec.DiskEncryption.Tang = append(r.Cluster.Spec.DiskEncryption.Tang, server)
	}
}

// Mirrors carries the mirrors of an install-config over.
func (r *Reader) Mirrors(n *input.Node) {
	for _, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		if item.Get("mirrors") == nil {
			r.Lose(item, "names no mirror")
			continue
		}
		r.Mirror(item.Get("source"), item.Get("mirrors"), false)
		r.sourcePolicy(item.Get("source").Peek(), item.Get("sourcePolicy"))
	}
}

// Mirror carries over one mirrored source; several entries of one become one.
func (r *Reader) Mirror(source, targets *input.Node, insecure bool) {
	list := &r.Cluster.Spec.Registry.Mirrors
	name, places := r.Text(source), r.Texts(targets)
	i := slices.IndexFunc(*list, func(m spec.Mirror) bool { return m.Source == name })
	if i < 0 {
		i = len(*list)
		*list = append(*list, spec.Mirror{Source: name})
		r.From(fmt.Sprintf("spec.registry.mirrors[%d]", i), source)
		r.From(fmt.Sprintf("spec.registry.mirrors[%d].source", i), source)
		r.From(fmt.Sprintf("spec.registry.mirrors[%d].mirrors", i), targets)
	}
	m := &(*list)[i]
	for _, place := range places {
		if !slices.Contains(m.Mirrors, place) {
			m.Mirrors = append(m.Mirrors, place)
		}
	}
	m.Insecure = m.Insecure || insecure
}

// DiscoveryIgnition carries over what is merged into the live image's Ignition.
func (r *Reader) DiscoveryIgnition(n *input.Node) {
	const field = "spec.discovery.ignition"
	if n = r.EmbedText(n); n == nil {
		return
	}
	d := &r.Cluster.Spec.Discovery
	if d.Ignition != nil {
		if r.SameDocument(d.Ignition, n) {
			n.Take()
		} else {
			r.Second(field, n)
		}
		return
	}
	d.Ignition = r.Document(field, n)
}

// KernelArguments carries over what is appended; nothing of the image's own is removed.
func (r *Reader) KernelArguments(n *input.Node) {
	if n == nil {
		return
	}
	const field = "spec.discovery.kernelArgs"
	list, lines := []string{}, []*input.Node{}
	for _, item := range r.ListOf(n) {
		operation, value := item.Get("operation"), item.Get("value")
		if operation.Peek() != "append" {
			r.Lose(item, "oaictl only appends kernel arguments")
			continue
		}
		r.Text(operation)
		list, lines = append(list, r.Text(value)), append(lines, value)
	}
	to := &r.Cluster.Spec.Discovery.KernelArgs
	if *to != nil {
		if !slices.Equal(*to, list) {
			r.LoseAs(n, n.Plain(), "is another list than that of the first InfraEnv: cluster.yaml has one for all")
		}
		return
	}
	*to = list
	for i, line := range lines {
		r.From(fmt.Sprintf("%s[%d]", field, i), line)
	}
	r.From(field, n)
}

// ImageType carries over whether images are full or minimal.
func (r *Reader) ImageType(n *input.Node) {
	input.Carry(r.Account, "spec.boot.image", &r.Cluster.Spec.Boot.Image, n, clustersettings.CanonicalWord[spec.ImageType](n.Peek()))
}

// NetworkDelay carries over how long machines wait for their networks, in seconds.
func (r *Reader) NetworkDelay(n *input.Node) {
	seconds := r.Number(n)
	if seconds == nil {
		return
	}
	const field = "spec.discovery.networkDelay"
	delay := spec.Duration(time.Duration(*seconds) * time.Second)
	to := &r.Cluster.Spec.Discovery.NetworkDelay
	switch {
	case *seconds < 0:
		r.Wrong(n, "is negative", "")
	case *to != 0 && *to != delay:
		n.Taken = false
		r.Second(field, n)
	default:
		*to = delay
		r.From(field, n)
	}
}
