package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// get opens what stands at a URL of the service. The URL carries its own
// authorisation: it is not logged, and stands in no error.
func (p *Plane) get(ctx context.Context, op, on, address string, header http.Header) (*http.Response, error) {
	fail := func(status int, err error) (*http.Response, error) {
		return nil, &model.Fault{
			Code: model.CodeFailure, Op: op, On: on, Status: status, Err: err,
			Permanent: status >= 400 && !kube.Temporary(int32(status)),
			Next:      model.Advicef("check that %s can be reached from here, and run the same command again", hostOfURL(address)),
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(0, errors.New("its URL cannot be used"))
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := openStream(p.http, request)
	if err != nil {
		return fail(0, errors.New(kube.Shorten(redact.Error(err))))
	}
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusPartialContent {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4096)) // what was read of an error is enough
	var shape struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &shape) != nil {
		shape.Reason = http.StatusText(response.StatusCode)
	}
	return fail(response.StatusCode, fmt.Errorf("%s (%d)", kube.Shorten(redact.Text(cmp.Or(shape.Reason, shape.Message,
		http.StatusText(response.StatusCode)))), response.StatusCode))
}

func hostOfURL(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "the service"
	}
	return parsed.Host
}

// largestFile bounds, in bytes, a file that is made of an InfraEnv's settings, and fileTakes how long it may take in all:
// a server that sends a byte now and then would hold up for hours what waits for the file.
const (
	largestFile = 16 << 20
	fileTakes   = time.Minute
)

