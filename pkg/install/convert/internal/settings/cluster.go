package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Namespace is what objects stand in, which cluster.yaml does not say.
func (r *Reader) Namespace(n *source.Node) {
	if n == nil {
		return
	}
	if n.Kind == source.TextNode && n.Text == objects.NamespaceOf(r.Cluster) {
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
func (r *Reader) SSHKeys(n *source.Node) {
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
	have := &r.Cluster.Spec.SSHKeys
	if *have != nil && !slices.EqualFunc(*have, keys, func(a, b spec.PublicSource) bool { return a.Inline == b.Inline }) {
		r.Second("spec.sshKeys", n)
		return
	}
	r.Text(n)
	if len(keys) > 0 {
		*have = keys
		r.From("spec.sshKeys", n)
	}
}

// TrustBundle carries certificates over.
func (r *Reader) TrustBundle(n *source.Node) {
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

// RoleSet is a set of roles in the words of this format.
func RoleSet(text string) spec.RoleSet {
	set := spec.RoleSet{}
	for part := range strings.SplitSeq(text, ",") {
		switch part = strings.TrimSpace(part); part {
		case "masters", "master":
			set = append(set, string(spec.ControlPlane))
		case "workers":
			set = append(set, string(spec.Worker))
		case "arbiters":
			set = append(set, string(spec.Arbiter))
		default:
			set = append(set, part)
		}
	}
	return set
}

// Tang carries Tang servers over.
func (r *Reader) Tang(n *source.Node) {
	for i, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		field := fmt.Sprintf("spec.diskEncryption.tang[%d]", i)
		r.From(field, item)
		var server spec.TangServer
		source.SetText(r.Account, field+".url", &server.URL, source.First(item, "url", "URL"))
		source.SetText(r.Account, field+".thumbprint", &server.Thumbprint, item.Get("thumbprint"))
		r.Cluster.Spec.DiskEncryption.Tang = append(r.Cluster.Spec.DiskEncryption.Tang, server)
	}
}

// Mirrors carries mirrors over. What an entry says besides goes to the
// install-config as it is.
func (r *Reader) Mirrors(n *source.Node, key string) {
	more := false
	for _, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		r.Mirror(item.Get("source"), item.Get("mirrors"), false)
		more = more || !allTaken(item)
	}
	if more {
		r.Override(n, key)
	}
}

func allTaken(n *source.Node) bool {
	for _, c := range n.Children {
		if len(c.Children) == 0 && !c.Taken || !allTaken(c) {
			return false
		}
	}
	return true
}

// Mirror carries one mirrored place over; several entries of one place become
// one.
func (r *Reader) Mirror(source, targets *source.Node, insecure bool) {
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
