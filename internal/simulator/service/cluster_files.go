package service

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/installfiles"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (m *monitor) ignite(c *model.Cluster) {
	text, err := installfiles.Config(c)
	if err != nil {
		m.filesFailed(c, err.Error())
		return
	}
	creds, err := installfiles.MakeCredentials(m.source.now(), m.source.newPassword())
	if err != nil {
		m.filesFailed(c, err.Error())
		return
	}
	if m.access != nil {
		if played, is := m.access(c.ID, c.Name); is {
			creds.Server, creds.CA, creds.Cert, creds.Key = played.Server, played.CA, played.Cert, played.Key
		}
	}
	c.Credentials = creds
	c.OpenshiftClusterID = m.source.newID()
	installfiles.Add(c, text)
	c.LastPreparation = models.LastInstallationPreparation{Status: preparationDone, Reason: "Installation preparation successful"}
}

// fileAPI answers for the files of clusters: configurations, credentials, manifests and logs.
type fileAPI struct {
	records *records
	source  *source
	journal *journal
	printer *printer
}

// hostIgnition is the name and the text of what a host of a call fetches at its first boot from its disk.
func (a *fileAPI) hostIgnition(call *wire.Call) (name, text string, err error) {
	infraEnv, host := call.PathValue("infra_env_id"), call.PathValue("host_id")
	h, err := a.records.getHost(infraEnv, host)
	if err != nil {
		return "", "", wire.NotFound("host %s not found in infra env %s", host, infraEnv)
	}
	c := h.Cluster
	if c == nil {
		return "", "", wire.NotFound("Cluster not found for host %s in infra env %s", host, infraEnv)
	}
	if err := downloadable(c); err != nil {
		return "", "", err
	}
	name = h.EffectiveRole() + "-" + h.ID + ".ign"
	if h.Kind == model.KindAddedHost && h.State != model.HostAdded && h.Stage() == "" && h.State != model.HostInstalling {
		return "", "", wire.Refuse(http.StatusInternalServerError, "object %s/%s was not found", c.ID, name) // made by its install call
	}
	url, authority := installfiles.ConfigServer(c, cmp.Or(h.MachineConfigPool, h.Role)), installfiles.Authority(c)
	if h.Kind == model.KindAddedHost {
		url, authority = *steps.IgnitionRequest(h).URL, nil
	}
	text = string(installfiles.PointerIgnition(url, h.Name(), authority))
	if h.IgnitionOverrides != "" {
		text, err = installfiles.MergeJSON(text, h.IgnitionOverrides)
	}
	return name, text, err
}

func (a *fileAPI) downloadFile(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	name := c.URL.Query().Get("file_name")
	if err := downloadable(cl); err != nil {
		return wire.Reply{}, err
	}
	content, found := cl.Objects[name]
	if !found {
		return wire.Reply{}, wire.Conflict("object %s/%s was not found", cl.ID, name)
	}
	return wire.File(name, content)
}

func clusterFiles() []string {
	return []string{"bootstrap.ign", "master.ign", "metadata.json", "worker.ign", "install-config.yaml",
		"custom_manifests.json", "custom_manifests.yaml", "arbiter.ign"}
}

func downloadStates() []string {
	return []string{model.ClusterInstalling, model.ClusterFinalizing, model.ClusterInstalled, model.ClusterError,
		model.ClusterAddingHosts, model.ClusterCancelled, model.ClusterPendingUser}
}

func downloadable(c *model.Cluster) error {
	if !model.OneOf(c.Status, downloadStates()...) {
		return wire.Conflict("cluster %s is in %s state, files can be downloaded only when status is one of: %v", c.ID, c.Status,
			downloadStates())
	}
	return nil
}

func readCredentials(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	console := false
	for _, o := range cl.MonitoredOperators {
		console = console || o.Name == "console" && o.Status == "available"
	}
	if !console || cl.Credentials == nil {
		return wire.Reply{}, wire.Conflict("console-url isn't available yet, it will be once console operator is ready as part of cluster " +
			"finalizing stage")
	}
	return wire.OK(map[string]string{
		"console_url": "https://console-openshift-console.apps." + cl.Name + "." + cl.BaseDNSDomain,
		"password":    cl.Credentials.Password, "username": "kubeadmin",
	})
}

func (a *fileAPI) downloadCredentials(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	name := c.URL.Query().Get("file_name")
	if err := downloadable(cl); err != nil {
		return wire.Reply{}, err
	}
	missing := wire.Conflict("object %s/%s was not found", cl.ID, name)
	if cl.Credentials == nil {
		return wire.Reply{}, missing
	}
	switch name {
	case "kubeadmin-password":
		return wire.File(name, []byte(cl.Credentials.Password))
	case "kubeconfig-noingress":
		return wire.File(name, installfiles.Kubeconfig(cl.Credentials, cl.Name, cl.BaseDNSDomain, ""))
	}
	if cl.IngressCert == "" {
		return wire.Reply{}, missing
	}
	return wire.File(name, installfiles.Kubeconfig(cl.Credentials, cl.Name, cl.BaseDNSDomain, cl.IngressCert))
}

