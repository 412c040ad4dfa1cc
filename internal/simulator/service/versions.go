package service

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

func (v *variant) routes(r *router) {
	r.handle("GET /v2/openshift-versions", openshiftVersions)
	r.handle("GET /v2/release-sources", func(*wire.Call) (wire.Reply, error) { return wire.OK(versions.ReleaseSources()) })
	r.handle("GET /v2/component-versions", func(*wire.Call) (wire.Reply, error) { return wire.OK(versions.Components()) })
	version := wire.Required("openshift_version")
	arch := wire.Choice("cpu_architecture", "x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi")
	platform := wire.Choice("platform_type", "baremetal", "none", "nutanix", "vsphere", "external")
	r.handle("GET /v2/support-levels/features", v.features, version, arch, platform)
	r.handle("GET /v2/support-levels/features/detailed", v.detailedFeatures, version, arch, platform)
	r.handle("GET /v2/support-levels/architectures", func(c *wire.Call) (wire.Reply, error) {
		return wire.OK(map[string]any{"architectures": versions.ArchitectureLevels(featureQuery(c).OpenshiftVersion)})
	}, version)
	r.handle("GET /v2/supported-operators", v.operators)
	r.handle("GET /v2/supported-operators/{operator_name}", operatorProperties)
	r.handle(
		"GET /v2/operators/bundles", func(c *wire.Call) (wire.Reply, error) { return wire.OK(versions.Bundles(featureQuery(c))) }, arch,
		platform,
	)
	r.handle("GET /v2/operators/bundles/{id}", bundle)
}

func openshiftVersions(c *wire.Call) (wire.Reply, error) {
	q := c.URL.Query()
	return wire.OK(versions.OpenshiftVersions(q.Get("version"), q.Get("only_latest") == "true"))
}

func featureQuery(c *wire.Call) versions.Query {
	q := c.URL.Query()
	return versions.Query{OpenshiftVersion: q.Get("openshift_version"), CPUArchitecture: q.Get("cpu_architecture"),
		PlatformType: q.Get("platform_type"), ExternalPlatform: q.Get("external_platform_name")}
}

func (v *variant) features(c *wire.Call) (wire.Reply, error) {
	levels := versions.FeatureLevels(featureQuery(c))
	maps.DeleteFunc(levels, func(id, _ string) bool { return !v.release.HasFeature(id) })
	return wire.OK(map[string]any{"features": levels})
}

func (v *variant) detailedFeatures(c *wire.Call) (wire.Reply, error) {
	answer := versions.DetailedFeatures(featureQuery(c))
	answer.Features = slices.DeleteFunc(answer.Features, func(f versions.FeatureSupport) bool { return !v.release.HasFeature(f.ID) })
	answer.Operators = slices.DeleteFunc(answer.Operators, func(o versions.OperatorSupport) bool { return !v.release.HasOperator(o.Name) })
	return wire.OK(answer)
}

func (v *variant) operators(*wire.Call) (wire.Reply, error) {
	return wire.OK(slices.DeleteFunc(versions.Operators(), func(name string) bool { return !v.release.HasOperator(name) }))
}

func operatorProperties(c *wire.Call) (wire.Reply, error) {
	name := c.PathValue("operator_name")
	properties, found := versions.OperatorProperties(name)
	if !found {
		return wire.Reply{}, wire.NotFound("operator %s not found", name)
	}
	return wire.OK(properties)
}

func bundle(c *wire.Call) (wire.Reply, error) {
	id := c.PathValue("id")
	b, found := versions.BundleByID(id)
	if !found {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "bundle '%s' is not supported", id)
	}
	return wire.OK(b)
}

func supportedPlatforms(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	if cl.IsSingle() || len(cl.Hosts) == 0 {
		return wire.OK([]string{model.PlatformNone})
	}
	return wire.OK([]string{model.PlatformBaremetal, model.PlatformNone, "external"})
}

type roleNeeds struct {
	Qualitative  []string          `json:"qualitative"`
	Quantitative versions.Hardware `json:"quantitative"`
}

type operatorNeeds struct {
	Dependencies []string             `json:"dependencies"`
	OperatorName string               `json:"operator_name"`
	Requirements map[string]roleNeeds `json:"requirements"`
}

