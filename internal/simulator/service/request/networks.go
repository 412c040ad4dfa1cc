package request

import (
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

func clusterNetworksFrom(list []*models.ClusterNetwork, id string) []model.ClusterNetwork {
	out := []model.ClusterNetwork{}
	for _, n := range list {
		out = append(out, model.ClusterNetwork{CIDR: string(n.Cidr), ClusterID: id, HostPrefix: n.HostPrefix})
	}
	return out
}

func machineNetworksFrom(list []*models.MachineNetwork, id string) []model.MachineNetwork {
	out := []model.MachineNetwork{}
	for _, n := range list {
		out = append(out, model.MachineNetwork{CIDR: string(n.Cidr), ClusterID: id})
	}
	return out
}

func apiVipsFrom(list []*models.APIVip, id string) []model.VIP {
	out := []model.VIP{}
	for _, v := range list {
		out = append(out, model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))})
	}
	return out
}

func ingressVipsFrom(list []*models.IngressVip, id string) []model.VIP {
	out := []model.VIP{}
	for _, v := range list {
		out = append(out, model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))})
	}
	return out
}
