package service

import (
	"io"
	"net/http"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// maxBody bounds what a client may send: log archives are the largest.
const maxBody = 64 << 20

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
	r.on("POST /v2/events", s.triggerEvent, wire.Body[models.Event]("trigger-event-params"))
	r.on("GET /v2/events", s.listEvents, wire.QueryID("cluster_id"), wire.QueryID("infra_env_id"), wire.QueryID("host_id"),
		wire.Choice("order", "ascending", "descending"))
	return r
}

func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (s *Service) clusterRoutes(r *router) {
	r.on("POST /v2/clusters", s.registerCluster, wire.Body[request.ClusterCreateParams]("new-cluster-params"))
	r.on("GET /v2/clusters", s.listClusters, wire.QueryID("openshift_cluster_id"))
	r.on("POST /v2/clusters/import", s.importCluster, wire.Body[models.ImportClusterParams]("new-import-cluster-params"))
	r.on("POST /v2/clusters/disconnected", s.registerDisconnected, wire.Body[disconnectedCreate]("new-cluster-params"))
	r.on("GET /v2/clusters/default-config", s.defaultConfig)
	r.on("GET /v2/clusters/{cluster_id}", s.readCluster)
	r.on("PATCH /v2/clusters/{cluster_id}", s.ofCluster(s.updateCluster), wire.Body[request.V2ClusterUpdateParams]("cluster-update-params"))
	r.on("DELETE /v2/clusters/{cluster_id}", s.ofCluster(s.deleteCluster))
	r.on("POST /v2/clusters/{cluster_id}/actions/install", s.ofCluster(s.installCluster))
	r.on("POST /v2/clusters/{cluster_id}/actions/cancel", s.ofCluster(s.cancelCluster))
	r.on("POST /v2/clusters/{cluster_id}/actions/reset", s.ofCluster(s.resetCluster))
	r.on("POST /v2/clusters/{cluster_id}/actions/allow-add-hosts", s.ofCluster(s.allowAddHosts))
	r.on("POST /v2/clusters/{cluster_id}/actions/allow-add-workers", s.ofCluster(s.allowAddHosts))
	r.on(
		"POST /v2/clusters/{cluster_id}/actions/complete-installation", s.ofCluster(s.completeInstallation),
		wire.Body[models.CompletionParams]("completion-params"),
	)
	r.on("GET /v2/clusters/{cluster_id}/install-config", s.ofCluster(s.readInstallConfig))
	r.on("PATCH /v2/clusters/{cluster_id}/install-config", s.ofCluster(s.updateInstallConfig), wire.Body[string]("install-config-params"))
	r.on("GET /v2/clusters/{cluster_id}/ignored-validations", s.ofCluster(s.readIgnored))
	r.on("PUT /v2/clusters/{cluster_id}/ignored-validations", s.setIgnored, wire.Body[models.IgnoredValidations]("ignored-validations"))
	r.on("GET /v2/clusters/{cluster_id}/preflight-requirements", s.ofStored("record not found", s.preflight))
	r.on(
		"GET /v2/clusters/{cluster_id}/supported-platforms",
		s.ofStored("error getting cluster, error: record not found", s.supportedPlatforms),
	)
	r.on(
		"GET /v2/clusters/{cluster_id}/hosts", s.listClusterHosts,
		wire.Choice("role", model.RoleMaster, model.RoleArbiter, model.RoleWorker, model.RoleAuto),
	)
	r.on("GET /v2/clusters/{cluster_id}/ui-settings", s.ofStored("record not found", s.readUISettings))
	r.on("PUT /v2/clusters/{cluster_id}/ui-settings", s.ofStored("record not found", s.setUISettings), wire.Body[string]("ui-settings"))
	r.on("GET /v2/clusters/{cluster_id}/monitored-operators", s.readOperators)
	r.on("PUT /v2/clusters/{cluster_id}/monitored-operators", s.reportOperator, wire.Body[models.OperatorMonitorReport]("report-params"))
	r.on("PUT /v2/clusters/{cluster_id}/progress", s.reportFinalizing, wire.Body[finalizingReport]("finalizing-progress"))
	r.on("GET /v2/domains", func(*wire.Call) (wire.Reply, error) { return wire.OK([]struct{}{}) })
}

