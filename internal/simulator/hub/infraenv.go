package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

type infraEnvMemory struct {
	id    string // of the service's infra-env; "" until there is one
	sent  string // what was last sent
	rest  *assisted.InfraEnv
	made  time.Time // when the present image was made
	hosts string    // as the service last printed them
}

func (h *hub) wakeInfraEnvs(owner key) {
	for _, env := range h.store.list(hubapi.KindInfraEnv, "") {
		if clusterOf(env, "clusterRef") == owner {
			h.queue.add(keyOf(hubapi.KindInfraEnv, env))
		}
	}
}

type errNoCluster struct{ text string }

func (e *errNoCluster) Error() string { return e.text }

func (h *hub) reconcileInfraEnv(ctx context.Context, k key) error {
	env := h.store.get(hubapi.KindInfraEnv, k.space, k.id)
	if env == nil {
		delete(h.infraEnvs, k)
		return nil
	}
	if env.GetDeletionTimestamp() != nil {
		return h.releaseInfraEnv(ctx, env)
	}
	if apiobject.AddFinalizer(env, hubapi.FinalizerInfraEnv) {
		if err := h.store.updatePrinted(ctx, env); err != nil {
			return err
		}
	}
	spec, err := objects.Spec[agentinstall.InfraEnvSpec](env)
	if err != nil {
		return err
	}
	m := remembered(h.infraEnvs, k)
	fault := h.syncInfraEnv(ctx, m, env, &spec)
	var waits *errNoCluster
	if fault != nil && !assisted.IsInput(fault) && !errors.As(fault, &waits) {
		h.requeueAfter(k, retryAfter)
	}
	return h.reportInfraEnv(ctx, m, env, &spec, fault)
}

func (h *hub) syncInfraEnv(ctx context.Context, m *infraEnvMemory, env *apiobject.Object, spec *agentinstall.InfraEnvSpec) error {
	k := keyOf(hubapi.KindInfraEnv, env)
	if err := h.adoptInfraEnv(ctx, m, env); err != nil {
		return err
	}
	in := &infraEnvInputs{name: k.id, spec: *spec}
	if ref := spec.ClusterRef; ref != nil {
		var err error
		if in.clusterID, err = h.clusterBehind(ref); err != nil {
			return err
		}
	}
	if m.rest != nil && m.rest.ClusterID != in.clusterID && in.clusterID != "" {
		*m = infraEnvMemory{} // the cluster was made anew, and so the image is
	}
	if err := h.gatherInfraEnv(ctx, k, in); err != nil {
		return err
	}
	method, path, body := "PATCH", "/v2/infra-envs/"+m.id, in.params()
	print := objects.ToJSON(body)
	if print == m.sent {
		return nil
	}
	switch {
	case m.id == "":
		method, path, body = "POST", "/v2/infra-envs", in.create()
	case m.sent == "": // of a former run, and as it is
		m.sent = print
		return nil
	}
	var made assisted.InfraEnv
	if err := h.backend.Do(ctx, method, path, body, &made); err != nil {
		return err
	}
	if m.id == "" {
		h.logf("made infra-env %s for %s", made.ID, k)
	}
	m.id, m.rest, m.sent, m.made = made.ID, &made, print, h.clock.Now()
	return nil
}

func (h *hub) clusterBehind(ref *hubapi.Reference) (string, error) {
	owner := referred(ref)
	cd := h.store.get(hubapi.KindClusterDeployment, owner.space, owner.id)
	if cd == nil {
		return "", &errNoCluster{"ClusterDeployment is missing: failed to get clusterDeployment with name " + ref.Name + " in namespace " +
			ref.Namespace +
			": ClusterDeployment.hive.openshift.io \"" + ref.Name + "\" not found"}
	}
	m := h.clusters[owner]
	if m == nil || m.rest == nil {
		install := apiobject.Text(cd, "spec", "clusterInstallRef", "name")
		return "", &errNoCluster{"ClusterDeployment is missing: cluster does not exist: " + ref.Name +
			", check AgentClusterInstall conditions: name " + install + " in namespace " + ref.Namespace}
	}
	return m.id, nil
}

