package request

import (
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

// each converts a list, which may be empty but is never missing.
func each[T, U any](list []T, convert func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, item := range list {
		out = append(out, convert(item))
	}
	return out
}

func clusterNetworksFrom(list []*models.ClusterNetwork, id string) []model.ClusterNetwork {
	return each(list, func(n *models.ClusterNetwork) model.ClusterNetwork {
		return model.ClusterNetwork{CIDR: string(n.Cidr), ClusterID: id, HostPrefix: n.HostPrefix}
	})
}

func machineNetworksFrom(list []*models.MachineNetwork, id string) []model.MachineNetwork {
	return each(list, func(n *models.MachineNetwork) model.MachineNetwork {
		return model.MachineNetwork{CIDR: string(n.Cidr), ClusterID: id}
	})
}

func serviceNetworksFrom(list []*models.ServiceNetwork, id string) []model.MachineNetwork {
	return each(list, func(n *models.ServiceNetwork) model.MachineNetwork {
		return model.MachineNetwork{CIDR: string(n.Cidr), ClusterID: id}
	})
}

func apiVipsFrom(list []*models.APIVip, id string) []model.VIP {
	return each(list, func(v *models.APIVip) model.VIP { return model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))} })
}

func ingressVipsFrom(list []*models.IngressVip, id string) []model.VIP {
	return each(list, func(v *models.IngressVip) model.VIP {
		return model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))}
	})
}
