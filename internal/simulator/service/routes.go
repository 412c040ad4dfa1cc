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

// oneHost is the path of a host.
const oneHost = "/v2/infra-envs/{infra_env_id}/hosts/{host_id}"

// part answers some of the requests.
type part interface{ routes(r *router) }

func (s *Service) routes(parts ...part) http.Handler {
	r := &router{s: s, mux: http.NewServeMux()}
	for _, path := range []string{"/ready", "/health"} {
		r.mux.HandleFunc("GET "+path, empty)
		r.mux.HandleFunc("GET "+Base+path, empty)
	}
	for _, p := range parts {
		p.routes(r)
	}
	return r
}

func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (a *clusterAPI) routes(r *router) {
	ofCluster, ofStored := a.records.ofCluster, a.records.ofStored
	r.handle("POST /v2/clusters", a.registerCluster, wire.Body[request.ClusterCreateParams]("new-cluster-params"))
	r.handle("GET /v2/clusters", a.listClusters, wire.QueryID("openshift_cluster_id"))
	r.handle("POST /v2/clusters/import", a.importCluster, wire.Body[models.ImportClusterParams]("new-import-cluster-params"))
	r.handle("POST /v2/clusters/disconnected", a.registerDisconnected, wire.Body[disconnectedCreate]("new-cluster-params"))
	r.handle("GET /v2/clusters/default-config", defaultConfig)
	r.handle("GET /v2/clusters/{cluster_id}", a.readCluster)
	r.handle("PATCH /v2/clusters/{cluster_id}", ofCluster(a.updateCluster), wire.Body[request.V2ClusterUpdateParams]("cluster-update-params"))
	r.handle("DELETE /v2/clusters/{cluster_id}", ofCluster(a.deleteCluster))
	r.handle("POST /v2/clusters/{cluster_id}/actions/install", ofCluster(a.installCluster))
	r.handle("POST /v2/clusters/{cluster_id}/actions/cancel", ofCluster(a.cancelCluster))
	r.handle("POST /v2/clusters/{cluster_id}/actions/reset", ofCluster(a.resetCluster))
	r.handle("POST /v2/clusters/{cluster_id}/actions/allow-add-hosts", ofCluster(a.allowAddHosts))
	r.handle("POST /v2/clusters/{cluster_id}/actions/allow-add-workers", ofCluster(a.allowAddHosts))
	r.handle(
		"POST /v2/clusters/{cluster_id}/actions/complete-installation", ofCluster(a.completeInstallation),
		wire.Body[models.CompletionParams]("completion-params"),
	)
	r.handle("GET /v2/clusters/{cluster_id}/ignored-validations", ofCluster(readIgnored))
	r.handle("PUT /v2/clusters/{cluster_id}/ignored-validations", a.setIgnored, wire.Body[models.IgnoredValidations]("ignored-validations"))
	r.handle("GET /v2/clusters/{cluster_id}/preflight-requirements", ofStored("record not found", preflight))
	r.handle(
		"GET /v2/clusters/{cluster_id}/supported-platforms",
		ofStored("error getting cluster, error: record not found", supportedPlatforms),
	)
	r.handle(
		"GET /v2/clusters/{cluster_id}/hosts", a.hosts.listClusterHosts,
		wire.Choice("role", model.RoleMaster, model.RoleArbiter, model.RoleWorker, model.RoleAuto),
	)
	r.handle("GET /v2/clusters/{cluster_id}/ui-settings", ofStored("record not found", readUISettings))
	r.handle("PUT /v2/clusters/{cluster_id}/ui-settings", ofStored("record not found", setUISettings), wire.Body[string]("ui-settings"))
	r.handle("GET /v2/clusters/{cluster_id}/monitored-operators", a.readOperators)
	r.handle("PUT /v2/clusters/{cluster_id}/monitored-operators", a.reportOperator, wire.Body[models.OperatorMonitorReport]("report-params"))
	r.handle("PUT /v2/clusters/{cluster_id}/progress", a.reportFinalizing, wire.Body[finalizingReport]("finalizing-progress"))
	r.handle("GET /v2/domains", func(*wire.Call) (wire.Reply, error) { return wire.OK([]struct{}{}) })
}

