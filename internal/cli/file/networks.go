package file

import (
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// checkNetworks refuses networks in nmstate's words that no image with them can be made
// of: a minimal one, or what is booted over the network. It tells what is ignored in
// them.
func checkNetworks(a *base.App, c *spec.Cluster) error {
	problems := &spec.Problems{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		if host.Net == nil || host.Net.NMState == nil {
			continue // the short form becomes nothing else
		}
		text, named, _ := c.StaticNetwork(host)
		placed := func(p nmstate.Problem) spec.Problem { return placedIn(c, i, p) }
		state, err := nmstate.Parse("", []byte(text))
		if err == nil {
			for _, p := range state.Ignored() {
				a.Warn("%s", ignoredText(placed(p)))
			}
			macs := map[string]string{}
			for _, m := range named {
				macs[m.Name] = m.MAC
			}
			_, err = state.Keyfiles(macs)
		}
		if found, is := errors.AsType[nmstate.Problems](err); is {
			for _, p := range found {
				problems.List = append(problems.List, placed(p))
			}
		}
	}
	if len(problems.List) == 0 {
		return nil
	}
	return problems
}

// placedIn is a problem of a host's network with its place in the cluster's file, or in
// the file that has the network.
func placedIn(c *spec.Cluster, host int, p nmstate.Problem) spec.Problem {
	field := fmt.Sprintf("spec.hosts[%d].net.nmstate", host)
	out := spec.Problem{
		Field: field, Message: p.Message,
		Remedy: "change it: oaictl can put it into no minimal image and no network boot. A full image may have it, and create cluster asks the service",
	}
	if p.Field != "" {
		out.Field += "." + p.Field
	}
	out.File, out.Line, out.Column = c.Position(out.Field)
	if file := c.Spec.Hosts[host].Net.NMState.File; file != "" {
		out.File, out.Line, out.Column = file, p.Line, p.Column
	}
	return out
}

// ignoredText is a part of a network that nothing is made of, in one line.
func ignoredText(p spec.Problem) string {
	place := ""
	if p.File != "" {
		place = fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	}
	return fmt.Sprintf("%s%s is ignored: %s", place, p.Field, p.Message)
}
