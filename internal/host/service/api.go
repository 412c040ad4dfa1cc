package service

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/redact"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
)

// version is the header that names the agent's image. It is empty for an empty name.
func version(image string) http.Header {
	if image == "" {
		return nil
	}
	header := http.Header{}
	header.Set("discovery_agent_version", image)
	return header
}

func hostsPath(infraEnv strfmt.UUID) string {
	return "/v2/infra-envs/" + url.PathEscape(infraEnv.String()) + "/hosts"
}

func hostPath(infraEnv, host strfmt.UUID) string {
	return hostsPath(infraEnv) + "/" + url.PathEscape(host.String())
}

func clusterPath(cluster strfmt.UUID) string {
	return "/v2/clusters/" + url.PathEscape(cluster.String())
}

// The calls of the agent are sent again only a few times: the agent asks again by itself.

// Register tells the service that this host is there. It may be called again for a host that the service knows.
func (c *Client) Register(
	ctx context.Context, infraEnv strfmt.UUID, host *models.HostCreateParams,
) (*models.HostRegistrationResponse, error) {
	return one[models.HostRegistrationResponse](ctx, c, call{
		doing: "register this host", method: post, path: hostsPath(infraEnv), header: version(host.DiscoveryAgentVersion),
		body: asJSON(host), brief: true,
	})
}

// Instructions asks for the steps that this host is to do now.
func (c *Client) Instructions(ctx context.Context, infraEnv, host strfmt.UUID, agentVersion string) (*models.Steps, error) {
	return one[models.Steps](ctx, c, call{
		doing: "ask for the next steps", method: get, path: hostPath(infraEnv, host) + "/instructions", header: version(agentVersion),
		query: url.Values{"timestamp": {strconv.FormatInt(c.clock.Now().Unix(), 10)}}, brief: true,
	})
}

// Reply sends the result of a step.
func (c *Client) Reply(ctx context.Context, infraEnv, host strfmt.UUID, reply *models.StepReply) error {
	return c.send(ctx, call{
		doing: "send the result of a step", method: post, path: hostPath(infraEnv, host) + "/instructions", header: version(c.agentVersion),
		body: asJSON(reply), brief: true,
	})
}

// Status is the status of a host, such as models.HostStatusKnown. A service with users gives it only to them: it answers 401
// or 403 to a machine.
func (c *Client) Status(ctx context.Context, infraEnv, host strfmt.UUID) (string, error) {
	found, err := one[models.Host](ctx, c, call{
		doing: "read the status of this host", method: get, path: hostPath(infraEnv, host), brief: true,
	})
	if err != nil || found.Status == nil {
		return "", err
	}
	return *found.Status, nil
}

// Host is what the service knows about a host. A service with users gives it to a machine only among all hosts of the
// InfraEnv.
func (c *Client) Host(ctx context.Context, infraEnv, host strfmt.UUID) (*models.Host, error) {
	request := call{doing: "read this host", method: get, path: hostPath(infraEnv, host)}
	found, err := one[models.Host](ctx, c, request)
	if !HasStatus(err, http.StatusUnauthorized, http.StatusForbidden) {
		return found, err
	}
	hosts, err := c.InfraEnvHosts(ctx, infraEnv)
	if err != nil {
		return nil, err
	}
	for _, found := range hosts {
		if found != nil && found.ID != nil && *found.ID == host {
			return found, nil
		}
	}
	return nil, &Error{
		Doing: request.doing, Request: get + " " + redact.URL(c.url(request)), Status: http.StatusNotFound, Tries: 1,
		Reason: "the InfraEnv has no such host",
	}
}

// Progress reports the stage of a host's installation, with a text such as "42%".
func (c *Client) Progress(ctx context.Context, infraEnv, host strfmt.UUID, stage models.HostStage, info string) error {
	return c.send(ctx, call{
		doing: "report the stage " + string(stage), method: put, path: hostPath(infraEnv, host) + "/progress",
		body: asJSON(models.HostProgress{CurrentStage: stage, ProgressInfo: info}),
	})
}

