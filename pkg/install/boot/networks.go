package boot

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// CheckNetworks reads the static networks of hosts that are written in nmstate's words. The error is a *spec.Problems:
// what is wrong in a network, and, for a host with an initrd that oaictl makes, what oaictl cannot put into any initrd.
// The notes are what is ignored, and what only such an initrd cannot have.
func CheckNetworks(c *spec.Cluster) (notes []spec.Problem, err error) {
	problems := &spec.Problems{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		if host.Net == nil || host.Net.NMState == nil {
			continue // the short form becomes nothing else
		}
		text, named, _ := c.StaticNetwork(host)
		ignored, found := readNetwork(text, named)
		for _, p := range ignored {
			notes = append(notes, networkProblem(c, i, p, "is ignored: ", ""))
		}
		for _, p := range found {
			switch made := makesInitrd(c, host); {
			case !p.Limit:
				problems.List = append(problems.List, networkProblem(c, i, p, "", ""))
			case made:
				problems.List = append(problems.List, networkProblem(c, i, p, "",
					"change it, or write boot.image: full: oaictl cannot put it into a minimal image"))
			default:
				notes = append(notes, networkProblem(c, i, p, "oaictl cannot put it into a minimal image or a network boot: ", ""))
			}
		}
	}
	if len(problems.List) == 0 {
		return notes, nil
	}
	return notes, problems
}

// makesInitrd reports whether a host boots an image of oaictl's own that holds its network.
func makesInitrd(c *spec.Cluster, h *spec.Host) bool {
	image := c.Spec.Boot.Image
	if h.Discovery != nil {
		image = cmp.Or(h.Discovery.Image, image)
	}
	return c.Spec.Boot.Method == spec.BootRedfish && image == spec.ImageMinimal
}

func readNetwork(text string, named []spec.NIC) (ignored, problems nmstate.Problems) {
	state, err := nmstate.Parse("", []byte(text))
	if err == nil {
		ignored = state.Ignored()
		_, err = state.Keyfiles(macsOf(named))
	}
	found, _ := errors.AsType[nmstate.Problems](err)
	return ignored, found
}

func macsOf(named []spec.NIC) map[string]string {
	macs := map[string]string{}
	for _, m := range named {
		macs[m.Name] = m.MAC
	}
	return macs
}

// networkProblem is a problem with its position in the cluster's file, or the network's own.
func networkProblem(c *spec.Cluster, host int, p nmstate.Problem, before, remedy string) spec.Problem {
	field := fmt.Sprintf("spec.hosts[%d].net.nmstate", host)
	if p.Field != "" {
		field += "." + p.Field
	}
	out := c.Problem(field, before+p.Message, remedy)
	if file := c.Spec.Hosts[host].Net.NMState.File; file != "" {
		out.File, out.Line, out.Column = file, p.Line, p.Column
	}
	return out
}
