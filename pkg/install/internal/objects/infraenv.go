package objects

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (h *Maker) InfraEnv(plan install.InfraEnvPlan) *unstructured.Unstructured {
	c, set := h.Cluster, h.Cluster.Spec
	object := h.Object(KindInfraEnv(), plan.Name)
	s := Fields{
		"pullSecretRef":              Fields{"name": PullSecretName(c)},
		"nmStateConfigLabelSelector": Fields{"matchLabels": Fields{hubapi.LabelInfraEnv: plan.Name}},
	}
	if set.InfraEnv.Bind != spec.BindLate {
		s["clusterRef"] = Fields{"name": c.Metadata.Name, "namespace": h.Namespace}
		s["agentLabels"] = Fields{hubapi.LabelCluster: c.Metadata.Name}
	}
	Put(s, "sshAuthorizedKey", c.SSHKey())
	if proxy := ProxyFields(set.Proxy); proxy != nil {
		s["proxy"] = proxy
	}
	PutAll(s, "additionalNTPSources", set.Network.Defaults.NTP)
	PutAll(s, "ntpSources", set.Network.NTP)
	Put(s, "cpuArchitecture", plan.Arch)
	Put(s, "additionalTrustBundle", c.TrustBundle())
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		h.Refuse("spec.discovery.ignition", err.Error(), "")
	}
	Put(s, "ignitionConfigOverride", ignition)
	if set.Boot.Image != "" {
		s["imageType"] = string(set.Boot.Image) + "-iso"
	}
	if args := set.Discovery.KernelArgs; args != nil {
		list := []any{}
		for _, arg := range args {
			list = append(list, Fields{"operation": "append", "value": arg})
		}
		s["kernelArguments"] = list
	}
	if delay := time.Duration(set.Discovery.NetworkDelay); delay > 0 {
		s["networkDiscoveryDelaySeconds"] = int64(math.Ceil(delay.Seconds()))
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	if h.Installed || set.InfraEnv.Bind == spec.BindLate {
		Put(s, "osImageVersion", set.Discovery.OSVersion)
	} else if set.Discovery.OSVersion != "" {
		h.note("the InfraEnv %s has no osImageVersion, which a hub takes for one of an installed cluster only: oaictl add-node writes it", plan.Name)
	}
	h.HubFields(object, s)
	object.Object["spec"] = s
	return object
}
