package objects

import (
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func Networking(c *spec.Cluster) Fields {
	net, out := c.Spec.Network, Fields{}
	if net.Machine != nil {
		out["machineNetwork"] = ListOf("cidr", net.Machine)
	}
	if net.Cluster != nil {
		list := []any{}
		for _, network := range net.Cluster {
			entry := Fields{"cidr": network.CIDR}
			if network.HostPrefix != 0 {
				entry["hostPrefix"] = int64(network.HostPrefix)
			}
			list = append(list, entry)
		}
		out["clusterNetwork"] = list
	}
	PutAll(out, "serviceNetwork", net.Service)
	Put(out, "networkType", net.Type)
	switch {
	case net.UserManaged != nil:
		out["userManagedNetworking"] = *net.UserManaged
	case c.SingleNode() || c.Spec.Platform.Type == spec.NoneType || c.Spec.Platform.Type == spec.External:
		// What the webhook would fill in; a hub without it needs it said.
		out["userManagedNetworking"] = true
	}
	return out
}

func BalancerWord(balancer spec.LoadBalancer) string {
	switch balancer {
	case spec.ClusterManaged:
		return "ClusterManaged"
	case spec.UserManaged:
		return "UserManaged"
	}
	return ""
}

// platform sets the platform unless the service comes to the same by itself:
// bare metal, where the file does not name it.
func platform(s Fields, c *spec.Cluster) {
	p := c.Spec.Platform
	if p.Type == spec.BareMetal && !c.Present("spec.platform") {
		return
	}
	Put(s, "platformType", PlatformWord(p.Type))
	if p.External != nil {
		external := Fields{"platformName": p.External.Name}
		Put(external, "cloudControllerManager", p.External.CloudControllerManager)
		s["external"] = external
	}
}

func PlatformWord(p spec.PlatformType) string {
	switch p {
	case spec.BareMetal:
		return "BareMetal"
	case spec.NoneType:
		return "None"
	case spec.VSphere:
		return "VSphere"
	case spec.Nutanix:
		return "Nutanix"
	case spec.External:
		return "External"
	}
	return ""
}
