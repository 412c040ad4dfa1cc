package file

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// warnOfDoubts reports settings that a file may have and that are seldom meant.
func warnOfDoubts(a *app.App, c *spec.Cluster) {
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		text, _, static := c.StaticNetwork(host)
		state, err := nmstate.Parse("", []byte(text))
		if !static || err != nil {
			continue // was reported
		}
		for _, p := range state.Doubts() {
			a.Warn("%s", doubtIn(c, i, p))
		}
	}
	for i, mirror := range c.Spec.Registry.Mirrors {
		for j, target := range mirror.Mirrors {
			if !hasLogin(c, target) {
				p := c.Problem(fmt.Sprintf("spec.registry.mirrors[%d].mirrors[%d]", i, j), "the pull secret has no login for "+target+", which is right only if the mirror asks for none", "")
				a.Warn("%s", p)
			}
		}
	}
}

// doubtIn places a doubt about a host's network: in its document, or at the short form.
func doubtIn(c *spec.Cluster, host int, p nmstate.Problem) spec.Problem {
	field, document := fmt.Sprintf("spec.hosts[%d].net", host), c.Spec.Hosts[host].Net.NMState
	if document == nil {
		return c.Problem(field, p.Message, "")
	}
	placed := c.Problem(field+".nmstate."+p.Field, p.Message, "")
	if document.File != "" {
		placed.File, placed.Line, placed.Column = document.File, p.Line, p.Column
	}
	return placed
}

// hasLogin reports whether the pull secret has credentials for where a mirror lies; true where the pull secret is not
// known here.
func hasLogin(c *spec.Cluster, mirror string) bool {
	var secret struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if json.Unmarshal([]byte(c.PullSecret().Reveal()), &secret) != nil || secret.Auths == nil {
		return true
	}
	for place := range secret.Auths {
		place = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(place, "https://"), "http://"), "/")
		if mirror == place || strings.HasPrefix(mirror, place+"/") {
			return true
		}
	}
	return false
}