// presigned answers as a service that keeps its files on disk does, for every cluster.
func presigned(*wire.Call) (wire.Reply, error) {
	return wire.Reply{}, wire.BadRequest("Failed to generate presigned URL: invalid backend")
}

// uploadIngressCert takes the certificate that makes the kubeconfig complete.
func (a *fileAPI) uploadIngressCert(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	cert := string(wire.TypedBody[models.IngressCertParams](c))
	if !model.OneOf(cl.Status, model.ClusterFinalizing, model.ClusterInstalled) {
		return wire.Reply{}, wire.BadRequest("Cluster %s is in %s state, upload ingress ca can be done only in %s or %s state", cl.ID, cl.Status,
			model.ClusterFinalizing, model.ClusterInstalled)
	}
	if block, _ := pem.Decode([]byte(cert)); block == nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "given ingress-ca is not valid PEM format")
	}
	if cl.IngressCert == "" {
		cl.IngressCert = cert
	}
	return wire.Reply{Status: http.StatusCreated}, nil
}

func (a *fileAPI) readInstallConfig(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	text, err := installfiles.Config(cl)
	if err != nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "Failed to get cluster %s install config: %s", cl.ID, err)
	}
	return wire.OK(text)
}

// updateInstallConfig replaces the user's changes. The body is JSON in a JSON string; the answer is empty.
func (a *fileAPI) updateInstallConfig(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	text := wire.TypedBody[string](c)
	ic, err := installfiles.ConfigWith(cl, text)
	if err == nil && ic.AdditionalTrustBundle != "" {
		err = request.CheckTrustBundle(ic.AdditionalTrustBundle)
	}
	if err != nil {
		return wire.Reply{}, wire.BadRequest("%s", err)
	}
	cl.InstallConfigOverrides = text
	request.UseOverrides(cl)
	cl.UpdatedAt = model.Micros(a.source.now())
	a.journal.addEvent(cl, "install_config_applied", severityInfo, "Custom install config was applied to the cluster")
	return wire.Reply{Status: http.StatusCreated}, nil
}

func printManifest(key string, m model.Manifest) models.Manifest {
	folder, name := path.Split(key)
	source := "user"
	if m.System {
		source = "system"
	}
	return models.Manifest{FileName: name, Folder: strings.TrimSuffix(folder, "/"), ManifestSource: source}
}

func listManifests(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	all := c.URL.Query().Get("include_system_generated") == "true"
	list := []models.Manifest{}
	for _, key := range slices.Sorted(maps.Keys(cl.Manifests)) {
		if m := cl.Manifests[key]; all || !m.System {
			list = append(list, printManifest(key, m))
		}
	}
	return wire.OK(list)
}

func createManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.TypedBody[models.CreateManifestParams](c)
	if err := request.CheckManifestName("file_name", *p.FileName); err != nil {
		return wire.Reply{}, err
	}
	folder := cmp.Or(model.Value(p.Folder), "manifests")
	content, err := request.ManifestContent(cl, folder, *p.FileName, *p.Content)
	if err != nil {
		return wire.Reply{}, err
	}
	key := folder + "/" + *p.FileName
	cl.Manifests[key] = model.Manifest{Content: content}
	cl.RecordUse(true, "Custom manifest", nil)
	return wire.Created(printManifest(key, cl.Manifests[key]))
}

func (a *fileAPI) updateManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.TypedBody[models.UpdateManifestParams](c)
	key := p.Folder + "/" + p.FileName
	m, found := cl.Manifests[key]
	if !found {
		return wire.Reply{}, wire.NotFound("object %s/manifests/%s was not found", cl.ID, key)
	}
	folder, name := *cmp.Or(p.UpdatedFolder, &p.Folder), *cmp.Or(p.UpdatedFileName, &p.FileName)
	if p.UpdatedFileName != nil {
		if err := request.CheckManifestName("updated_file_name", name); err != nil {
			return wire.Reply{}, err
		}
	}
	content := m.Content
	if p.UpdatedContent != nil {
		var err error
		if content, err = request.ManifestContent(cl, folder, name, *p.UpdatedContent); err != nil {
			return wire.Reply{}, err
		}
	}
	delete(cl.Manifests, key)
	key = folder + "/" + name
	cl.Manifests[key] = model.Manifest{Content: content}
	return wire.OK(printManifest(key, cl.Manifests[key]))
}

func deleteManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	delete(cl.Manifests, manifestKey(c))
	own := slices.ContainsFunc(slices.Collect(maps.Values(cl.Manifests)), func(m model.Manifest) bool { return !m.System })
	cl.RecordUse(own, "Custom manifest", nil)
	return wire.Reply{Status: http.StatusOK}, nil
}

func (a *fileAPI) readManifest(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	key := manifestKey(c)
	m, found := cl.Manifests[key]
	if !found {
		return wire.Reply{}, wire.NotFound("object %s/manifests/%s was not found", cl.ID, key)
	}
	return wire.File(path.Base(key), m.Content)
}

func manifestKey(c *wire.Call) string {
	q := c.URL.Query()
	return cmp.Or(q.Get("folder"), "manifests") + "/" + q.Get("file_name")
}

// uploadLogs takes an archive from a host or from the controller, as the form field upfile.
func (a *fileAPI) uploadLogs(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	content, err := formFile(c)
	if err != nil {
		return wire.Reply{}, wire.BadRequest("%s", err)
	}
	q := c.URL.Query()
	now := model.Millis(a.source.now())
	switch kind := q.Get("logs_type"); kind {
	case "controller":
		cl.Logs["controller"] = content
		cl.ControllerLogsCollectedAt = now
		a.journal.addEvent(cl, "cluster_logs_uploaded", severityInfo, "Uploaded logs for the cluster")
	case "host", "node-boot":
		h, err := a.records.getHost(q.Get("infra_env_id"), q.Get("host_id"))
		if err != nil {
			return wire.Reply{}, err
		}
		cl.Logs[kind+"/"+h.ID] = content
		h.LogsCollectedAt = now
		a.journal.addHostEvent(h, "host_logs_uploaded", severityInfo, "Uploaded logs for host %s cluster %s", h.Name(), cl.ID)
	}
	return wire.NoContent()
}

func formFile(c *wire.Call) ([]byte, error) {
	_, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	r := multipart.NewReader(bytes.NewReader(c.Content), params["boundary"])
	for {
		part, err := r.NextPart()
		if err != nil {
			return nil, fmt.Errorf("reading the form field upfile: %w", err)
		}
		if part.FormName() == "upfile" {
			return io.ReadAll(part)
		}
	}
}

func (a *fileAPI) clusterLogsProgress(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	return a.logsProgress(c, &cl.LogsInfo, &cl.ControllerLogsStartedAt)
}

func (a *fileAPI) hostLogsProgress(c *wire.Call, h *model.Host) (wire.Reply, error) {
	return a.logsProgress(c, &h.LogsInfo, &h.LogsStartedAt)
}

func (a *fileAPI) logsProgress(c *wire.Call, info *string, startedAt *model.Millis) (wire.Reply, error) {
	*info = string(*wire.TypedBody[models.LogsProgressParams](c).LogsState)
	if *info == "requested" {
		*startedAt = model.Millis(a.source.now())
	}
	return wire.NoContent()
}

func (a *fileAPI) downloadLogs(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	q := c.URL.Query()
	kind, hostID := q.Get("logs_type"), q.Get("host_id")
	switch kind {
	case "controller":
		content, found := cl.Logs["controller"]
		if !found {
			return wire.Reply{}, wire.Conflict("Controller Logs for cluster %s were not found", cl.ID)
		}
		return wire.File("cluster_"+cl.ID+"_controller.tar.gz", content)
	case "host", "node-boot":
		if hostID == "" {
			return wire.Reply{}, wire.BadRequest("Host ID must be provided for downloading host logs")
		}
		content, found := cl.Logs[kind+"/"+hostID]
		if !found {
			return wire.Reply{}, wire.Conflict("Logs for host %s were not found", hostID)
		}
		return wire.File("cluster_"+cl.ID+"_host_"+hostID+".tar.gz", content)
	}
	return a.allLogs(cl)
}

func (a *fileAPI) allLogs(cl *model.Cluster) (wire.Reply, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	now := a.source.now()
	entries := map[string][]byte{
		"cluster_events.json":   []byte(model.InString(a.journal.ofCluster(cl.ID))),
		"cluster_metadata.json": []byte(model.InString(a.printer.printCluster(cl, clusterDetail{hosts: true}))),
	}
	for key, content := range cl.Logs {
		name := strings.ReplaceAll(key, "/", "_")
		entries[cl.Name+"_"+name+".tar.gz"] = content
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(entries[name])), ModTime: now})
		if err == nil {
			_, err = w.Write(entries[name])
		}
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(failed, w.Close()); err != nil {
		return wire.Reply{}, fmt.Errorf("packing the logs: %w", err)
	}
	return wire.File("cluster_"+cl.ID+"_logs.tar", out.Bytes())
}

func logTypes() []string { return []string{"host", "controller", "all", "node-boot"} }