func preflight(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	master := versions.Master
	if cl.IsSingle() {
		master = versions.SingleNode
	}
	needs := []operatorNeeds{}
	for _, name := range versions.Operators() {
		operator, _ := versions.FindOperator(name)
		entry := operatorNeeds{
			Dependencies: append([]string{}, operator.Needed(cl.IsSingle())...), OperatorName: name, Requirements: map[string]roleNeeds{},
		}
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
	control, worker := versions.RoleHardware(cl.OpenshiftVersion, master), versions.RoleHardware(cl.OpenshiftVersion, versions.Worker)
	worker.DiskSpeedMs = versions.RoleHardware(cl.OpenshiftVersion, versions.Master).DiskSpeedMs // as this answer has it
	control.TPM, worker.TPM = validate.NeedsTPM(cl, model.RoleMaster), validate.NeedsTPM(cl, model.RoleWorker)
	return wire.OK(map[string]any{
		"ocp":       map[string]roleNeeds{versions.Master: {Quantitative: control}, versions.Worker: {Quantitative: worker}},
		"operators": needs,
	})
}

// variant is what one service has otherwise than another: its release, and whether it runs as the operator of a hub.
type variant struct {
	release versions.ServiceRelease
	hub     bool
	unmade  map[string]bool // checks that its release does not make
}

// operation is a request that not every release of the service knows, or knows with this body.
type operation struct {
	since string
	kind  string // of the object that the body is about
	param string // the framework's name of the body
}

func operations() map[string]operation {
	return map[string]operation{
		"POST /v2/clusters":                        {kind: "Cluster", param: "newClusterParams"},
		"PATCH /v2/clusters/{cluster_id}":          {kind: "Cluster", param: "clusterUpdateParams"},
		"POST /v2/infra-envs":                      {kind: "InfraEnv", param: "infraenvCreateParams"},
		"PATCH /v2/infra-envs/{infra_env_id}":      {kind: "InfraEnv", param: "infraEnvUpdateParams"},
		"PATCH " + oneHost:                         {kind: "Host", param: "hostUpdateParams"},
		"POST /v2/clusters/disconnected":           {since: "2.15"},
		"GET /v2/support-levels/features/detailed": {since: "2.15"},
		"GET /v2/operators/bundles":                {since: "2.13"},
		"GET /v2/operators/bundles/{id}":           {since: "2.13"},
	}
}

func (v *variant) unknown(pattern string, req *http.Request, body []byte) error {
	o, known := operations()[pattern]
	if !known || v.release == "" {
		return nil
	}
	if !v.release.Has(o.since) {
		return &wire.FrameError{Status: http.StatusNotFound, Message: "path " + req.URL.Path + " was not found"}
	}
	var sent map[string]json.RawMessage
	_ = json.Unmarshal(body, &sent) // who reads the body says what is wrong with it
	for _, field := range versions.Fields() {
		value, has := sent[field.Name]
		if !has || field.Kind != o.kind || v.release.Has(field.Since) {
			continue
		}
		var text string
		switch {
		case field.Known == nil:
			return wire.Malformed("parsing %s body from \"\" failed, because json: unknown field %q", o.param, field.Name)
		case json.Unmarshal(value, &text) == nil && !slices.Contains(field.Known, text):
			return wire.BodyEnum(field.Name, text, field.Known...)
		}
	}
	return nil
}

func (v *variant) asOld(body any) any {
	if v.release == "" || body == nil {
		return body
	}
	if _, raw := body.([]byte); raw {
		return body
	}
	data, err := json.Marshal(body)
	if err != nil {
		return body
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil {
		return body
	}
	v.prune(tree)
	return tree
}

func (v *variant) prune(tree any) {
	switch node := tree.(type) {
	case []any:
		for _, item := range node {
			v.prune(item)
		}
	case map[string]any:
		kind, _ := node["kind"].(string)
		for _, field := range versions.Fields() {
			if kindOf(kind) == field.Kind && field.Known == nil && !v.release.Has(field.Since) {
				delete(node, field.Name)
			}
		}
		for _, item := range node {
			v.prune(item)
		}
	}
}

func kindOf(kind string) string {
	switch kind {
	case model.KindAddHosts:
		return "Cluster"
	case model.KindAddedHost:
		return "Host"
	}
	return kind
}

func (v *variant) made(list []model.Check) []model.Check {
	if v.release == "" {
		return list
	}
	return slices.DeleteFunc(list, func(c model.Check) bool { return v.unmade[c.ID] })
}

func unmadeChecks(release versions.ServiceRelease) map[string]bool {
	unmade := map[string]bool{}
	for _, id := range release.LaterValidations() {
		unmade[id] = true
	}
	for _, o := range validate.Operators() {
		unmade[o.ID] = !release.HasOperator(o.Name)
	}
	return unmade
}

// copiesSince is the release whose machines also copy the data of a registry.
const copiesSince = "2.16"
