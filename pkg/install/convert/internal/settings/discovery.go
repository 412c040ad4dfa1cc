package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// DiscoveryIgnition carries over what is merged into the live image's Ignition.
func (r *Reader) DiscoveryIgnition(n *source.Node) {
	if n == nil || n.Kind == source.TextNode && n.Text == "" {
		r.Text(n)
		return
	}
	const field = "spec.discovery.ignition"
	if n = r.Embed(n); n == nil {
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

// KernelArguments carries over what is appended; oaictl takes nothing away from
// the image's own arguments.
func (r *Reader) KernelArguments(n *source.Node) {
	if n == nil {
		return
	}
	const field = "spec.discovery.kernelArgs"
	list, lines := []string{}, []*source.Node{}
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
func (r *Reader) ImageType(n *source.Node) {
	if n == nil {
		return
	}
	image := spec.ImageType(strings.TrimSuffix(n.Peek(), "-iso"))
	to := &r.Cluster.Spec.Boot.Image
	if *to != "" && *to != image {
		r.Second("spec.boot.image", n)
		return
	}
	r.Text(n)
	*to = image
	r.From("spec.boot.image", n)
}

// NetworkDelay carries over how long machines wait for their networks, in seconds.
func (r *Reader) NetworkDelay(n *source.Node) {
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
