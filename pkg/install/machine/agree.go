package machine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// agrees holds the static networks that the service has against the one of the file
// that goes into a host's initrd: a machine must not come up with one network there
// and another one after. They are the same if NetworkManager is told the same.
func agrees(known []setting.StaticNetwork, macs map[string]string, files []iso.Keyfile) error {
	var theirs *setting.StaticNetwork
	for n := range known {
		if slices.ContainsFunc(known[n].MACs, func(m spec.NIC) bool { return hasMAC(macs, m.MAC) }) {
			theirs = &known[n]
		}
	}
	const next = "`{plan -f FILE}` shows the difference, create cluster --reimage sends it"
	if theirs == nil {
		return fmt.Errorf("the service knows no static network for %s, which the file has: %s", macsText(macs), next)
	}
	if !sameKeyfiles(keyfilesOf(theirs), files) {
		return fmt.Errorf("the service has another static network for %s than the file: %s", macsText(macs), next)
	}
	return nil
}

// keyfilesOf are what NetworkManager is told by a network of the service's; none
// where it cannot be read here.
func keyfilesOf(n *setting.StaticNetwork) []iso.Keyfile {
	macs := map[string]string{}
	for _, m := range n.MACs {
		macs[m.Name] = m.MAC
	}
	state, err := nmstate.Parse("", []byte(n.YAML))
	if err != nil {
		return nil
	}
	files, err := state.Keyfiles(macs)
	if err != nil {
		return nil
	}
	return files
}

func sameKeyfiles(a, b []iso.Keyfile) bool {
	return slices.EqualFunc(a, b, func(a, b iso.Keyfile) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) })
}

func hasMAC(macs map[string]string, mac string) bool {
	for _, own := range macs {
		if strings.EqualFold(own, mac) {
			return true
		}
	}
	return false
}

// macsText names the interfaces of a host, as in "eth0 (52:54:00:00:00:01)".
func macsText(macs map[string]string) string {
	var list []string
	for name, mac := range macs {
		list = append(list, name+" ("+strings.ToLower(mac)+")")
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