// download copies what stands at a URL of the service, and is no larger than most.
func (p *Plane) download(ctx context.Context, op, on, address string, out io.Writer, most int64) error {
	if most <= largestFile {
		within, cancel := context.WithTimeoutCause(ctx, fileTakes, errSlow{})
		defer cancel()
		ctx = within
	}
	response, err := p.get(ctx, op, on, address, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n, err := io.Copy(out, io.LimitReader(response.Body, most))
	if err == nil && n == most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	if err != nil {
		return &model.Fault{Code: model.CodeFailure, Op: op, On: on, Err: errors.New(kube.Shorten(redact.Error(err))),
			Next: "run the same command again"}
	}
	return nil
}

// notYet is the fault for what the service has not written or made yet.
func notYet(op, on, why string) *model.Fault {
	return &model.Fault{
		Code: model.CodeNotFound, Op: op, On: on, Status: http.StatusNotFound, Err: errors.New(why),
		Next: "run the same command again in a while",
	}
}

// Logs writes the logs of a cluster, or of one of its hosts, to out: a tar of
// compressed archives. They exist once the service has collected some.
func (p *Plane) Logs(ctx context.Context, clusterID, hostID string, out io.Writer) error {
	_, made, err := p.pair(ctx, clusterID)
	if err != nil {
		return err
	}
	address, on := kube.DebugOf(made).LogsURL, clusterID
	if hostID != "" {
		agent, err := p.agentOf(ctx, made.Namespace, hostID)
		if err != nil {
			return err
		}
		address, on = agent.Status.DebugInfo.LogsURL, hostID
	}
	if address == "" {
		return notYet("download logs of", on, "the service has collected none yet")
	}
	return p.download(ctx, "download logs of", on, address, out, math.MaxInt64)
}

func (p *Plane) agentOf(ctx context.Context, namespace, name string) (*agentinstall.Agent, error) {
	at, err := p.api.Watch(ctx, namespace)
	if err != nil {
		return nil, err
	}
	u := at.Store(kube.Agents).Get(name)
	if u == nil {
		return nil, kube.NotFound("host", name, "{get hosts}")
	}
	return kube.Read[agentinstall.Agent](u)
}

// withNetworks is the address of an InfraEnv's discovery Ignition with the hosts'
// static networks in it. The address that the InfraEnv names leaves them out where
// its own image is a minimal one. What signs the address does not cover its query.
func withNetworks(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || address == "" {
		return address // the caller reports what is wrong
	}
	query := parsed.Query()
	query.Set("discovery_iso_type", "full-iso")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// DownloadInfraEnvFile writes a file of an InfraEnv to out: discovery.ign, always with the static networks, even if the
// InfraEnv's own image is the minimal one, ipxe-script or static-network-config.
func (p *Plane) DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error {
	env, err := p.infraEnv(ctx, infraEnvID)
	if err != nil {
		return err
	}
	address := ""
	switch artifacts, debug := env.Status.BootArtifacts, env.Status.DebugInfo; {
	case file == "discovery.ign" && artifacts != nil:
		address = withNetworks(artifacts.DiscoveryIgnitionURL)
	case file == "ipxe-script" && artifacts != nil:
		address = artifacts.IPXEScriptURL
	case file == "static-network-config" && debug != nil:
		address = debug.StaticNetworkDownloadURL
	}
	if address == "" {
		return &model.Fault{
			Code: model.CodeNotFound, Op: "download " + file + " of InfraEnv", On: infraEnvID, Status: http.StatusNotFound,
			Err:  errors.New("the InfraEnv names no address for it"),
			Next: "use discovery.ign, ipxe-script or static-network-config, once the image is made",
		}
	}
	return p.download(ctx, "download "+file+" of InfraEnv", infraEnvID, address, out, largestFile)
}

func (p *Plane) infraEnv(ctx context.Context, infraEnvID string) (*agentinstall.InfraEnv, error) {
	namespace, name := kube.SplitID(infraEnvID, p.api.NamespaceOf(infraEnvID))
	at, err := p.api.Watch(ctx, namespace)
	if err != nil {
		return nil, err
	}
	u := at.Store(kube.InfraEnvs).Get(name)
	if u == nil {
		return nil, kube.NotFound("InfraEnv", infraEnvID, "{get infraenvs}")
	}
	return kube.Read[agentinstall.InfraEnv](u)
}

// DownloadISOURL is the URL of an InfraEnv's discovery image, and when it ends
// (zero: never). It may carry a token: it is not to be logged.
func (p *Plane) DownloadISOURL(ctx context.Context, infraEnvID string) (address string, expires time.Time, err error) {
	env, err := p.infraEnv(ctx, infraEnvID)
	if err != nil {
		return "", time.Time{}, err
	}
	image := imageOf(env)
	if image.State != model.ImageReady {
		return "", time.Time{}, notYet("get image URL of InfraEnv", infraEnvID,
			"there is no image yet: "+cmp.Or(image.Info, "the service is making it"))
	}
	return image.URL, image.Expires, nil
}

// OpenISO opens a discovery image by its URL, from DownloadISOURL, at an offset.
// The caller closes the body. size is that of the whole image, -1 if unknown.
func (p *Plane) OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error) {
	header := http.Header{}
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := p.get(ctx, "download image from", hostOfURL(address), address, header)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case offset > 0 && response.StatusCode != http.StatusPartialContent:
		_ = response.Body.Close() // nothing was read of it
		return nil, 0, &model.Fault{Code: model.CodeFailure, Op: "download image from", On: hostOfURL(address), Status: response.StatusCode,
			Permanent: true, Err: errors.New("the server does not go on in the middle of a file"), Next: "begin anew"}
	case response.ContentLength < 0:
		return response.Body, -1, nil
	}
	return response.Body, offset + response.ContentLength, nil
}

// openStream sends a request, and gives up a server that sends nothing for as long as
// a call of the API server may take: before its answer, and in the midst of it.
// How long all of it takes does not matter.
func openStream(client *http.Client, request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(kube.RequestTimeout, func() { cancel(errIdle{}) })
	response, err := client.Do(request.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = idleError(ctx, err)
		cancel(nil)
		return nil, err
	}
	response.Body = &streamBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel, timer: timer}
	return response, nil
}

// errIdle is why a request was given up.
type errIdle struct{}

func (errIdle) Error() string {
	return fmt.Sprintf("the server sent nothing for %s", kube.RequestTimeout)
}

// errSlow is why a small file was given up.
type errSlow struct{}

func (errSlow) Error() string { return fmt.Sprintf("it is not there after %s", fileTakes) }

