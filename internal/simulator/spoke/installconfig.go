package spoke

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// installConfig is the install-config that the cluster keeps, without its secrets.
func (c *Cluster) installConfig() string {
	networks, machine := []any{}, []any{}
	for _, n := range c.ClusterNetworks {
		networks = append(networks, fields{"cidr": n.CIDR, "hostPrefix": n.HostPrefix})
	}
	for _, cidr := range c.MachineNetworks {
		machine = append(machine, fields{"cidr": cidr})
	}
	platform := fields{strings.ToLower(string(c.Platform)): fields{}}
	if c.Platform == BareMetal {
		platform = fields{"baremetal": fields{"apiVIPs": texts(c.APIVIPs), "ingressVIPs": texts(c.IngressVIPs)}}
	}
	arch := machineArch(c.Arch)
	text, err := yaml.Marshal(fields{
		"apiVersion": "v1", "baseDomain": c.BaseDomain, "metadata": fields{"name": c.Name}, "platform": platform, "pullSecret": "",
		"controlPlane": fields{"name": master, "replicas": len(c.ControlPlane), "architecture": arch},
		"compute":      []any{fields{"name": worker, "replicas": len(c.Workers), "architecture": arch}},
		"networking": fields{
			"networkType": "OVNKubernetes", "clusterNetwork": networks, "serviceNetwork": texts(c.ServiceNetworks), "machineNetwork": machine,
		},
	})
	if err != nil {
		return "" // which maps of texts and numbers do not cause
	}
	return string(text)
}

func versionMinor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:2], ".")
}