// Cluster is what the service knows about a cluster. Without hosts the answer is short.
func (c *Client) Cluster(ctx context.Context, cluster strfmt.UUID, withHosts bool) (*models.Cluster, error) {
	return one[models.Cluster](ctx, c, call{
		doing: "read the cluster", method: get, path: clusterPath(cluster),
		query: url.Values{"exclude-hosts": {strconv.FormatBool(!withHosts)}},
	})
}

// InfraEnvHosts are all hosts of an InfraEnv.
func (c *Client) InfraEnvHosts(ctx context.Context, infraEnv strfmt.UUID) (models.HostList, error) {
	return answer[models.HostList](ctx, c, call{
		doing: "read the hosts of the InfraEnv", method: get, path: hostsPath(infraEnv),
	})
}

// ClusterFile downloads a file of a cluster, such as bootstrap.ign.
func (c *Client) ClusterFile(ctx context.Context, cluster strfmt.UUID, name string) ([]byte, error) {
	return c.download(ctx, "download "+name, clusterPath(cluster)+"/downloads/files", url.Values{"file_name": {name}})
}

// ClusterCredential downloads a credential of a cluster, such as kubeconfig-noingress. It is a secret.
func (c *Client) ClusterCredential(ctx context.Context, cluster strfmt.UUID, name string) ([]byte, error) {
	return c.download(ctx, "download "+name, clusterPath(cluster)+"/downloads/credentials", url.Values{"file_name": {name}})
}

// HostIgnition downloads the Ignition config with which an installed host boots first.
func (c *Client) HostIgnition(ctx context.Context, infraEnv, host strfmt.UUID) ([]byte, error) {
	// The API says infra-env here, and infra-envs elsewhere.
	path := "/v2/infra-env/" + url.PathEscape(infraEnv.String()) + "/hosts/" + url.PathEscape(host.String()) + "/downloads/ignition"
	return c.download(ctx, "download the Ignition config of this host", path, nil)
}

// HostLogsProgress reports how far the collection of a host's logs is.
func (c *Client) HostLogsProgress(ctx context.Context, infraEnv, host strfmt.UUID, state models.LogsState) error {
	return c.send(ctx, call{
		doing: "report that the host's logs are " + string(state), method: put, path: hostPath(infraEnv, host) + "/logs-progress",
		body: asJSON(models.LogsProgressParams{LogsState: &state}),
	})
}

// ClusterLogsProgress reports how far the collection of a cluster's logs is.
func (c *Client) ClusterLogsProgress(ctx context.Context, cluster strfmt.UUID, state models.LogsState) error {
	return c.send(ctx, call{
		doing: "report that the cluster's logs are " + string(state), method: put, path: clusterPath(cluster) + "/logs-progress",
		body: asJSON(models.LogsProgressParams{LogsState: &state}),
	})
}

// UploadLogs uploads a tar.gz of logs: of a host if host is not nil, else of the cluster's controller. It is sent in
// chunks while content is read. It is sent again only if content is an io.Seeker.
func (c *Client) UploadLogs(
	ctx context.Context, cluster strfmt.UUID, infraEnv, host *strfmt.UUID, logsType models.LogsType, content io.Reader,
) error {
	query := url.Values{"logs_type": {string(logsType)}}
	if host != nil {
		query.Set("host_id", host.String())
	}
	if infraEnv != nil {
		query.Set("infra_env_id", infraEnv.String())
	}
	file := &upload{name: string(logsType) + "_logs.tar.gz", content: content}
	if host != nil {
		file.name = "logs.tar.gz"
	}
	_, again := content.(io.Seeker)
	return c.send(ctx, call{
		doing: "upload logs", method: post, path: clusterPath(cluster) + "/logs", query: query, body: file.body, once: !again, limit: uploadLimit,
	})
}