func (s *Service) clusterFileRoutes(r *router) {
	file, folder := wire.Required("file_name"), wire.Choice("folder", "manifests", "openshift")
	credentials := wire.Required("file_name", "kubeconfig", "kubeconfig-noingress", "kubeadmin-password")
	r.on("GET /v2/clusters/{cluster_id}/manifests", s.ofStored("Object Not Found", s.listManifests))
	r.on(
		"POST /v2/clusters/{cluster_id}/manifests", s.ofStored("Object Not Found", s.createManifest),
		wire.Body[models.CreateManifestParams]("CreateManifestParams"),
	)
	r.on(
		"PATCH /v2/clusters/{cluster_id}/manifests", s.ofStored("Object Not Found", s.updateManifest),
		wire.Body[models.UpdateManifestParams]("UpdateManifestParams"),
	)
	r.on("DELETE /v2/clusters/{cluster_id}/manifests", s.ofStored("Object Not Found", s.deleteManifest), file, folder)
	r.on("GET /v2/clusters/{cluster_id}/manifests/files", s.ofStored("Object Not Found", s.readManifest), file, folder)
	r.on("GET /v2/clusters/{cluster_id}/credentials", s.ofStored("record not found", s.readCredentials))
	r.on("GET /v2/clusters/{cluster_id}/downloads/credentials", s.ofStored("record not found", s.downloadCredentials), credentials)
	r.on("GET /v2/clusters/{cluster_id}/downloads/credentials-presigned", s.presigned, credentials)
	r.on(
		"GET /v2/clusters/{cluster_id}/downloads/files", s.ofStored("record not found", s.downloadFile),
		wire.Required("file_name", clusterFiles()...),
	)
	r.on("GET /v2/clusters/{cluster_id}/downloads/files-presigned", s.presigned, wire.Required("file_name", "bootstrap.ign", "master.ign", "metadata.json", "worker.ign",
		"install-config.yaml", "logs", "manifests"))
	r.on(
		"POST /v2/clusters/{cluster_id}/uploads/ingress-cert", s.ofCluster(s.uploadIngressCert),
		wire.Body[models.IngressCertParams]("ingress-cert-params"),
	)
	r.on(
		"GET /v2/clusters/{cluster_id}/logs", s.ofStored("record not found", s.downloadLogs), wire.Choice("logs_type", logTypes()...),
		wire.QueryID("host_id"),
	)
	r.on("POST /v2/clusters/{cluster_id}/logs", s.ofCluster(s.uploadLogs), wire.Required("logs_type", logTypes()...),
		wire.QueryID("host_id"), wire.QueryID("infra_env_id"), wire.Form(), wire.FormFile("upfile"))
	r.on(
		"PUT /v2/clusters/{cluster_id}/logs-progress", s.ofCluster(s.clusterLogsProgress),
		wire.Body[models.LogsProgressParams]("logs-progress-params"),
	)
}

func (s *Service) infraEnvRoutes(r *router) {
	script := wire.Choice("ipxe_script_type", "discovery-image-always", "boot-order-control")
	r.on("POST /v2/infra-envs", s.registerInfraEnv, wire.Body[request.InfraEnvCreateParams]("infraenv-create-params"))
	r.on("GET /v2/infra-envs", s.listInfraEnvs, wire.QueryID("cluster_id"))
	r.on("GET /v2/infra-envs/{infra_env_id}", s.ofInfraEnv(s.readInfraEnv))
	r.on(
		"PATCH /v2/infra-envs/{infra_env_id}", s.ofInfraEnv(s.updateInfraEnv),
		wire.Body[request.InfraEnvUpdateParams]("infra-env-update-params"),
	)
	r.on("DELETE /v2/infra-envs/{infra_env_id}", s.ofInfraEnv(s.deleteInfraEnv))
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/image-url", s.ofInfraEnv(s.imageURL))
	r.on(
		"GET /v2/infra-envs/{infra_env_id}/downloads/files", s.ofInfraEnv(s.infraEnvFile),
		wire.Required("file_name", "discovery.ign", "ipxe-script", "static-network-config"), script,
		wire.Choice("discovery_iso_type", discovery.FullISO, discovery.MinimalISO, discovery.DisconnectedISO),
	)
	r.on(
		"GET /v2/infra-envs/{infra_env_id}/downloads/files-presigned", s.ofInfraEnv(s.infraEnvPresigned),
		wire.Required("file_name", "discovery.ign", "ipxe-script"), script,
	)
	r.on("GET /v2/infra-envs/{infra_env_id}/downloads/minimal-initrd", s.ofInfraEnv(s.minimalInitrd))
	r.on("POST /v2/infra-envs/{infra_env_id}/regenerate-signing-key", s.ofInfraEnv(s.regenerateSigningKey))
}