func (h *hub) gatherInfraEnv(ctx context.Context, k key, in *infraEnvInputs) error {
	s := &in.spec
	if s.PullSecretRef.Name == "" {
		return assisted.InputFault("missing pull secret: InfraEnv %s/%s names none", k.space, k.id)
	}
	var err error
	if in.pullSecret, err = h.field(ctx, hubapi.KindSecret, k.space, s.PullSecretRef.Name, hubapi.KeyPullSecret); err != nil {
		return err
	}
	if len(s.NTPSources) > 0 && len(s.AdditionalNTPSources) > 0 {
		return assisted.InputFault("ntp_sources and additional_ntp_sources are mutually exclusive")
	}
	if ref := s.MirrorRegistryRef; ref != nil {
		if _, err := h.field(ctx, hubapi.KindConfigMap, cmp.Or(ref.Namespace, k.space), ref.Name, hubapi.KeyRegistriesConf); err != nil {
			return err
		}
	}
	in.static, err = h.staticHosts(k.space, s.NMStateConfigLabelSelector)
	return err
}

// adoptInfraEnv finds the infra-env that a former run of the controllers had made.
func (h *hub) adoptInfraEnv(ctx context.Context, m *infraEnvMemory, env *apiobject.Object) error {
	if m.rest != nil {
		return nil
	}
	if m.id == "" {
		if m.id = queryOf(apiobject.Text(env, "status", "debugInfo", "eventsURL"), "infra_env_id"); m.id == "" {
			return nil
		}
	}
	var have assisted.InfraEnv
	err := h.backend.Do(ctx, "GET", "/v2/infra-envs/"+m.id, nil, &have)
	if assisted.IsGone(err) {
		*m = infraEnvMemory{}
		return nil
	}
	if err != nil {
		return err
	}
	m.rest = &have
	if m.made, err = time.Parse(time.RFC3339, apiobject.Text(env, "status", "createdTime")); err != nil {
		m.made = have.UpdatedAt
	}
	return nil
}

func (h *hub) reportInfraEnv(
	ctx context.Context, m *infraEnvMemory, env *apiobject.Object, spec *agentinstall.InfraEnvSpec, fault error,
) error {
	status := apiobject.Status(env)
	image := condition.Condition{Type: "ImageCreated", Status: condition.True, Reason: "InfraEnvAvailable",
		Message: "InfraEnv is available: Image has been created"}
	var waits *errNoCluster
	switch {
	case errors.As(fault, &waits):
		image = condition.Condition{Type: "ImageCreated", Status: condition.Unknown, Reason: "MissingClusterDeployment", Message: fault.Error()}
	case fault != nil:
		image = condition.Condition{
			Type: "ImageCreated", Status: condition.False, Reason: "ImageCreationError", Message: "Failed to create image: " + fault.Error(),
		}
		delete(status, "isoDownloadURL")
		delete(status, "createdTime")
	default:
		status["isoDownloadURL"], status["createdTime"] = m.rest.URL, m.made.UTC().Format(time.RFC3339)
	}
	h.setConditions(status, false, image)
	status["agentLabelSelector"] = map[string]any{"matchLabels": map[string]any{hubapi.LabelAgentInfraEnv: env.GetName()}}
	if fault == nil {
		status["bootArtifacts"] = h.artifacts(m, spec)
		status["debugInfo"] = h.debugOf(m, spec)
	} else if status["bootArtifacts"] == nil {
		status["bootArtifacts"] = map[string]any{"discoveryIgnitionURL": "", "initrd": "", "ipxeScript": "", "kernel": "", "rootfs": ""}
		status["debugInfo"] = map[string]any{"eventsURL": ""}
	}
	return h.writeStatus(ctx, env, status)
}

