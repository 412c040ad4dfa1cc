package service

import (
	"io"
	"net/http"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// maxBody bounds what a client may send: log archives are the largest.
const maxBody = 64 << 20

// call is a request as a handler sees it.
type call struct {
	*http.Request
	body []byte
	// taken is the body as its parameter made it out.
	taken any
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
	r.on("POST /v2/events", s.triggerEvent, body[models.Event]("trigger-event-params"))
	r.on("GET /v2/events", s.listEvents, queryID("cluster_id"), queryID("infra_env_id"), queryID("host_id"), choice("order", "ascending", "descending"))
	return r
}

func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (s *Service) clusterRoutes(r *router) {
	r.on("POST /v2/clusters", s.registerCluster, body[clusterCreate]("new-cluster-params"))
	r.on("GET /v2/clusters", s.listClusters, queryID("openshift_cluster_id"))
	r.on("POST /v2/clusters/import", s.importCluster, body[models.ImportClusterParams]("new-import-cluster-params"))
	r.on("POST /v2/clusters/disconnected", s.registerDisconnected, body[disconnectedCreate]("new-cluster-params"))
	r.on("GET /v2/clusters/default-config", s.defaultConfig)
	r.on("GET /v2/clusters/{cluster_id}", s.readCluster)
	r.on("PATCH /v2/clusters/{cluster_id}", s.updateCluster, body[clusterUpdate]("cluster-update-params"))
	r.on("DELETE /v2/clusters/{cluster_id}", s.deleteCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/install", s.installCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/cancel", s.cancelCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/reset", s.resetCluster)
	r.on("POST /v2/clusters/{cluster_id}/actions/allow-add-hosts", s.allowAddHosts)
	r.on("POST /v2/clusters/{cluster_id}/actions/allow-add-workers", s.allowAddHosts)
	r.on("POST /v2/clusters/{cluster_id}/actions/complete-installation", s.completeInstallation, body[models.CompletionParams]("completion-params"))
	r.on("GET /v2/clusters/{cluster_id}/install-config", s.readInstallConfig)
	r.on("PATCH /v2/clusters/{cluster_id}/install-config", s.updateInstallConfig, body[string]("install-config-params"))
	r.on("GET /v2/clusters/{cluster_id}/ignored-validations", s.readIgnored)
	r.on("PUT /v2/clusters/{cluster_id}/ignored-validations", s.setIgnored, body[wireIgnored]("ignored-validations"))
	r.on("GET /v2/clusters/{cluster_id}/preflight-requirements", s.preflight)
	r.on("GET /v2/clusters/{cluster_id}/supported-platforms", s.supportedPlatforms)
	r.on("GET /v2/clusters/{cluster_id}/hosts", s.listClusterHosts, choice("role", model.RoleMaster, model.RoleArbiter, model.RoleWorker, model.RoleAuto))
	r.on("GET /v2/clusters/{cluster_id}/ui-settings", s.readUISettings)
	r.on("PUT /v2/clusters/{cluster_id}/ui-settings", s.setUISettings, body[string]("ui-settings"))
	r.on("GET /v2/clusters/{cluster_id}/monitored-operators", s.readOperators)
	r.on("PUT /v2/clusters/{cluster_id}/monitored-operators", s.reportOperator, body[models.OperatorMonitorReport]("report-params"))
	r.on("PUT /v2/clusters/{cluster_id}/progress", s.reportFinalizing, body[finalizingReport]("finalizing-progress"))
	r.on("GET /v2/domains", s.listDomains)
}

func (s *Service) clusterFileRoutes(r *router) {
	file, folder := required("file_name"), choice("folder", "manifests", "openshift")
	credentials := required("file_name", "kubeconfig", "kubeconfig-noingress", "kubeadmin-password")
	r.on("GET /v2/clusters/{cluster_id}/manifests", s.listManifests)
	r.on("POST /v2/clusters/{cluster_id}/manifests", s.createManifest, body[models.CreateManifestParams]("CreateManifestParams"))
	r.on("PATCH /v2/clusters/{cluster_id}/manifests", s.updateManifest, body[models.UpdateManifestParams]("UpdateManifestParams"))
	r.on("DELETE /v2/clusters/{cluster_id}/manifests", s.deleteManifest, file, folder)
	r.on("GET /v2/clusters/{cluster_id}/manifests/files", s.readManifest, file, folder)
	r.on("GET /v2/clusters/{cluster_id}/credentials", s.readCredentials)
	r.on("GET /v2/clusters/{cluster_id}/downloads/credentials", s.downloadCredentials, credentials)
	r.on("GET /v2/clusters/{cluster_id}/downloads/credentials-presigned", s.presigned, credentials)
	r.on("GET /v2/clusters/{cluster_id}/downloads/files", s.downloadFile, required("file_name", clusterFiles()...))
	r.on("GET /v2/clusters/{cluster_id}/downloads/files-presigned", s.presigned, required("file_name", "bootstrap.ign", "master.ign", "metadata.json", "worker.ign",
		"install-config.yaml", "logs", "manifests"))
	r.on("POST /v2/clusters/{cluster_id}/uploads/ingress-cert", s.uploadIngressCert, body[models.IngressCertParams]("ingress-cert-params"))
	r.on("GET /v2/clusters/{cluster_id}/logs", s.downloadLogs, choice("logs_type", logTypes()...), queryID("host_id"))
	r.on("POST /v2/clusters/{cluster_id}/logs", s.uploadLogs, required("logs_type", logTypes()...), queryID("host_id"), queryID("infra_env_id"), form())
	r.on("PUT /v2/clusters/{cluster_id}/logs-progress", s.clusterLogsProgress, body[models.LogsProgressParams]("logs-progress-params"))
}

func (s *Service) infraEnvRoutes(r *router) {
	script := choice("ipxe_script_type", "discovery-image-always", "boot-order-control")
	r.on("POST /v2/infra-envs", s.registerInfraEnv, body[infraEnvCreate]("infraenv-create-params"))
	r.on("GET /v2/infra-envs", s.listInfraEnvs, queryID("cluster_id"))
	r.on("GET /v2/infra-envs/{infra_env_id}", s.readInfraEnv)
	r.on("PATCH /v2/infra-envs/{infra_env_id}", s.updateInfraEnv, body[infraEnvUpdate]("infra-env-update-params"))
	r.on("DELETE /v2/infra-envs/{infra_env_id}", s.deleteInfraEnv)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/image-url", s.imageURL)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/files", s.infraEnvFile, required("file_name", "discovery.ign", "ipxe-script", "static-network-config"), script, choice("discovery_iso_type", fullISO, minimalISO, disconnectedISO))
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/files-presigned", s.infraEnvPresigned, required("file_name", "discovery.ign", "ipxe-script"), script)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/minimal-initrd", s.minimalInitrd)
	r.on("POST /v2/infra-envs/{infra_env_id}/regenerate-signing-key", s.regenerateSigningKey)
}