// UploadIngressCert gives the service the certificates in PEM that a cluster's routes are signed by.
func (c *Client) UploadIngressCert(ctx context.Context, cluster strfmt.UUID, pem string) error {
	return c.send(ctx, call{
		doing: "upload the certificate of the cluster's ingress", method: post, path: clusterPath(cluster) + "/uploads/ingress-cert",
		body: asJSON(pem),
	})
}

// CompleteInstallation ends the installation of a cluster: it succeeded, or failed for the reason in info. The service
// stores data with it, which may be nil.
func (c *Client) CompleteInstallation(ctx context.Context, cluster strfmt.UUID, success bool, info string, data map[string]any) error {
	return c.send(ctx, call{
		doing: "complete the installation", method: post, path: clusterPath(cluster) + "/actions/complete-installation",
		body: asJSON(models.CompletionParams{IsSuccess: &success, ErrorInfo: info, Data: data}),
	})
}

// MonitoredOperators are the operators that the service waits for, with what it knows about them.
func (c *Client) MonitoredOperators(ctx context.Context, cluster strfmt.UUID) (models.MonitoredOperatorsList, error) {
	return answer[models.MonitoredOperatorsList](ctx, c, call{
		doing: "read the operators of the cluster", method: get, path: clusterPath(cluster) + "/monitored-operators",
	})
}

// UpdateOperator reports the state of an operator.
func (c *Client) UpdateOperator(
	ctx context.Context, cluster strfmt.UUID, name, version string, status models.OperatorStatus, info string,
) error {
	return c.send(ctx, call{
		doing: "report the operator " + name, method: put, path: clusterPath(cluster) + "/monitored-operators",
		body: asJSON(models.OperatorMonitorReport{Name: name, Version: version, Status: status, StatusInfo: info}),
	})
}

// FinalizingProgress reports the stage of a cluster whose hosts are installed.
func (c *Client) FinalizingProgress(ctx context.Context, cluster strfmt.UUID, stage models.FinalizingStage) error {
	return c.send(ctx, call{
		doing: "report the stage " + string(stage), method: put, path: clusterPath(cluster) + "/progress",
		body: asJSON(models.ClusterFinalizingProgress{FinalizingStage: stage}),
	})
}

// TriggerEvent adds an event to those of a cluster. It happened now.
func (c *Client) TriggerEvent(ctx context.Context, event *models.Event) error {
	now := strfmt.DateTime(c.clock.Now())
	sent := *event
	sent.EventTime = &now
	return c.send(ctx, call{doing: "add an event", method: post, path: "/v2/events", body: asJSON(sent)})
}

// send sends a request whose answer has nothing to read.
func (c *Client) send(ctx context.Context, r call) error {
	_, err := c.do(ctx, r)
	return err
}

func (c *Client) download(ctx context.Context, doing, path string, query url.Values) ([]byte, error) {
	return c.do(ctx, call{doing: doing, method: get, path: path, query: query, accept: "application/octet-stream"})
}

// Download begins a download from any URL, without the token of this machine. The size is -1 if the server does not say
// it. It is not sent again. The caller closes content, and bounds what it reads.
func (c *Client) Download(ctx context.Context, from string) (content io.ReadCloser, size int64, err error) {
	failed := &Error{Doing: "download a file", Request: get, Tries: 1, ID: newID()}
	request, err := http.NewRequestWithContext(ctx, get, from, nil)
	if err != nil {
		failed.Reason = "the URL is malformed"
		return nil, 0, failed
	}
	failed.Request = get + " " + redact.URL(&url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Path: request.URL.Path})
	response, err := (&http.Client{Transport: c.http.Transport}).Do(request)
	if err != nil {
		failed.err, failed.Reason = err, c.word(redact.Error(err))
		return nil, 0, failed
	}
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, largestReason))
		_ = response.Body.Close()
		failed.Status, failed.Reason = response.StatusCode, c.reasonOf(body)
		return nil, 0, failed
	}
	return response.Body, response.ContentLength, nil
}