func (s *Service) hostRoutes(r *router) {
	const one = "/v2/infra-envs/{infra_env_id}/hosts/{host_id}"
	r.on("POST /v2/infra-envs/{infra_env_id}/hosts", s.ofInfraEnv(s.registerHost), wire.Body[models.HostCreateParams]("new-host-params"))
	r.on("GET /v2/infra-envs/{infra_env_id}/hosts", s.ofInfraEnv(s.listHosts))
	r.on("GET "+one, s.ofHost(s.readHost))
	r.on("PATCH "+one, s.ofHost(s.updateHost), wire.Body[request.HostUpdateParams]("host-update-params"))
	r.on("DELETE "+one, s.deleteHost)
	r.on("POST "+one+"/actions/bind", s.ofHost(s.bindHost), wire.Body[models.BindHostParams]("bind-host-params"))
	r.on("POST "+one+"/actions/unbind", s.ofHost(s.unbindHost))
	r.on("POST "+one+"/actions/install", s.ofHost(s.installHost))
	r.on("POST "+one+"/actions/reset", s.ofHost(s.resetHost))
	r.on("PATCH "+one+"/actions/reset-validation/{validation_id}", s.ofHost(s.resetValidation))
	r.on("PATCH "+one+"/installer-args", s.ofHost(s.updateInstallerArgs), wire.Body[models.InstallerArgsParams]("installer-args-params"))
	r.on("GET "+one+"/ignition", s.readHostIgnition)
	r.on("PATCH "+one+"/ignition", s.ofHost(s.updateHostIgnition), wire.Body[models.HostIgnitionParams]("host-ignition-params"))
	r.on("GET "+one+"/instructions", s.ofHost(s.nextSteps))
	r.on("POST "+one+"/instructions", s.ofHost(s.stepReply), wire.Body[models.StepReply]("reply"))
	r.on("PUT "+one+"/progress", s.ofHost(s.reportProgress), wire.Body[stageReport]("host-progress"))
	r.on("PUT "+one+"/logs-progress", s.ofHost(s.hostLogsProgress), wire.Body[models.LogsProgressParams]("logs-progress-params"))
	r.on("GET /v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition", s.downloadHostIgnition)
}

// router is a ServeMux with the framework's strict methods and words for unknown paths.
type router struct {
	s   *Service
	mux *http.ServeMux
}

func (r *router) on(pattern string, h wire.Handler, others ...wire.Parameter) {
	method, path, _ := strings.Cut(pattern, " ")
	parameters := wire.ParametersOf(path, others)
	r.mux.HandleFunc(method+" "+Base+path, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			wire.ErrorReply(wire.Malformed("reading the request: %v", err)).Send(w, r.s.date())
			return
		}
		answer, err := r.s.answer(req, func() (wire.Reply, error) {
			if err := r.s.unknown(pattern, req, body); err != nil {
				return wire.Reply{}, err
			}
			c := &wire.Call{Request: req, Content: body}
			if err := c.CheckParameters(parameters); err != nil {
				return wire.Reply{}, err
			}
			return h(c)
		})
		if err != nil {
			answer = wire.ErrorReply(err)
		}
		answer.Send(w, r.s.date())
	})
}

// answer has one request handled at a time, also after one whose handler has panicked.
func (s *Service) answer(req *http.Request, handle func() (wire.Reply, error)) (wire.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	answer, err := s.visible(req, handle)
	answer.Body = s.asOld(answer.Body)
	return answer, err
}

// visible hides the objects of other users from an authenticated user.
func (s *Service) visible(req *http.Request, answer func() (wire.Reply, error)) (wire.Reply, error) {
	id := auth.From(req.Context())
	if id.Scheme == auth.UserAuth && id.Username != "admin" {
		c, e := s.clusters[req.PathValue("cluster_id")], s.infraEnvs[req.PathValue("infra_env_id")]
		if c != nil && c.UserName != id.Username || e != nil && e.UserName != id.Username {
			return wire.Reply{}, wire.NotFound("Object Not Found")
		}
	}
	return answer()
}

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
	err := &wire.FrameError{Status: http.StatusNotFound, Message: "path " + req.URL.Path + " was not found"}
	if len(allowed) > 0 {
		err = &wire.FrameError{Status: http.StatusMethodNotAllowed,
			Message: "method " + req.Method + " is not allowed, but [" + strings.Join(allowed, ",") + "] are"}
		w.Header().Set("Allow", strings.Join(allowed, ","))
	}
	wire.ErrorReply(err).Send(w, r.s.date())
}
