package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

// cidrs are the machine networks that the cluster shows now.
func (b *bench) cidrs() string {
	b.t.Helper()
	list := []string{}
	for _, n := range b.get()["machine_networks"].([]any) {
		list = append(list, n.(map[string]any)["cidr"].(string))
	}
	return fmt.Sprint(list)
}

func (b *bench) shows(cidrs, when string) {
	b.t.Helper()
	if got := b.cidrs(); got != cidrs {
		b.t.Errorf("%s: the machine networks are %s, want %s", when, got, cidrs)
	}
}

func (b *bench) refuses(reason string, body fields) {
	b.t.Helper()
	if a := b.call("PATCH", "/clusters/"+b.cluster, body); a.status != 400 || a.reason() != reason {
		b.t.Errorf("PATCH %v: %d %s, want %s", body, a.status, a.text, reason)
	}
}

const forbiddenNetwork = "Setting the Machine Network CIDR is forbidden when the cluster is neither in VIP DHCP allocation mode nor using a user-managed load balancer"

func machineNet(cidrs ...string) fields {
	list := []fields{}
	for _, cidr := range cidrs {
		list = append(list, fields{"cidr": cidr})
	}
	return fields{"machine_networks": list}
}

// The machine networks of a cluster that balances its load by virtual addresses
// are the service's: empty until a host has a network for them, and never taken
// from its user.
func TestMachineNetworkFollowsTheVips(t *testing.T) {
	b := madeBench(t, vips([]string{"10.0.0.100"}, []string{"10.0.0.101"}, machineNet("10.0.0.0/24")))
	b.shows("[10.0.0.0/24]", "just registered")
	b.refuses(forbiddenNetwork, machineNet("10.0.0.0/24"))
	b.pass(10 * time.Second)
	b.shows("[]", "once looked at without hosts")
	b.refuses(forbiddenNetwork, machineNet("10.0.0.0/24"))
	b.refuses("Calculate machine network CIDR: No suitable matching CIDR found for VIP 10.0.0.110", one4("10.0.0.110", "10.0.0.111"))
	b.must("PATCH", "/clusters/"+b.cluster, fields{"name": "renamed"})
	for range 3 {
		b.boot()
	}
	b.pass(30 * time.Second)
	b.shows("[10.0.0.0/24]", "with hosts")
	b.until(model.ClusterReady)
	b.refuses(forbiddenNetwork, machineNet("10.0.0.0/24"))
	b.refuses("1 error occurred:\n\t* api-vip <10.0.0.100> does not belong to machine-network-cidr <10.9.0.0/24>\n\n", machineNet("10.9.0.0/24"))
	b.must("PATCH", "/clusters/"+b.cluster, one4("10.0.0.110", "10.0.0.111"))
	b.shows("[10.0.0.0/24]", "with other addresses")
}

// Virtual addresses that are taken away cannot be put back before a host shows
// their network; then the answer has the machine network.
func TestVipsNeedAHostsNetwork(t *testing.T) {
	b := madeBench(t, vips([]string{"10.0.0.100"}, []string{"10.0.0.101"}, nil))
	b.must("PATCH", "/clusters/"+b.cluster, vips(nil, nil, nil))
	b.refuses("Calculate machine network CIDR: No suitable matching CIDR found for VIP 10.0.0.100", one4("10.0.0.100", "10.0.0.101"))
	b.boot().poll()
	b.must("PATCH", "/clusters/"+b.cluster, one4("10.0.0.100", "10.0.0.101"))
	b.shows("[10.0.0.0/24]", "in the answer's moment")
}

