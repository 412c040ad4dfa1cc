package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestNetworksThatNoHostHas are reported as soon as the inventories are there, in terms of the file, and the failing
// validation of the service is not reported beside them.
func TestNetworksThatNoHostHas(t *testing.T) {
	undefined := []model.Validation{{ID: "machine-cidr-defined", Category: "network", Status: "failure",
		Message: "The Machine Network CIDR is undefined"}}
	for name, test := range map[string]struct {
		hosts  int
		change func(*decidetest.World)
		said   string // "" where nothing is
		field  string
		name   bool // the cluster is asked about by name, without a file
	}{
		"as it should be": {hosts: 3, change: func(*decidetest.World) {}},
		"both addresses outside": {hosts: 3, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.VIPs = spec.VIPs{API: []string{"10.9.0.5"}, Ingress: []string{"10.9.0.6"}}
			w.Desired.Spec.Spec.Network.Machine = []string{"10.9.0.0/24"}
		}, said: "the API address 10.9.0.5 and the ingress address 10.9.0.6 are not in a network of the hosts; spec.network.machine is 10.9.0.0/24; " +
			"the hosts have 192.168.127.0/24 (cp-0, cp-1, cp-2)", field: "spec.network.vips"},
		"one outside": {hosts: 3, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.VIPs.Ingress = []string{"10.9.0.6"}
		}, said: "the ingress address 10.9.0.6 is not in a network of the hosts; the hosts have 192.168.127.0/24 (cp-0, cp-1, cp-2)",
			field: "spec.network.vips.ingress"},
		"by the cluster's name": {hosts: 3, name: true, change: func(w *decidetest.World) {
			w.Observed.Cluster.Settings[model.SettingAPIVIPs] = model.ValueOf([]string{"10.9.0.5"})
		}, said: "the API address 10.9.0.5 is not in a network of the hosts; the hosts have 192.168.127.0/24", field: "spec.network.vips.api"},
		"in a network of a host": {hosts: 3, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.VIPs = spec.VIPs{API: []string{"10.9.0.5"}, Ingress: []string{"10.9.0.6"}}
			nic := &w.Observed.Hosts[1].Inventory.Interfaces[0]
			nic.Addresses = append(nic.Addresses, "10.9.0.11/24")
		}},
		"an inventory is missing": {hosts: 3, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.VIPs.Ingress = []string{"10.9.0.6"}
			w.Observed.Hosts[1].Inventory = model.Inventory{}
		}},
		"a load balancer of the user": {hosts: 3, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.LoadBalancer = spec.UserManaged
			w.Desired.Spec.Spec.Network.VIPs.Ingress = []string{"10.9.0.6"}
		}},
		"a single node in its network": {hosts: 1, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.Machine = []string{"192.168.127.0/24"}
		}},
		"a single node elsewhere": {hosts: 1, change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.Machine = []string{"10.9.0.0/24"}
		},
			said:  "the machine network 10.9.0.0/24 is not a network of the host; the hosts have 192.168.127.0/24 (cp-0)",
			field: "spec.network.machine"},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.ReadyWorld(t, decidetest.Sample(test.hosts, 0))
			w.Observed.Cluster.State, w.Observed.Cluster.Status = model.ClusterBlocked, "pending-for-input"
			test.change(w)
			if test.said != "" {
				w.Observed.Cluster.Validations = undefined
			}
			plan := w.Decide()
			explained := decide.Explain(explainedBy(w, test.name), &w.Observed, "")
			for asked, plan := range map[string]model.Plan{"create": plan, "why": explained} {
				if test.name && asked == "create" {
					continue
				}
				var told []string
				for _, b := range plan.Blockers {
					told = append(told, fmt.Sprint(b.Reason, " ", b.Field, " ", b.Message))
				}
				switch {
				case test.said == "" && decidetest.HasReason(plan, "VIPOutsideHostNetworks"):
					t.Errorf("%s: %q", asked, told)
				case test.said != "" && (len(told) != 1 || !strings.HasPrefix(told[0], "VIPOutsideHostNetworks "+test.field+" "+test.said)):
					t.Errorf("%s: %q, want %s", asked, told, test.said)
				}
			}
		})
	}
}

// explainedBy is what a cluster is asked about by: its file, or its name alone.
func explainedBy(w *decidetest.World, byName bool) *model.Desired {
	if !byName {
		return w.Desired
	}
	c := decidetest.Sample(3, 0)
	c.Spec.Network, c.Spec.Hosts, c.Spec.AcceptUnknownHosts = spec.Network{}, nil, true
	return &model.Desired{Spec: c, Options: model.Options{ReadOnly: true}}
}
