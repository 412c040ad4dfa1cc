//go:build linux

package controller

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	clusterID  = strfmt.UUID("5a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d11")
	infraEnvID = strfmt.UUID("5a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d22")

	bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	adminConfig  = `
current-context: admin
contexts: [{name: admin, context: {cluster: lab, user: admin}}]
clusters: [{name: lab, cluster: {server: "https://api-int.lab.example.com:6443", certificate-authority-data: Q0E=}}]
users: [{name: admin, user: {token: secret-admin-key, exec: {command: rm}}}]
`
)

// answered is the error of a call that the service answered with a status.
func answered(status int) error {
	return fmt.Errorf("as a test wants: %w", &service.Error{Doing: "ask", Status: status, Reason: "as a test wants"})
}

// fakeService is an assisted-service in memory.
type fakeService struct {
	mu        sync.Mutex
	cluster   models.Cluster
	operators models.MonitoredOperatorsList
	files     map[string]string
	calls     []string // that change something
	looks     int      // at the cluster
	archives  []map[string]string
	// trouble gives the error of a call; it may wait for the context. nil for none.
	trouble func(ctx context.Context, call string) error
}

func ptr[T any](v T) *T { return &v }

func (s *fakeService) called(ctx context.Context, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	if s.trouble != nil {
		if err := s.trouble(ctx, call); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	return nil
}

func (s *fakeService) done() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *fakeService) status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.cluster.Status
}

func (s *fakeService) setStatus(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.Status = &status
}

func (s *fakeService) host(name string) *models.Host {
	for _, h := range s.cluster.Hosts {
		if h.RequestedHostname == name {
			return h
		}
	}
	return nil
}

func (s *fakeService) setStage(name string, stage models.HostStage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host(name).Progress = &models.HostProgressInfo{CurrentStage: stage}
}

