package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type wireIgnored struct {
	ClusterIDs *string `json:"cluster-validation-ids,omitempty"`
	HostIDs    *string `json:"host-validation-ids,omitempty"`
}

// neverIgnoredHost and neverIgnoredCluster are validations without which an
// installation makes no sense.
func neverIgnoredHost() []string {
	return []string{"connected", "has-inventory", "inventory-not-fully-truncated", "machine-cidr-defined", "hostname-unique", "hostname-valid"}
}

func neverIgnoredCluster() []string {
	return []string{"api-vips-defined", "ingress-vips-defined", "all-hosts-are-ready-to-install", "sufficient-masters-count", "pull-secret-set"}
}

func ignores(list, id string, never []string) bool {
	if list == "" || list == "[]" || slices.Contains(never, id) {
		return false
	}
	ids := model.StringList(list)
	return slices.Contains(ids, id) || slices.Contains(ids, "all")
}

func ignoresHost(c *model.Cluster, id string) bool {
	return c != nil && ignores(c.IgnoredHostValidations, id, neverIgnoredHost())
}

func ignoresCluster(c *model.Cluster, id string) bool {
	return ignores(c.IgnoredClusterValidations, id, neverIgnoredCluster())
}

func (s *Service) readIgnored(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	return wire.OK(ignoredValidations(cl))
}

func ignoredValidations(c *model.Cluster) wireIgnored {
	var w wireIgnored
	if c.IgnoredClusterValidations != "" {
		w.ClusterIDs = new(c.IgnoredClusterValidations)
	}
	if c.IgnoredHostValidations != "" {
		w.HostIDs = new(c.IgnoredHostValidations)
	}
	return w
}

func (s *Service) setIgnored(c *wire.Call) (wire.Reply, error) {
	p, id := wire.Taken[wireIgnored](c), c.PathValue("cluster_id")
	cl := s.clusters[id]
	if cl == nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "failed to fetch cluster %s to apply ignored validations: record not found", id)
	}
	if !clusterUpdatable(cl) {
		return wire.Reply{}, wire.BadRequest("%s", notUpdatable(cl))
	}
	problems := append(
		ignoredProblems("cluster", model.Value(p.ClusterIDs), clusterValidationIDs(), neverIgnoredCluster()),
		ignoredProblems("host", model.Value(p.HostIDs), hostValidationIDs(), neverIgnoredHost())...)
	if len(problems) > 0 {
		return wire.Reply{}, wire.BadRequest("cannot proceed due to the following errors: %s", strings.Join(problems, "\n"))
	}
	cl.IgnoredHostValidations, cl.IgnoredClusterValidations = model.Value(p.HostIDs), model.Value(p.ClusterIDs)
	return wire.Created(ignoredValidations(cl))
}

func ignoredProblems(kind, text string, known, never []string) []string {
	if text == "" {
		return nil
	}
	var ids []string
	if json.Unmarshal([]byte(text), &ids) != nil {
		return []string{fmt.Sprintf("error during unmarshal of json for ignored %s validations", kind)}
	}
	var problems, refused []string
	for _, id := range ids {
		switch {
		case strings.EqualFold(id, "all"):
		case slices.Contains(never, id):
			refused = append(refused, id)
		case !slices.Contains(known, id):
			problems = append(problems, fmt.Sprintf("Validation ID '%s' is not a known %s validation", id, kind))
		}
	}
	if len(refused) > 0 {
		problems = append(problems, fmt.Sprintf("unable to ignore the following %s validations (%s)", kind, strings.Join(refused, ",")))
	}
	return problems
}

func hostValidationIDs() []string {
	ids := []string{"has-inventory", "inventory-not-partially-truncated", "inventory-not-fully-truncated", "has-min-cpu-cores",
		"has-min-memory", "has-min-valid-disks", "has-cpu-cores-for-role", "has-memory-for-role", "hostname-unique", "hostname-valid",
		"sufficient-installation-disk-speed", "compatible-with-cluster-platform", "vsphere-disk-uuid-enabled",
		"disk-encryption-requirements-satisfied", "compatible-agent", "no-skip-installation-disk", "no-skip-missing-disk",
		"connected", "media-connected", "machine-cidr-defined", "belongs-to-machine-cidr", "ignition-downloadable",
		"belongs-to-majority-group", "mtu-valid", "valid-platform-network-settings", "ntp-synced",
		"time-synced-between-host-and-service", "container-images-available", "sufficient-network-latency-requirement-for-role",
		"sufficient-packet-loss-requirement-for-role", "has-default-route", "api-domain-name-resolved-correctly",
		"api-int-domain-name-resolved-correctly", "apps-domain-name-resolved-correctly", "release-domain-name-resolved-correctly",
		"dns-wildcard-not-configured", "non-overlapping-subnets", "no-ip-collisions-in-network", "no-iscsi-nic-belongs-to-machine-cidr"}
	return append(ids, operatorValidationIDs()...)
}

// operatorValidationIDs are also those of an operator by its former name.
func operatorValidationIDs() []string {
	ids := []string{"ocs-requirements-satisfied"}
	for _, o := range validate.Operators() {
		ids = append(ids, o.ID)
	}
	return ids
}

func clusterValidationIDs() []string {
	ids := []string{"platform-requirements-satisfied", "pull-secret-set", "all-hosts-are-ready-to-install", "sufficient-masters-count",
		"api-vips-defined", "api-vips-valid", "cluster-cidr-defined", "custom-manifests-requirements-satisfied", "dns-domain-defined",
		"ingress-vips-defined", "ingress-vips-valid", "machine-cidr-defined", "machine-cidr-equals-to-calculated-cidr",
		"network-prefix-valid", "network-type-valid", "networks-same-address-families", "no-cidrs-overlapping",
		"ntp-server-configured", "service-cidr-defined", "openshift-ai-gpu-requirements-satisfied"}
	return append(ids, operatorValidationIDs()...)
}
