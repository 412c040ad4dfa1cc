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
	"github.com/openshift/assisted-service/models"
)

type wireIgnored struct {
	ClusterIDs *string `json:"cluster-validation-ids,omitempty"`
	HostIDs    *string `json:"host-validation-ids,omitempty"`
}

// neverIgnoredHost and neverIgnoredCluster are validations without which an installation makes no sense.
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
		ignoredProblems("cluster", model.Value(p.ClusterIDs), isClusterValidation, neverIgnoredCluster()),
		ignoredProblems("host", model.Value(p.HostIDs), isHostValidation, neverIgnoredHost())...)
	if len(problems) > 0 {
		return wire.Reply{}, wire.BadRequest("cannot proceed due to the following errors: %s", strings.Join(problems, "\n"))
	}
	cl.IgnoredHostValidations, cl.IgnoredClusterValidations = model.Value(p.HostIDs), model.Value(p.ClusterIDs)
	return wire.Created(ignoredValidations(cl))
}

func ignoredProblems(kind, text string, known func(id string) bool, never []string) []string {
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
		case !known(id):
			problems = append(problems, fmt.Sprintf("Validation ID '%s' is not a known %s validation", id, kind))
		}
	}
	if len(refused) > 0 {
		problems = append(problems, fmt.Sprintf("unable to ignore the following %s validations (%s)", kind, strings.Join(refused, ",")))
	}
	return problems
}

// isHostValidation and isClusterValidation know the description's validations, and those that it does not list.
func isHostValidation(id string) bool {
	return models.HostValidationID(id).Validate(nil) == nil || isOperatorValidation(id) ||
		id == "inventory-not-partially-truncated" || id == "inventory-not-fully-truncated"
}

func isClusterValidation(id string) bool {
	return models.ClusterValidationID(id).Validate(nil) == nil || isOperatorValidation(id) ||
		id == "custom-manifests-requirements-satisfied" || id == "openshift-ai-gpu-requirements-satisfied"
}

func isOperatorValidation(id string) bool {
	return slices.ContainsFunc(validate.Operators(), func(o validate.OperatorCheck) bool { return o.ID == id })
}
