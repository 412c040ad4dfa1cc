package service

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// operation is a request whose body, or whose whole path, not every release of the service knows.
type operation struct {
	since string
	kind  string // of the object that the body is about
	param string // the framework's name of the body
}

func operations() map[string]operation {
	const host = "/v2/infra-envs/{infra_env_id}/hosts/{host_id}"
	return map[string]operation{
		"POST /v2/clusters":                        {kind: "Cluster", param: "newClusterParams"},
		"PATCH /v2/clusters/{cluster_id}":          {kind: "Cluster", param: "clusterUpdateParams"},
		"POST /v2/infra-envs":                      {kind: "InfraEnv", param: "infraenvCreateParams"},
		"PATCH /v2/infra-envs/{infra_env_id}":      {kind: "InfraEnv", param: "infraEnvUpdateParams"},
		"PATCH " + host:                            {kind: "Host", param: "hostUpdateParams"},
		"POST /v2/clusters/disconnected":           {since: "2.15"},
		"GET /v2/support-levels/features/detailed": {since: "2.15"},
		"GET /v2/operators/bundles":                {since: "2.13"},
		"GET /v2/operators/bundles/{id}":           {since: "2.13"},
	}
}

// unknown refuses what the service's release does not know yet.
func (s *Service) unknown(pattern string, req *http.Request, body []byte) error {
	o, known := operations()[pattern]
	if !known || s.cfg.Release == "" {
		return nil
	}
	if !s.cfg.Release.Has(o.since) {
		return &wire.FrameError{Status: http.StatusNotFound, Message: "path " + req.URL.Path + " was not found"}
	}
	var sent map[string]json.RawMessage
	_ = json.Unmarshal(body, &sent) // who reads the body says what is wrong with it
	for _, field := range versions.Fields() {
		value, has := sent[field.Name]
		if !has || field.Kind != o.kind || s.cfg.Release.Has(field.Since) {
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

// asOld takes out of an answer what the service's release does not have.
func (s *Service) asOld(body any) any {
	if s.cfg.Release == "" || body == nil {
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
	s.prune(tree)
	return tree
}

func (s *Service) prune(tree any) {
	switch node := tree.(type) {
	case []any:
		for _, item := range node {
			s.prune(item)
		}
	case map[string]any:
		kind, _ := node["kind"].(string)
		for _, field := range versions.Fields() {
			if kindOf(kind) == field.Kind && field.Known == nil && !s.cfg.Release.Has(field.Since) {
				delete(node, field.Name)
			}
		}
		for _, item := range node {
			s.prune(item)
		}
	}
}

// kindOf is the kind of object, whatever becomes of it.
func kindOf(kind string) string {
	switch kind {
	case model.KindAddHosts:
		return "Cluster"
	case model.KindAddedHost:
		return "Host"
	}
	return kind
}

// made leaves out the checks that the service's release does not make.
func (s *Service) made(list []model.Check) []model.Check {
	if s.cfg.Release == "" {
		return list
	}
	return slices.DeleteFunc(list, func(c model.Check) bool { return s.unmade[c.ID] })
}

// unmadeChecks are the checks that a release of the service does not make.
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
