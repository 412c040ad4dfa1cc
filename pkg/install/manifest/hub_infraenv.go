package manifest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// infraEnvs makes the discovery images and the networks of their hosts; none
// where the file uses one that exists.
func (h *hub) infraEnvs(plans []install.InfraEnvPlan) (all []InfraEnvObjects) {
	if h.cluster.Spec.InfraEnv.Ref != "" {
		return nil
	}
	for _, plan := range plans {
		objects := InfraEnvObjects{Name: plan.Name, InfraEnv: h.infraEnv(plan)}
		for _, name := range slices.Sorted(slices.Values(plan.Hosts)) {
			if host := h.cluster.Host(name); host != nil {
				if config := h.nmStateConfig(plan.Name, host); config != nil {
					objects.NMStateConfigs = append(objects.NMStateConfigs, config)
				}
			}
		}
		all = append(all, objects)
	}
	return all
}

func (h *hub) infraEnv(plan install.InfraEnvPlan) *unstructured.Unstructured {
	c, set := h.cluster, h.cluster.Spec
	object := h.object(kindInfraEnv(), plan.Name)
	s := fields{
		"pullSecretRef":              fields{"name": PullSecretName(c)},
		"nmStateConfigLabelSelector": fields{"matchLabels": fields{hubapi.LabelInfraEnv: plan.Name}},
	}
	if set.InfraEnv.Bind != spec.BindLate {
		s["clusterRef"] = fields{"name": c.Metadata.Name, "namespace": h.namespace}
		s["agentLabels"] = fields{hubapi.LabelCluster: c.Metadata.Name}
	}
	put(s, "sshAuthorizedKey", c.SSHKey())
	if proxy := proxyFields(set.Proxy); proxy != nil {
		s["proxy"] = proxy
	}
	putAll(s, "additionalNTPSources", set.Network.Defaults.NTP)
	putAll(s, "ntpSources", set.Network.NTP)
	put(s, "cpuArchitecture", plan.Arch)
	put(s, "additionalTrustBundle", c.TrustBundle())
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		h.refuse("spec.discovery.ignition", err.Error(), "")
	}
	put(s, "ignitionConfigOverride", ignition)
	if set.Boot.Image != "" {
		s["imageType"] = string(set.Boot.Image) + "-iso"
	}
	if args := set.Discovery.KernelArgs; args != nil {
		list := []any{}
		for _, arg := range args {
			list = append(list, fields{"operation": "append", "value": arg})
		}
		s["kernelArguments"] = list
	}
	if delay := time.Duration(set.Discovery.NetworkDelay); delay > 0 {
		s["networkDiscoveryDelaySeconds"] = int64(math.Ceil(delay.Seconds()))
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	if h.installed || set.InfraEnv.Bind == spec.BindLate {
		put(s, "osImageVersion", set.Discovery.OSVersion)
	} else if set.Discovery.OSVersion != "" {
		h.note("the InfraEnv %s has no osImageVersion, which a hub takes for one of an installed cluster only: oaictl add-node writes it", plan.Name)
	}
	h.hubFields(object, s)
	object.Object["spec"] = s
	return object
}

// nmStateConfig is the static network of a host, found by the InfraEnv by its
// label; nil for a host that uses DHCP.
func (h *hub) nmStateConfig(infraEnv string, host *spec.Host) *unstructured.Unstructured {
	config, macs, ok, err := nmstateOf(h.cluster, host)
	if err != nil {
		h.refuseHost(host, "net.nmstate", err.Error(), "")
		return nil
	}
	if !ok {
		return nil
	}
	object := h.object(kindNMStateConfig(), NMStateConfigName(h.cluster, host.Name))
	addLabels(object, map[string]string{hubapi.LabelInfraEnv: infraEnv})
	object.Object["spec"] = fields{"config": config, "interfaces": interfaceFields(macs)}
	return object
}

// interfaceFields are the names of interfaces and their MAC addresses as both
// NMStateConfig and the agent-based installer have them.
func interfaceFields(macs []spec.MACInterface) []any {
	list := make([]any, len(macs))
	for i, mac := range macs {
		list[i] = fields{"name": mac.LogicalName, "macAddress": mac.MAC}
	}
	return list
}

// nmstateOf is the static network of a host as an nmstate document. ok is false
// for a host that uses DHCP.
func nmstateOf(c *spec.Cluster, host *spec.Host) (config fields, macs []spec.MACInterface, ok bool, err error) {
	text, macs, ok := c.StaticNetwork(host)
	if !ok {
		return nil, nil, false, nil
	}
	var document []byte
	if host.Net.NMState != nil {
		var own string
		own, err = host.Net.NMState.JSON()
		document = []byte(own)
	} else {
		document, err = yaml.YAMLToJSON([]byte(text))
	}
	if err == nil {
		err = json.Unmarshal(document, &config)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("the network of %s cannot be read: %w", host.Name, err)
	}
	return config, macs, true, nil
}