func idleError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errIdle{}) || errors.Is(cause, errSlow{}) {
		return cause
	}
	return err
}

// streamBody is a body that is read for as long as something comes. Only the time
// that a read waits counts, not what its reader does between.
type streamBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (m *streamBody) Read(data []byte) (int, error) {
	m.timer.Reset(kube.RequestTimeout)
	n, err := m.ReadCloser.Read(data)
	m.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = idleError(m.ctx, err)
	}
	return n, err
}

func (m *streamBody) Close() error {
	m.timer.Stop()
	m.cancel(nil)
	return m.ReadCloser.Close()
}

// Credential reads kubeconfig, kubeconfig-noingress or kubeadmin-password from
// the Secret that the service writes. One that does not exist yet is a fault
// with status 404. The Secret of the kubeconfig holds the first one until the
// cluster is installed, and the final one from then on.
func (p *Plane) Credential(ctx context.Context, clusterID, name string) ([]byte, error) {
	deployment, made, err := p.pair(ctx, clusterID)
	if err != nil {
		return nil, err
	}
	missing := func(why string) ([]byte, error) { return nil, notYet("read "+name+" of cluster", clusterID, why) }
	state := stateOf(made, kube.Installed(deployment))
	done := state == model.ClusterInstalled || state == model.ClusterAddingHosts
	metadata := made.Spec.ClusterMetadata
	secret, key := "", ""
	switch name {
	case "kubeconfig":
		if !done {
			return missing("the cluster is not installed yet; until then there is kubeconfig-noingress")
		}
		secret, key = deployment.Name+"-admin-kubeconfig", hubapi.KeyKubeconfig
	case "kubeconfig-noingress":
		if done {
			return missing("the hub keeps the first kubeconfig only until the cluster is installed; there is kubeconfig now")
		}
		secret, key = deployment.Name+"-admin-kubeconfig", hubapi.KeyKubeconfig
	case "kubeadmin-password":
		secret, key = deployment.Name+"-admin-password", hubapi.KeyPassword
		if hasPassword(metadata) {
			secret = metadata.AdminPasswordSecretRef.Name
		}
	default:
		return nil, &model.Fault{Code: model.CodeUsage, Op: "read credential", On: name, Permanent: true,
			Err: errors.New("there is none of that name"), Next: "use kubeconfig, kubeconfig-noingress or kubeadmin-password"}
	}
	if key == hubapi.KeyKubeconfig && metadata != nil && metadata.AdminKubeconfigSecretRef.Name != "" {
		secret = metadata.AdminKubeconfigSecretRef.Name
	}
	data, err := p.secret(ctx, deployment.Namespace, secret, key)
	switch {
	case apierrors.IsNotFound(err):
		return missing(fmt.Sprintf("the service has not written the Secret %s yet", secret))
	case err != nil:
		return nil, p.api.Fault(kube.Attempt{Op: "read Secret", Verb: "get", Kind: kube.Secrets, Namespace: deployment.Namespace, Name: secret},
			err)
	case len(bytes.TrimSpace(data)) == 0:
		return missing(fmt.Sprintf("the Secret %s is empty", secret))
	}
	return data, nil
}

func (p *Plane) pair(ctx context.Context, clusterID string) (*hive.ClusterDeployment, *hive.AgentClusterInstall, error) {
	namespace, name := kube.SplitID(clusterID, p.api.NamespaceOf(clusterID))
	at, err := p.api.Watch(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	u := at.Store(kube.ClusterDeployments).Get(name)
	if u == nil {
		return nil, nil, kube.NotFound("cluster", clusterID, "{get clusters}")
	}
	made := at.InstallOf(u)
	if made == nil {
		return nil, nil, kube.NotFound("AgentClusterInstall of cluster", clusterID,
			model.Advicef("kubectl get agentclusterinstalls -n %s", namespace))
	}
	deployment, err := kube.Read[hive.ClusterDeployment](u)
	if err != nil {
		return nil, nil, err
	}
	aci, err := kube.Read[hive.AgentClusterInstall](made)
	return deployment, aci, err
}