func (h *hub) debugOf(m *infraEnvMemory, spec *agentinstall.InfraEnvSpec) map[string]any {
	debug := map[string]any{"eventsURL": h.openInfraEnv(h.backend.Url+assisted.RestBase+"/v2/events?infra_env_id="+m.id, m.id)}
	if selects(spec.NMStateConfigLabelSelector) {
		debug["staticNetworkDownloadURL"] = h.fileURL(m.id, "static-network-config", nil)
	}
	return debug
}

func (h *hub) fileURL(id, name string, more url.Values) string {
	query := url.Values{"file_name": {name}}
	for k, v := range more {
		query[k] = v
	}
	return h.openInfraEnv(h.backend.Url+assisted.RestBase+"/v2/infra-envs/"+id+"/downloads/files?"+query.Encode(), id)
}

func (h *hub) artifacts(m *infraEnvMemory, spec *agentinstall.InfraEnvSpec) map[string]any {
	query := "?arch=" + url.QueryEscape(m.rest.Arch) + "&version=" + url.QueryEscape(m.rest.Version)
	boot := h.backend.Url + "/boot-artifacts/"
	var script url.Values
	if spec.IPXEScriptType == agentinstall.IPXEBootOrderControl {
		script = url.Values{"ipxe_script_type": {"boot-order-control"}}
	}
	return map[string]any{
		"kernel": boot + "kernel" + query, "rootfs": boot + "rootfs" + query,
		"initrd":               h.openInfraEnv(h.backend.Url+"/images/"+m.id+"/pxe-initrd"+query, m.id),
		"ipxeScript":           h.fileURL(m.id, "ipxe-script", script),
		"discoveryIgnitionURL": h.fileURL(m.id, "discovery.ign", nil),
	}
}

// readHosts reads the hosts of an infra-env and has the Agents of those that changed looked at.
func (h *hub) readHosts(ctx context.Context, k key, m *infraEnvMemory) error {
	data, err := h.backend.Raw(ctx, "GET", "/v2/infra-envs/"+m.id+"/hosts", nil)
	if assisted.IsGone(err) {
		*m = infraEnvMemory{}
		h.queue.add(k)
		return nil
	}
	if err != nil || string(data) == m.hosts {
		return err
	}
	m.hosts = string(data)
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, raw := range raws {
		host := &assisted.Host{Raw: string(raw)}
		if err := json.Unmarshal(raw, host); err != nil {
			return err
		}
		there[host.ID] = true
		if old := h.hosts[host.ID]; old == nil || old.Raw != host.Raw {
			h.hosts[host.ID] = host
			h.queue.add(key{hubapi.KindAgent, k.space, host.ID})
		}
	}
	for id, host := range h.hosts {
		if host.InfraEnvID == m.id && !there[id] {
			delete(h.hosts, id)
			h.queue.add(key{hubapi.KindAgent, k.space, id})
		}
	}
	return nil
}

// openInfraEnv is an address below an InfraEnv as a link that opens it.
func (h *hub) openInfraEnv(address, id string) string {
	return h.open(address, auth.Grant{Scheme: auth.URLAuth, InfraEnvID: id})
}

func (h *hub) openCluster(address, id string) string {
	return h.open(address, auth.Grant{Scheme: auth.URLAuth, ClusterID: id})
}

func (h *hub) open(address string, grant auth.Grant) string {
	if h.config.Callers == nil || h.config.Callers.Mode() != auth.Local {
		return address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	if h.keys[grant] == "" { // a status does not change by itself
		if h.keys[grant], err = h.config.Callers.Mint(grant); err != nil {
			h.logf("cannot sign %s: %v", parsed.Path, err)
			return address
		}
	}
	query := parsed.Query()
	query.Set("api_key", h.keys[grant])
	parsed.RawQuery = query.Encode()
	return parsed.String()
}
