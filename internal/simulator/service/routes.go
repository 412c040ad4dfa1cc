package service

import (
	"io"
	"net/http"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// maxBody bounds what a client may send: log archives are the largest.
const maxBody = 64 << 20

// call is a request as a handler sees it.
type call struct {
	*http.Request
	body []byte
}

// handler answers a call. It runs under the service's lock.
type handler func(*call) (reply, error)

// routes lists every operation of the API.
func (s *Service) routes() http.Handler {
	r := &router{s: s, mux: http.NewServeMux()}
	for _, path := range []string{"/ready", "/health"} {
		r.mux.HandleFunc("GET "+path, empty)
		r.mux.HandleFunc("GET "+Base+path, empty)
	}
	s.clusterRoutes(r)
	s.clusterFileRoutes(r)
	s.infraEnvRoutes(r)
	s.hostRoutes(r)
	s.knowledgeRoutes(r)
	r.on("GET /v2/events", s.listEvents)
	return r
}

func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (s *Service) clusterRoutes(r *router) {
	r.on("POST /v2/clusters", s.registerCluster)
	r.on("GET /v2/clusters", s.listClusters)
	r.on("POST /v2/clusters/import", s.importCluster)
	r.on("POST /v2/clusters/disconnected", s.registerDisconnected)
	r.on("GET /v2/clusters/default-config", s.defaultConfig)
	r.on("GET /v2/clusters/{cluster_id}", s.readCluster)
	r.on("PATCH /v2/clusters/{cluster_id}", s.updateCluster)
	r.on("DELETE /v2/clusters/{cluster_id}", s.deleteCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/install", s.installCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/cancel", s.cancelCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/reset", s.resetCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/allow-add-hosts", s.allowAddHosts)
	r.on("POST /v2/clusters/{cluster_id}/actions/allow-add-workers", s.allowAddHosts)
	r.on("POST /v2/clusters/{cluster_id}/actions/complete-installation", s.completeInstallation)
	r.on("GET /v2/clusters/{cluster_id}/install-config", s.readInstallConfig)
	r.on("PATCH /v2/clusters/{cluster_id}/install-config", s.updateInstallConfig)
	r.on("GET /v2/clusters/{cluster_id}/ignored-validations", s.readIgnored)
	r.on("PUT /v2/clusters/{cluster_id}/ignored-validations", s.setIgnored)
	r.on("GET /v2/clusters/{cluster_id}/preflight-requirements", s.preflight)
	r.on("GET /v2/clusters/{cluster_id}/supported-platforms", s.supportedPlatforms)
	r.on("GET /v2/clusters/{cluster_id}/hosts", s.listClusterHosts)
	r.on("GET /v2/clusters/{cluster_id}/ui-settings", s.readUISettings)
	r.on("PUT /v2/clusters/{cluster_id}/ui-settings", s.setUISettings)
	r.on("GET /v2/clusters/{cluster_id}/monitored-operators", s.readOperators)
	r.on("PUT /v2/clusters/{cluster_id}/monitored-operators", s.reportOperator)
	r.on("PUT /v2/clusters/{cluster_id}/progress", s.reportFinalizing)
	r.on("GET /v2/domains", s.listDomains)
}

func (s *Service) clusterFileRoutes(r *router) {
	r.on("GET /v2/clusters/{cluster_id}/manifests", s.listManifests)
	r.on("POST /v2/clusters/{cluster_id}/manifests", s.createManifest)
	r.on("PATCH /v2/clusters/{cluster_id}/manifests", s.updateManifest)
	r.on("DELETE /v2/clusters/{cluster_id}/manifests", s.deleteManifest)
	r.on("GET /v2/clusters/{cluster_id}/manifests/files", s.readManifest)
	r.on("GET /v2/clusters/{cluster_id}/credentials", s.readCredentials)
	r.on("GET /v2/clusters/{cluster_id}/downloads/credentials", s.downloadCredentials)
	r.on("GET /v2/clusters/{cluster_id}/downloads/credentials-presigned", s.presigned)
	r.on("GET /v2/clusters/{cluster_id}/downloads/files", s.downloadFile)
	r.on("GET /v2/clusters/{cluster_id}/downloads/files-presigned", s.presigned)
	r.on("POST /v2/clusters/{cluster_id}/uploads/ingress-cert", s.uploadIngressCert)
	r.on("GET /v2/clusters/{cluster_id}/logs", s.downloadLogs)
	r.on("POST /v2/clusters/{cluster_id}/logs", s.uploadLogs)
	r.on("PUT /v2/clusters/{cluster_id}/logs-progress", s.clusterLogsProgress)
}

func (s *Service) infraEnvRoutes(r *router) {
	r.on("POST /v2/infra-envs", s.registerInfraEnv)
	r.on("GET /v2/infra-envs", s.listInfraEnvs)
	r.on("GET /v2/infra-envs/{infra_env_id}", s.readInfraEnv)
	r.on("PATCH /v2/infra-envs/{infra_env_id}", s.updateInfraEnv)
	r.on("DELETE /v2/infra-envs/{infra_env_id}", s.deleteInfraEnv)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/image-url", s.imageURL)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/files", s.infraEnvFile)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/files-presigned", s.infraEnvPresigned)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/minimal-initrd", s.minimalInitrd)
	r.on("POST /v2/infra-envs/{infra_env_id}/regenerate-signing-key", s.regenerateSigningKey)
}