func (a *fileAPI) routes(r *router) {
	ofCluster, ofStored, ofHost := a.records.ofCluster, a.records.ofStored, a.records.ofHost
	file, folder := wire.Required("file_name"), wire.Choice("folder", "manifests", "openshift")
	credentials := wire.Required("file_name", "kubeconfig", "kubeconfig-noingress", "kubeadmin-password")
	r.handle("GET /v2/clusters/{cluster_id}/manifests", ofStored("Object Not Found", listManifests))
	r.handle(
		"POST /v2/clusters/{cluster_id}/manifests", ofStored("Object Not Found", createManifest),
		wire.Body[models.CreateManifestParams]("CreateManifestParams"),
	)
	r.handle(
		"PATCH /v2/clusters/{cluster_id}/manifests", ofStored("Object Not Found", a.updateManifest),
		wire.Body[models.UpdateManifestParams]("UpdateManifestParams"),
	)
	r.handle("DELETE /v2/clusters/{cluster_id}/manifests", ofStored("Object Not Found", deleteManifest), file, folder)
	r.handle("GET /v2/clusters/{cluster_id}/manifests/files", ofStored("Object Not Found", a.readManifest), file, folder)
	r.handle("GET /v2/clusters/{cluster_id}/credentials", ofStored("record not found", readCredentials))
	r.handle("GET /v2/clusters/{cluster_id}/downloads/credentials", ofStored("record not found", a.downloadCredentials), credentials)
	r.handle("GET /v2/clusters/{cluster_id}/downloads/credentials-presigned", presigned, credentials)
	r.handle(
		"GET /v2/clusters/{cluster_id}/downloads/files", ofStored("record not found", a.downloadFile),
		wire.Required("file_name", clusterFiles()...),
	)
	r.handle("GET /v2/clusters/{cluster_id}/downloads/files-presigned", presigned,
		wire.Required("file_name", "bootstrap.ign", "master.ign", "metadata.json", "worker.ign",
			"install-config.yaml", "logs", "manifests"))
	r.handle(
		"POST /v2/clusters/{cluster_id}/uploads/ingress-cert", ofCluster(a.uploadIngressCert),
		wire.Body[models.IngressCertParams]("ingress-cert-params"),
	)
	r.handle(
		"GET /v2/clusters/{cluster_id}/logs", ofStored("record not found", a.downloadLogs), wire.Choice("logs_type", logTypes()...),
		wire.QueryID("host_id"),
	)
	r.handle("POST /v2/clusters/{cluster_id}/logs", ofCluster(a.uploadLogs), wire.Required("logs_type", logTypes()...),
		wire.QueryID("host_id"), wire.QueryID("infra_env_id"), wire.Form(), wire.FormFile("upfile"))
	r.handle(
		"PUT /v2/clusters/{cluster_id}/logs-progress", ofCluster(a.clusterLogsProgress),
		wire.Body[models.LogsProgressParams]("logs-progress-params"),
	)
	r.handle("GET /v2/clusters/{cluster_id}/install-config", ofCluster(a.readInstallConfig))
	r.handle("PATCH /v2/clusters/{cluster_id}/install-config", ofCluster(a.updateInstallConfig), wire.Body[string]("install-config-params"))
	r.handle("GET "+oneHost+"/ignition", a.readHostIgnition)
	r.handle("PUT "+oneHost+"/logs-progress", ofHost(a.hostLogsProgress), wire.Body[models.LogsProgressParams]("logs-progress-params"))
	r.handle("GET /v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition", a.downloadHostIgnition)
}

func (a *infraEnvAPI) routes(r *router) {
	ofInfraEnv := a.records.ofInfraEnv
	script := wire.Choice("ipxe_script_type", "discovery-image-always", "boot-order-control")
	r.handle("POST /v2/infra-envs", a.registerInfraEnv, wire.Body[request.InfraEnvCreateParams]("infraenv-create-params"))
	r.handle("GET /v2/infra-envs", a.listInfraEnvs, wire.QueryID("cluster_id"))
	r.handle("GET /v2/infra-envs/{infra_env_id}", ofInfraEnv(readInfraEnv))
	r.handle(
		"PATCH /v2/infra-envs/{infra_env_id}", ofInfraEnv(a.updateInfraEnv),
		wire.Body[request.InfraEnvUpdateParams]("infra-env-update-params"),
	)
	r.handle("DELETE /v2/infra-envs/{infra_env_id}", ofInfraEnv(a.deleteInfraEnv))
	r.handle("GET /v2/infra-envs/{infra_env_id}/downloads/image-url", ofInfraEnv(a.imageURL))
	r.handle(
		"GET /v2/infra-envs/{infra_env_id}/downloads/files", ofInfraEnv(a.infraEnvFile),
		wire.Required("file_name", "discovery.ign", "ipxe-script", "static-network-config"), script,
		wire.Choice("discovery_iso_type", discovery.FullISO, discovery.MinimalISO, discovery.DisconnectedISO),
	)
	r.handle(
		"GET /v2/infra-envs/{infra_env_id}/downloads/files-presigned", ofInfraEnv(a.infraEnvPresigned),
		wire.Required("file_name", "discovery.ign", "ipxe-script"), script,
	)
	r.handle("GET /v2/infra-envs/{infra_env_id}/downloads/minimal-initrd", ofInfraEnv(minimalInitrd))
	r.handle("POST /v2/infra-envs/{infra_env_id}/regenerate-signing-key", ofInfraEnv(a.regenerateSigningKey))
}

