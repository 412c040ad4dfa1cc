package auth

import (
	"net/http"
	"slices"
	"strings"
)

// basePath is where the API lives (the basePath of the service's description).
const basePath = "/api/assisted-install/v2/"

// operation is an API call that callers other than users may make. A * in the
// path is any one segment.
type operation struct {
	method  string
	path    string
	schemes []Scheme
}

// operations lists the calls whose schemes differ from the default, which is a
// user. What is here is what agents, the in-cluster controller, watchers and
// bearers of a link do; a client that is none of these needs a user's token.
func operations() []operation {
	agent := []Scheme{AgentAuth}
	userOrAgent := []Scheme{UserAuth, AgentAuth}
	file := []Scheme{UserAuth, AgentAuth, URLAuth}
	media := []Scheme{UserAuth, AgentAuth, URLAuth, ImageAuth, ImageURLAuth}
	return []operation{
		{http.MethodPost, "infra-envs/*/hosts", agent},
		{http.MethodGet, "infra-envs/*/hosts/*/instructions", agent},
		{http.MethodPost, "infra-envs/*/hosts/*/instructions", agent},
		{http.MethodPut, "infra-envs/*/hosts/*/progress", agent},
		{http.MethodPut, "infra-envs/*/hosts/*/logs-progress", agent},
		{http.MethodPut, "clusters/*/progress", agent},
		{http.MethodPut, "clusters/*/logs-progress", agent},
		{http.MethodPut, "clusters/*/monitored-operators", agent},
		{http.MethodPost, "clusters/*/logs", agent},
		{http.MethodPost, "clusters/*/uploads/ingress-cert", agent},
		{http.MethodPost, "clusters/*/actions/complete-installation", agent},
		{http.MethodGet, "infra-env/*/hosts/*/downloads/ignition", userOrAgent},
		{http.MethodGet, "infra-envs/*/hosts", userOrAgent},
		{http.MethodGet, "clusters/*/hosts", userOrAgent},
		{http.MethodGet, "clusters/*/monitored-operators", userOrAgent},
		{http.MethodGet, "clusters", []Scheme{UserAuth, WatcherAuth}},
		{http.MethodGet, "infra-envs", []Scheme{UserAuth, WatcherAuth}},
		{http.MethodGet, "clusters/*", []Scheme{UserAuth, AgentAuth, URLAuth, WatcherAuth}},
		{http.MethodGet, "infra-envs/*", append(media, WatcherAuth)},
		{http.MethodGet, "events", []Scheme{UserAuth, URLAuth, WatcherAuth}},
		{http.MethodGet, "clusters/*/logs", []Scheme{UserAuth, URLAuth}},
		{http.MethodGet, "clusters/*/downloads/files", file},
		{http.MethodGet, "clusters/*/downloads/credentials", file},
		{http.MethodGet, "clusters/*/manifests", userOrAgent},
		{http.MethodGet, "clusters/*/manifests/files", userOrAgent},
		{http.MethodGet, "infra-envs/*/downloads/files", media},
		{http.MethodGet, "infra-envs/*/downloads/minimal-initrd", media},
	}
}

// schemes says which callers may make a request. It is not ok for paths outside
// the API, such as /ready, which anyone may ask for.
func schemes(table []operation, method, path string) (allowed []Scheme, ok bool) {
	rest, ok := strings.CutPrefix(path, basePath)
	if !ok {
		return nil, false
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for _, op := range table {
		if op.method == method && fits(op.path, segments) {
			return op.schemes, true
		}
	}
	return []Scheme{UserAuth}, true
}

func fits(pattern string, segments []string) bool {
	want := strings.Split(pattern, "/")
	return slices.EqualFunc(want, segments, func(w, s string) bool { return w == s || w == "*" && s != "" })
}

// target is the object that a request is about, for tokens that open only one.
func target(r *http.Request) (infraEnvID, clusterID string) {
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, basePath), "/")
	if len(segments) > 1 {
		switch segments[0] {
		case "infra-envs", "infra-env":
			return segments[1], ""
		case "clusters":
			return "", segments[1]
		}
	}
	query := r.URL.Query()
	return query.Get("infra_env_id"), query.Get("cluster_id")
}

func hostsOf(r *http.Request) []string {
	if r.URL.Path != basePath+"events" {
		return nil
	}
	query := r.URL.Query()
	ids := strings.Split(query.Get("host_ids"), ",")
	return slices.DeleteFunc(append(ids, query.Get("host_id")), func(id string) bool { return id == "" })
}
