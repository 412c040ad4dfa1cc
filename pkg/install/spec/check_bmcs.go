package spec

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// sharedBMCs reports hosts that are one machine, or may be: of two at one
// controller both have to say which of its systems they are.
func (k *checker) sharedBMCs() {
	type owned struct {
		values.Controller
		host int
	}
	var before []owned
	for i := range k.cluster.Spec.Hosts {
		h := &k.cluster.Spec.Hosts[i]
		if h.BMC == nil || h.BMC.Address == "" {
			continue
		}
		mine := owned{values.ControllerOf(h.BMC.Address, h.BMC.System), i}
		for _, other := range before {
			if other.Endpoint != mine.Endpoint || other.System != mine.System && other.System != "" && mine.System != "" {
				continue
			}
			owner, hint := k.hostLabel(other.host), ""
			if owner == k.hostLabel(i) {
				owner = fmt.Sprintf("spec.hosts[%d]", other.host)
			}
			if mine.System == "" || other.System == "" {
				hint = "write each machine's own address, or, where one BMC has several systems, bmc.system for each"
			}
			k.Report(hostField(i, "bmc.address"), fmt.Sprintf("the BMC %s belongs to %s already", values.BMCHost(h.BMC.Address), owner), hint)
			break
		}
		before = append(before, mine)
	}
}