func (s *Service) hostRoutes(r *router) {
	const one = "/v2/infra-envs/{infra_env_id}/hosts/{host_id}"
	r.on("POST /v2/infra-envs/{infra_env_id}/hosts", s.registerHost)
	r.on("GET /v2/infra-envs/{infra_env_id}/hosts", s.listHosts)
	r.on("GET "+one, s.readHost)
	r.on("PATCH "+one, s.updateHost)
	r.on("DELETE "+one, s.deleteHost)
	r.on("POST "+one+"/actions/bind", s.bindHost)
	r.on("POST "+one+"/actions/unbind", s.unbindHost)
	r.on("POST "+one+"/actions/install", s.installHost)
	r.on("POST "+one+"/actions/reset", s.resetHost)
	r.on("PATCH "+one+"/actions/reset-validation/{validation_id}", s.resetValidation)
	r.on("PATCH "+one+"/installer-args", s.updateInstallerArgs)
	r.on("GET "+one+"/ignition", s.readHostIgnition)
	r.on("PATCH "+one+"/ignition", s.updateHostIgnition)
	r.on("GET "+one+"/instructions", s.nextSteps)
	r.on("POST "+one+"/instructions", s.stepReply)
	r.on("PUT "+one+"/progress", s.reportProgress)
	r.on("PUT "+one+"/logs-progress", s.hostLogsProgress)
	r.on("GET /v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition", s.downloadHostIgnition)
}

// router adds to a ServeMux what the framework does: strict methods and its own
// words for a path that does not exist.
type router struct {
	s   *Service
	mux *http.ServeMux
}

func (r *router) on(pattern string, h handler) {
	method, path, _ := strings.Cut(pattern, " ")
	r.mux.HandleFunc(method+" "+Base+path, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			errorReply(malformed("reading the request: %v", err)).send(w, r.s.date())
			return
		}
		r.s.mu.Lock()
		r.s.settle()
		answer, err := r.s.visible(req, func() (reply, error) {
			if err := r.s.unknown(pattern, req, body); err != nil {
				return reply{}, err
			}
			return h(&call{Request: req, body: body})
		})
		answer.body = r.s.asOld(answer.body)
		r.s.mu.Unlock()
		if err != nil {
			answer = errorReply(err)
		}
		answer.send(w, r.s.date())
	})
}

// visible hides what belongs to somebody else from a user who has a name.
func (s *Service) visible(req *http.Request, answer func() (reply, error)) (reply, error) {
	id := auth.From(req.Context())
	if id.Scheme == auth.UserAuth && id.Username != "admin" {
		c, e := s.clusters[req.PathValue("cluster_id")], s.infraEnvs[req.PathValue("infra_env_id")]
		if c != nil && c.UserName != id.Username || e != nil && e.UserName != id.Username {
			return reply{}, notFound("Object Not Found")
		}
	}
	return answer()
}

// owner is who makes what a call makes.
func (c *call) owner() string { return auth.From(c.Context()).Username }

// sees tells whether a list shows the caller what belongs to the owner.
func (c *call) sees(owner string) bool {
	id := auth.From(c.Context())
	return id.Scheme != auth.UserAuth || id.Username == owner || id.Username == "admin"
}

// ServeHTTP implements http.Handler.
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, pattern := r.mux.Handler(req); pattern != "" {
		r.mux.ServeHTTP(w, req)
		return
	}
	var allowed []string
	for _, method := range []string{"DELETE", "GET", "PATCH", "POST", "PUT"} {
		other := req.Clone(req.Context())
		other.Method = method
		if _, pattern := r.mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	err := &frameError{status: http.StatusNotFound, message: "path " + req.URL.Path + " was not found"}
	if len(allowed) > 0 {
		err = &frameError{status: http.StatusMethodNotAllowed,
			message: "method " + req.Method + " is not allowed, but [" + strings.Join(allowed, ",") + "] are"}
		w.Header().Set("Allow", strings.Join(allowed, ","))
	}
	errorReply(err).send(w, r.s.date())
}
