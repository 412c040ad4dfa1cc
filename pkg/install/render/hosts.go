package render

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/objects"
)

// hosts makes what single hosts need.
func (h *maker) hosts(plans []install.InfraEnvPlan) (all []Host) {
	booted := map[string]install.InfraEnvPlan{}
	for _, plan := range plans {
		for _, name := range plan.Hosts {
			booted[name] = plan
		}
	}
	for _, host := range objects.SortedHosts(h.Cluster) {
		of := Host{Name: host.Name}
		if h.IsMetal3(host) {
			of.Secrets = h.BMCSecret(host)
			of.BareMetalHost = h.BareMetalHost(host, booted[host.Name])
		}
		of.Secrets = slices.Concat(of.Secrets, h.FencingSecret(host), h.TokenSecret(host))
		if of.BareMetalHost != nil || len(of.Secrets) > 0 {
			all = append(all, of)
		}
	}
	return all
}

// infraEnvs makes the discovery images and the networks of their hosts; none
// where the file uses one that exists.
func (h *maker) infraEnvs(plans []install.InfraEnvPlan) (all []InfraEnv) {
	if h.Cluster.Spec.InfraEnv.Ref != "" {
		return nil
	}
	for _, plan := range plans {
		env := InfraEnv{Name: plan.Name, InfraEnv: h.InfraEnv(plan)}
		for _, name := range slices.Sorted(slices.Values(plan.Hosts)) {
			if host := h.Cluster.Host(name); host != nil {
				if config := h.NMStateConfig(plan.Name, host); config != nil {
					env.NMStateConfigs = append(env.NMStateConfigs, config)
				}
			}
		}
		all = append(all, env)
	}
	return all
}
