package service

import (
	"maps"
	"net/http"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// knowledgeRoutes answer what the service knows without any cluster.
func (s *Service) knowledgeRoutes(r *router) {
	r.on("GET /v2/openshift-versions", s.openshiftVersions)
	r.on("GET /v2/release-sources", func(*wire.Call) (wire.Reply, error) { return wire.OK(versions.ReleaseSources()) })
	r.on("GET /v2/component-versions", func(*wire.Call) (wire.Reply, error) { return wire.OK(versions.Components()) })
	version := wire.Required("openshift_version")
	arch := wire.Choice("cpu_architecture", "x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi")
	platform := wire.Choice("platform_type", "baremetal", "none", "nutanix", "vsphere", "external")
	r.on("GET /v2/support-levels/features", s.features, version, arch, platform)
	r.on("GET /v2/support-levels/features/detailed", s.detailedFeatures, version, arch, platform)
	r.on("GET /v2/support-levels/architectures", s.architectures, version)
	r.on("GET /v2/supported-operators", s.operators)
	r.on("GET /v2/supported-operators/{operator_name}", s.operatorProperties)
	r.on("GET /v2/operators/bundles", s.bundles, arch, platform)
	r.on("GET /v2/operators/bundles/{id}", s.bundle)
}

func (s *Service) openshiftVersions(c *wire.Call) (wire.Reply, error) {
	q := c.URL.Query()
	list := versions.OpenshiftVersions(q.Get("version"), q.Get("only_latest") == "true")
	return wire.OK(list)
}

func featureQuery(c *wire.Call) versions.Query {
	q := c.URL.Query()
	return versions.Query{OpenshiftVersion: q.Get("openshift_version"), CPUArchitecture: q.Get("cpu_architecture"),
		PlatformType: q.Get("platform_type"), ExternalPlatform: q.Get("external_platform_name")}
}

func (s *Service) features(c *wire.Call) (wire.Reply, error) {
	q := featureQuery(c)
	levels := versions.FeatureLevels(q)
	maps.DeleteFunc(levels, func(id, _ string) bool { return !s.cfg.Release.HasFeature(id) })
	return wire.OK(map[string]any{"features": levels})
}

func (s *Service) detailedFeatures(c *wire.Call) (wire.Reply, error) {
	q := featureQuery(c)
	answer := versions.DetailedFeatures(q)
	answer.Features = slices.DeleteFunc(answer.Features, func(f versions.FeatureSupport) bool { return !s.cfg.Release.HasFeature(f.ID) })
	answer.Operators = slices.DeleteFunc(answer.Operators, func(o versions.OperatorSupport) bool { return !s.cfg.Release.HasOperator(o.Name) })
	return wire.OK(answer)
}

func (s *Service) architectures(c *wire.Call) (wire.Reply, error) {
	q := featureQuery(c)
	return wire.OK(map[string]any{"architectures": versions.ArchitectureLevels(q.OpenshiftVersion)})
}

func (s *Service) operators(*wire.Call) (wire.Reply, error) {
	return wire.OK(slices.DeleteFunc(versions.Operators(), func(name string) bool { return !s.cfg.Release.HasOperator(name) }))
}

func (s *Service) operatorProperties(c *wire.Call) (wire.Reply, error) {
	name := c.PathValue("operator_name")
	properties, found := versions.OperatorProperties(name)
	if !found {
		return wire.Reply{}, wire.NotFound("operator %s not found", name)
	}
	return wire.OK(properties)
}

func (s *Service) bundles(c *wire.Call) (wire.Reply, error) {
	q := featureQuery(c)
	return wire.OK(versions.Bundles(q))
}

func (s *Service) bundle(c *wire.Call) (wire.Reply, error) {
	id := c.PathValue("id")
	b, found := versions.BundleByID(id)
	if !found {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "bundle '%s' is not supported", id)
	}
	return wire.OK(b)
}

func (s *Service) supportedPlatforms(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	if cl.IsSingle() || len(cl.Hosts) == 0 {
		return wire.OK([]string{model.PlatformNone})
	}
	return wire.OK([]string{model.PlatformBaremetal, model.PlatformNone, "external"})
}

// roleNeeds is what a role must have, as preflight-requirements prints it.
type roleNeeds struct {
	Qualitative  []string          `json:"qualitative"`
	Quantitative versions.Hardware `json:"quantitative"`
}

type operatorNeeds struct {
	Dependencies []string             `json:"dependencies"`
	OperatorName string               `json:"operator_name"`
	Requirements map[string]roleNeeds `json:"requirements"`
}

func (s *Service) preflight(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	master := versions.Master
	if cl.IsSingle() {
		master = versions.SingleNode
	}
	needs := []operatorNeeds{}
	for _, name := range versions.Operators() {
		operator, _ := versions.FindOperator(name)
		entry := operatorNeeds{Dependencies: append([]string{}, operator.Needed(cl.IsSingle())...), OperatorName: name, Requirements: map[string]roleNeeds{}}
		for _, role := range []string{versions.Master, versions.Worker} {
			asked := role
			if role == versions.Master && name == "cnv" { // of a single node no other operator foretells more
				asked = master
			}
			entry.Requirements[role] = roleNeeds{Qualitative: operator.Requirements[role],
				Quantitative: validate.OperatorHardware(cl.OpenshiftVersion, asked, name)}
		}
		needs = append(needs, entry)
	}
	control, worker := versions.RoleHardware(cl.OpenshiftVersion, master), workerNeeds(cl.OpenshiftVersion)
	control.TPM, worker.TPM = validate.NeedsTPM(cl, model.RoleMaster), validate.NeedsTPM(cl, model.RoleWorker)
	return wire.OK(map[string]any{
		"ocp":       map[string]roleNeeds{versions.Master: {Quantitative: control}, versions.Worker: {Quantitative: worker}},
		"operators": needs,
	})
}

// workerNeeds is a worker's hardware with the disk speed that the control plane needs, as this answer has it.
func workerNeeds(version string) versions.Hardware {
	h := versions.RoleHardware(version, versions.Worker)
	h.DiskSpeedMs = versions.RoleHardware(version, versions.Master).DiskSpeedMs
	return h
}