func (s *fakeService) Cluster(ctx context.Context, _ strfmt.UUID, withHosts bool) (*models.Cluster, error) {
	if s.trouble != nil {
		if err := s.trouble(ctx, "Cluster"); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	out := s.cluster
	out.Hosts = nil
	if withHosts {
		for _, h := range s.cluster.Hosts {
			out.Hosts = append(out.Hosts, ptr(*h))
		}
	}
	if out.Progress != nil {
		out.Progress = ptr(*out.Progress)
	}
	return &out, nil
}

func (s *fakeService) Progress(ctx context.Context, infraEnv, host strfmt.UUID, stage models.HostStage, info string) error {
	s.mu.Lock()
	var h *models.Host
	for _, one := range s.cluster.Hosts {
		if one.ID != nil && *one.ID == host && infraEnv == infraEnvID {
			h = one
		}
	}
	s.mu.Unlock()
	if err := s.called(ctx, "Progress %s %s%s", h.RequestedHostname, stage, info); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Progress = &models.HostProgressInfo{CurrentStage: stage}
	if stage == models.HostStageDone {
		h.Status = ptr(models.HostStatusInstalled)
	}
	if !slices.ContainsFunc(s.cluster.Hosts, func(h *models.Host) bool { return *h.Status != models.HostStatusInstalled }) {
		s.cluster.Status = ptr(models.ClusterStatusFinalizing)
	}
	return nil
}

func (s *fakeService) TriggerEvent(ctx context.Context, event *models.Event) error {
	return s.called(ctx, "TriggerEvent %s: %s", event.Name, *event.Message)
}

func (s *fakeService) FinalizingProgress(ctx context.Context, _ strfmt.UUID, stage models.FinalizingStage) error {
	if err := s.called(ctx, "FinalizingProgress %s", stage); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.Progress = &models.ClusterProgressInfo{FinalizingStage: stage}
	return nil
}

func (s *fakeService) MonitoredOperators(ctx context.Context, _ strfmt.UUID) (models.MonitoredOperatorsList, error) {
	if err := s.called(ctx, "MonitoredOperators"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all models.MonitoredOperatorsList
	for _, o := range s.operators {
		all = append(all, ptr(*o))
	}
	return all, nil
}

func (s *fakeService) UpdateOperator(ctx context.Context, _ strfmt.UUID, name, version string, status models.OperatorStatus, info string) error {
	if err := s.called(ctx, "UpdateOperator %s %s %s %s", name, version, status, info); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.operators {
		if o.Name == name {
			o.Status, o.StatusInfo = status, info
		}
	}
	return nil
}

func (s *fakeService) UploadIngressCert(ctx context.Context, _ strfmt.UUID, pem string) error {
	return s.called(ctx, "UploadIngressCert %s", pem)
}

func (s *fakeService) CompleteInstallation(ctx context.Context, _ strfmt.UUID, success bool, info string, data map[string]any) error {
	if err := s.called(ctx, "CompleteInstallation %t %s %d", success, info, len(data)); err != nil {
		return err
	}
	if success {
		s.setStatus(models.ClusterStatusInstalled)
	} else {
		s.setStatus(models.ClusterStatusError)
	}
	return nil
}

func (s *fakeService) ClusterFile(ctx context.Context, _ strfmt.UUID, name string) ([]byte, error) {
	return []byte(s.files[name]), s.called(ctx, "ClusterFile %s", name)
}

func (s *fakeService) ClusterCredential(ctx context.Context, _ strfmt.UUID, name string) ([]byte, error) {
	return []byte(adminConfig), s.called(ctx, "ClusterCredential %s", name)
}

func (s *fakeService) ClusterLogsProgress(ctx context.Context, _ strfmt.UUID, state models.LogsState) error {
	return s.called(ctx, "ClusterLogsProgress %s", state)
}

func (s *fakeService) UploadLogs(ctx context.Context, _ strfmt.UUID, infraEnv, host *strfmt.UUID, kind models.LogsType, content io.Reader) error {
	if infraEnv != nil || host != nil {
		return errors.New("the logs of a controller are of no host")
	}
	files := map[string]string{}
	zipped, err := gzip.NewReader(content)
	if err != nil {
		return err
	}
	tape := tar.NewReader(zipped)
	for {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(tape)
		if err != nil {
			return err
		}
		files[header.Name] = string(content)
	}
	if err := s.called(ctx, "UploadLogs %s", kind); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archives = append(s.archives, files)
	return nil
}

// world is a cluster that is being installed.
type world struct {
	t       *testing.T
	api     *hosttest.API
	service *fakeService
	runner  *machine.Recorder
	env     map[string]string
	root    string
	temp    string
	log     *Tail
	boot    time.Time // when the world began
	direct  bool      // the service is reached without a proxy
}

func newWorld(t *testing.T, hosts ...string) *world {
	t.Helper()
	w := &world{
		t: t, api: hosttest.New(t), runner: &machine.Recorder{}, root: t.TempDir(), temp: t.TempDir(), log: &Tail{}, boot: time.Now(),
		env: map[string]string{
			"CLUSTER_ID": string(clusterID), "INVENTORY_URL": "https://user:secret-url@assisted.example.com", "OPENSHIFT_VERSION": "4.19.3",
			"CONTROL_PLANE_COUNT": fmt.Sprint(len(hosts)), "PULL_SECRET_TOKEN": "secret-token",
		},
	}
	w.service = &fakeService{files: map[string]string{}, operators: models.MonitoredOperatorsList{
		{Name: "console", OperatorType: models.OperatorTypeBuiltin}, {Name: "cvo", OperatorType: models.OperatorTypeBuiltin},
	}}
	c := &w.service.cluster
	c.ID, c.Status, c.Name = ptr(clusterID), ptr(models.ClusterStatusInstalling), "lab"
	c.Platform = &models.Platform{Type: ptr(models.PlatformTypeNone)}
	c.InstallStartedAt = strfmt.DateTime(w.boot.Add(-time.Hour))
	c.APIVips = []*models.APIVip{{IP: "10.0.0.100"}}
	c.ClusterNetworks = []*models.ClusterNetwork{{Cidr: "10.128.0.0/14"}}
	for i, name := range hosts {
		id := strfmt.UUID(fmt.Sprintf("5a0e0c6e-4a8a-4c2f-9d6d-0000000000%02d", i))
		c.Hosts = append(c.Hosts, &models.Host{
			ID: &id, InfraEnvID: infraEnvID, ClusterID: ptr(clusterID), RequestedHostname: name, Role: models.HostRoleMaster, Bootstrap: i == 0,
			Status: ptr(models.HostStatusInstallingInProgress), Progress: &models.HostProgressInfo{CurrentStage: models.HostStageRebooting},
			Inventory: fmt.Sprintf(`{"interfaces":[{"ipv4_addresses":["10.0.0.%d/24"],"ipv6_addresses":["2001:db8::%d/64"]}]}`, i+1, i+1),
		})
	}
	w.api.Put("config.openshift.io", "proxies", hosttest.Object{"metadata": hosttest.Object{"name": "cluster"}, "status": hosttest.Object{"httpsProxy": "http://proxy:3128"}})
	w.api.Put("", "configmaps", hosttest.Object{
		"metadata": hosttest.Object{"name": "openshift-install-manifests", "namespace": "openshift-config"}, "data": hosttest.Object{"invoker": "assisted-service"},
	})
	w.api.Put("", "configmaps", hosttest.Object{
		"metadata": hosttest.Object{"name": ingressCertName, "namespace": ingressCertSpace}, "data": hosttest.Object{ingressCertKey: "CERT"},
	})
	w.api.Put("config.openshift.io", "clusterversions", hosttest.Object{
		"metadata": hosttest.Object{"name": "version", "creationTimestamp": w.boot.Add(-time.Hour).UTC().Format(time.RFC3339)},
		"status":   hosttest.Object{"desired": hosttest.Object{"version": "4.19.3"}},
	})
	w.operator("console", "False", "True", "working on it")
	w.api.Put("", "pods", hosttest.Object{
		"metadata": hosttest.Object{"name": "controller-1", "namespace": "assisted-installer", "labels": hosttest.Object{"job-name": jobName}},
		"status":   hosttest.Object{"phase": "Running"},
	})
	w.api.Logs["assisted-installer/controller-1"] = "the log of the pod"
	w.api.Put("", "pods", hosttest.Object{
		"metadata": hosttest.Object{"name": "mcs-1", "namespace": configServerSpace, "labels": hosttest.Object{"k8s-app": "machine-config-server"}},
	})
	w.api.Logs[configServerSpace+"/mcs-1"] = ""
	return w
}

// operator sets the conditions Available and Progressing of a ClusterOperator.
func (w *world) operator(name, available, progressing, message string) {
	w.api.Put("config.openshift.io", "clusteroperators", hosttest.Object{
		"metadata": hosttest.Object{"name": name}, "status": hosttest.Object{
			"versions": []any{hosttest.Object{"name": "operator", "version": "4.19.3"}},
			"conditions": []any{
				hosttest.Object{"type": "Available", "status": available, "message": message},
				hosttest.Object{"type": "Progressing", "status": progressing, "message": message},
			},
		},
	})
}

// node makes a Node, or changes it.
func (w *world) node(name, address string, ready bool, taints ...any) {
	status := "False"
	if ready {
		status = "True"
	}
	w.api.Put("", "nodes", hosttest.Object{
		"metadata": hosttest.Object{"name": name, "labels": hosttest.Object{"node-role.kubernetes.io/master": ""}}, "spec": hosttest.Object{"taints": taints}, "status": hosttest.Object{
			"conditions": []any{hosttest.Object{"type": "Ready", "status": status}},
			"addresses":  []any{hosttest.Object{"type": "Hostname", "address": name}, hosttest.Object{"type": "InternalIP", "address": address}},
		},
	})
}

// requests makes a request for a certificate. It is a first one of a kubelet if no addresses are given.
func (w *world) request(name, node string, key *ecdsa.PrivateKey, addresses ...string) {
	if key == nil {
		key = must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(w.t)
	}
	form := x509.CertificateRequest{
		Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node}, SignatureAlgorithm: x509.ECDSAWithSHA256,
	}
	spec := hosttest.Object{
		"signerName": "kubernetes.io/kube-apiserver-client-kubelet", "username": bootstrapper, "usages": []any{"digital signature", "client auth"},
		"groups": []any{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"},
	}
	if len(addresses) > 0 {
		form.DNSNames = []string{node}
		for _, address := range addresses {
			form.IPAddresses = append(form.IPAddresses, net.ParseIP(address))
		}
		spec["signerName"], spec["username"] = "kubernetes.io/kubelet-serving", "system:node:"+node
		spec["usages"], spec["groups"] = []any{"digital signature", "server auth"}, []any{"system:nodes", "system:authenticated"}
	}
	der := must.Get(x509.CreateCertificateRequest(rand.Reader, &form, key))(w.t)
	spec["request"] = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	w.api.Put("certificates.k8s.io", "certificatesigningrequests", hosttest.Object{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": hosttest.Object{"name": name}, "spec": spec,
	})
}

func (w *world) approved(name string) bool {
	r := w.api.Get("certificates.k8s.io", "certificatesigningrequests", "", name)
	status, _ := r["status"].(hosttest.Object)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool { return c.(hosttest.Object)["type"] == "Approved" })
}

// run runs the controller and returns its exit code.
func (w *world) run(ctx context.Context) int {
	return Program{
		Getenv: func(name string) string { return w.env[name] }, Files: hostfile.Files{Root: w.root}, Temporary: w.temp, Runner: w.runner,
		Clock: clock.Real(), Log: slog.New(slog.NewTextHandler(w.log, nil)), Recent: w.log.Bytes, Connect: w.api.Connect,
		Service: func(a Access) (Service, error) {
			if a.Token != "secret-token" || (a.Proxy.HTTPS != "http://proxy:3128") != w.direct {
				return nil, fmt.Errorf("wrong access: %+v", a)
			}
			return w.service, nil
		},
	}.Run(ctx)
}

// file writes a file of the machine.
func (w *world) file(path, content string) {
	must.Do(w.t, hostfile.Files{Root: w.root}.Write(path, []byte(content), 0o600))
}

// text is the log so far. No secret may be in it.
func (w *world) text() string {
	text := string(w.log.Bytes())
	if at := strings.Index(text, "secret-"); at >= 0 {
		w.t.Errorf("there is a secret in the log: %.200s", text[at:])
	}
	return text
}

// odd is added to times of a test, so that nothing happens at the moment of a look.
const odd = 7 * time.Second

// later does something when a time has passed.
func later(after time.Duration, do func()) {
	time.AfterFunc(after+odd, do)
}

// changes are the calls that change something at the service, in order.
func (w *world) changes() []string {
	return slices.DeleteFunc(w.service.done(), func(call string) bool { return call == "MonitoredOperators" })
}