// Virtual addresses that are asked for when hosts have told which addresses are free have
// to be among those of all of them.
func TestVipsHaveToBeFree(t *testing.T) {
	dual := vips(nil, nil, machineNet("10.0.0.0/24", "1001:db8::/120"))
	dual["cluster_networks"] = []fields{{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}}
	dual["service_networks"] = []fields{{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}}
	for name, made := range map[string]fields{"one family": vips(nil, nil, nil), "both": dual} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, made)
			first, second := b.boot(), b.boot()
			first.poll()
			second.poll()
			b.must("PATCH", "/clusters/"+b.cluster, one4("10.0.0.5", "10.0.0.6")) // the monitor has not run yet
			for m, free := range map[*machine]string{first: `"10.0.0.7","10.0.0.8","10.0.0.9"`, second: `"10.0.0.7","10.0.0.8"`} {
				b.must("POST", m.path()+"/instructions", fields{"step_id": "free-network-addresses-1", "step_type": steps.StepFreeAddress, "exit_code": 0,
					"output": `[{"network":"10.0.0.0/24","free_addresses":[` + free + `]}]`})
			}
			b.refuses("api-vip <10.0.0.9> is already in use in cidr 10.0.0.0/24", one4("10.0.0.9", "10.0.0.8"))
			b.refuses("ingress-vip <10.0.0.6> is already in use in cidr 10.0.0.0/24", one4("10.0.0.7", "10.0.0.6"))
			b.must("PATCH", "/clusters/"+b.cluster, one4("10.0.0.7", "10.0.0.8"))
			if events := b.must("GET", "/events?cluster_id="+b.cluster, nil).text; strings.Contains(events, "api_ingress_vip_updated") {
				t.Error("an event that only a lease of DHCP makes")
			}
			if list := b.must("GET", "/clusters?with_hosts=true", nil).text; strings.Contains(list, "free_addresses") {
				t.Error("the list of clusters has what hosts found to be free")
			}
		})
	}
}

// Other clusters keep the machine networks that they were given, and take others.
func TestMachineNetworksThatAreKept(t *testing.T) {
	dual := vips([]string{"10.0.0.100", "1001:db8::50"}, []string{"10.0.0.101", "1001:db8::51"}, machineNet("10.0.0.0/24", "1001:db8::/120"))
	dual["cluster_networks"] = []fields{{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}}
	dual["service_networks"] = []fields{{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}}
	balanced := vips([]string{"10.0.0.100"}, []string{"10.0.0.100"}, machineNet("10.0.0.0/24"))
	balanced["load_balancer"] = fields{"type": "user-managed"}
	for name, test := range map[string]struct {
		make  fields
		write fields
		want  string
	}{
		"dual stack":                 {dual, machineNet("10.0.0.0/24", "1001:db8::/120"), "[10.0.0.0/24 1001:db8::/120]"},
		"user-managed load balancer": {balanced, machineNet("10.0.0.0/25"), "[10.0.0.0/24]"},
		"user-managed networking":    {fields{"user_managed_networking": true, "machine_networks": machineNet("10.0.0.0/24")["machine_networks"]}, machineNet("10.0.0.0/25"), "[10.0.0.0/24]"},
		"single node":                {fields{"high_availability_mode": "None", "machine_networks": machineNet("10.0.0.0/24")["machine_networks"]}, machineNet("10.0.0.0/25"), "[10.0.0.0/24]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, test.make)
			b.pass(time.Minute)
			b.shows(test.want, "without hosts")
			b.must("PATCH", "/clusters/"+b.cluster, test.write)
		})
	}
	b := madeBench(t, balanced)
	b.refuses("api-vip '10.0.0.100' failed verification: none of the machine networks is satisfying the requirements, description: "+
		"machine network CIDR <10.9.0.0/24> verification failed: api-vip <10.0.0.100> does not belong to machine-network-cidr <10.9.0.0/24>", machineNet("10.9.0.0/24"))
}

// Where the user balances the load, the service asks less of addresses and
// networks, and says so.
func TestUserManagedLoadBalancer(t *testing.T) {
	b := newBench(t, nil)
	params := vips([]string{"10.0.0.100"}, []string{"10.0.0.100"}, machineNet("10.0.0.0/24", "10.9.0.0/24"))
	params["load_balancer"] = fields{"type": "user-managed"}
	b.make(params)
	b.pass(10 * time.Second)
	wants := func(object map[string]any, id, text string) {
		t.Helper()
		if got := outcomes(t, object)[id][1]; got != text {
			t.Errorf("%s: %q, want %q", id, got, text)
		}
	}
	wants(b.get(), "machine-cidr-equals-to-calculated-cidr", "Calculating machine network CIDR is not enabled: User Managed Load Balancer")
	wants(b.get(), "api-vips-valid", "Hosts have not been discovered yet")
	m := b.boot()
	b.pass(time.Minute)
	wants(b.get(), "api-vips-valid", "api vip 10.0.0.100 is valid")
	wants(b.get(), "ingress-vips-valid", "ingress vip 10.0.0.100 is valid")
	wants(m.get(), "belongs-to-machine-cidr", "Host belongs to at least one machine network CIDR")
	b.must("PATCH", "/clusters/"+b.cluster, machineNet("10.9.0.0/24", "10.0.0.96/27"))
	b.pass(10 * time.Second)
	wants(m.get(), "belongs-to-machine-cidr",
		"Host does not belong to any machine network CIDR. Verify that the host belongs to at least one CIDR listed under machine networks")
}