func (a *hostAPI) routes(r *router) {
	ofInfraEnv, ofHost := a.records.ofInfraEnv, a.records.ofHost
	r.handle("GET /v2/infra-envs/{infra_env_id}/hosts", ofInfraEnv(a.listHosts))
	r.handle("GET "+oneHost, ofHost(a.readHost))
	r.handle("PATCH "+oneHost, ofHost(a.updateHost), wire.Body[request.HostUpdateParams]("host-update-params"))
	r.handle("DELETE "+oneHost, a.deleteHost)
	r.handle("POST "+oneHost+"/actions/bind", ofHost(a.bindHost), wire.Body[models.BindHostParams]("bind-host-params"))
	r.handle("POST "+oneHost+"/actions/unbind", ofHost(a.unbindHost))
	r.handle("POST "+oneHost+"/actions/install", ofHost(a.installHost))
	r.handle("POST "+oneHost+"/actions/reset", ofHost(a.resetHost))
	r.handle("PATCH "+oneHost+"/actions/reset-validation/{validation_id}", ofHost(a.resetValidation))
	r.handle("PATCH "+oneHost+"/installer-args", ofHost(a.updateInstallerArgs), wire.Body[models.InstallerArgsParams]("installer-args-params"))
	r.handle("PATCH "+oneHost+"/ignition", ofHost(a.updateHostIgnition), wire.Body[models.HostIgnitionParams]("host-ignition-params"))
}

func (a *agentAPI) routes(r *router) {
	ofInfraEnv, ofHost := a.records.ofInfraEnv, a.records.ofHost
	r.handle("POST /v2/infra-envs/{infra_env_id}/hosts", ofInfraEnv(a.registerHost), wire.Body[models.HostCreateParams]("new-host-params"))
	r.handle("GET "+oneHost+"/instructions", ofHost(a.nextSteps))
	r.handle("POST "+oneHost+"/instructions", ofHost(a.stepReply), wire.Body[models.StepReply]("reply"))
	r.handle("PUT "+oneHost+"/progress", ofHost(a.reportProgress), wire.Body[stageReport]("host-progress"))
}

func (j *journal) routes(r *router) {
	r.handle("POST /v2/events", j.triggerEvent, wire.Body[models.Event]("trigger-event-params"))
	r.handle("GET /v2/events", j.listEvents, wire.QueryID("cluster_id"), wire.QueryID("infra_env_id"), wire.QueryID("host_id"),
		wire.Choice("order", "ascending", "descending"))
}

// router is a ServeMux with the framework's strict methods and words for unknown paths.
type router struct {
	s   *Service
	mux *http.ServeMux
}

func (r *router) handle(pattern string, h wire.Handler, others ...wire.Parameter) {
	method, path, _ := strings.Cut(pattern, " ")
	parameters := wire.ParametersOf(path, others)
	r.mux.HandleFunc(method+" "+Base+path, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			wire.ErrorReply(wire.Malformed("reading the request: %v", err)).Send(w, r.s.date())
			return
		}
		answer, err := r.s.answer(req, func() (wire.Reply, error) {
			if err := r.s.variant.unknown(pattern, req, body); err != nil {
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
	s.monitor.settle()
	answer, err := s.visible(req, handle)
	answer.Body = s.variant.asOld(answer.Body)
	return answer, err
}

// visible hides the objects of other users from an authenticated user.
func (s *Service) visible(req *http.Request, answer func() (wire.Reply, error)) (wire.Reply, error) {
	id := auth.From(req.Context())
	if id.Scheme == auth.UserAuth && id.Username != "admin" {
		c, e := s.records.clusters.of(req.PathValue("cluster_id")), s.records.infraEnvs.of(req.PathValue("infra_env_id"))
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