func (s *Service) hostRoutes(r *router) {
	const one = "/v2/infra-envs/{infra_env_id}/hosts/{host_id}"
	r.on("POST /v2/infra-envs/{infra_env_id}/hosts", s.registerHost, body[models.HostCreateParams]("new-host-params"))
	r.on("GET /v2/infra-envs/{infra_env_id}/hosts", s.listHosts)
	r.on("GET "+one, s.readHost)
	r.on("PATCH "+one, s.updateHost, body[hostUpdate]("host-update-params"))
	r.on("DELETE "+one, s.deleteHost)
	r.on("POST "+one+"/actions/bind", s.bindHost, body[models.BindHostParams]("bind-host-params"))
	r.on("POST "+one+"/actions/unbind", s.unbindHost)
	r.on("POST "+one+"/actions/install", s.installHost)
	r.on("POST "+one+"/actions/reset", s.resetHost)
	r.on("PATCH "+one+"/actions/reset-validation/{validation_id}", s.resetValidation)
	r.on("PATCH "+one+"/installer-args", s.updateInstallerArgs, body[models.InstallerArgsParams]("installer-args-params"))
	r.on("GET "+one+"/ignition", s.readHostIgnition)
	r.on("PATCH "+one+"/ignition", s.updateHostIgnition, body[models.HostIgnitionParams]("host-ignition-params"))
	r.on("GET "+one+"/instructions", s.nextSteps)
	r.on("POST "+one+"/instructions", s.stepReply, body[models.StepReply]("reply"))
	r.on("PUT "+one+"/progress", s.reportProgress, body[stageReport]("host-progress"))
	r.on("PUT "+one+"/logs-progress", s.hostLogsProgress, body[models.LogsProgressParams]("logs-progress-params"))
	r.on("GET /v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition", s.downloadHostIgnition)
}

// router adds to a ServeMux what the framework does: strict methods and its own
// words for a path that does not exist.
type router struct {
	s   *Service
	mux *http.ServeMux
}

func (r *router) on(pattern string, h handler, others ...parameter) {
	method, path, _ := strings.Cut(pattern, " ")
	parameters := parametersOf(path, others)
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
			c := &call{Request: req, body: body}
			if err := c.checkParameters(parameters); err != nil {
				return reply{}, err
			}
			return h(c)
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
