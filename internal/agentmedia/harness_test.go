package agentmedia

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The manifests of a medium for three machines, as an installer writes them.
const (
	deploymentYAML = `apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata:
  creationTimestamp: null
  name: lab
  namespace: cluster0
spec:
  baseDomain: example.com
  clusterInstallRef: {group: extensions.hive.openshift.io, kind: AgentClusterInstall, name: lab, version: v1beta1}
  clusterName: lab
  controlPlaneConfig:
    servingCertificates: {}
  platform:
    agentBareMetal:
      agentSelector: {matchLabels: {bla: aaa}}
  pullSecretRef: {name: lab-pull-secret}
status:
  conditions: null
`
	installYAML = `apiVersion: extensions.hive.openshift.io/v1beta1
kind: AgentClusterInstall
metadata:
  annotations:
    agent-install.openshift.io/install-config-overrides: '{"fips": true}'
  creationTimestamp: null
  name: lab
  namespace: cluster0
spec:
  apiVIP: 192.168.127.240
  apiVIPs: [192.168.127.240]
  clusterDeploymentRef: {name: lab}
  imageSetRef: {name: openshift-4.20}
  ingressVIP: 192.168.127.241
  ingressVIPs: [192.168.127.241]
  networking:
    clusterNetwork:
    - {cidr: 10.128.0.0/14, hostPrefix: 23}
    machineNetwork:
    - cidr: 192.168.127.0/24
    networkType: OVNKubernetes
    serviceNetwork: [172.30.0.0/16]
  platformType: BareMetal
  provisionRequirements: {controlPlaneAgents: 3}
  sshPublicKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE8u9Tn3sXkV1j2m0jYc1mP9oQH0c4rXH0m3w0m5pW1Z core@example.com
status:
  debugInfo: {eventsURL: "", logsURL: ""}
  progress: {totalPercentage: 0}
`
	imageSetYAML = `apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: openshift-4.20}
spec:
  releaseImage: quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64
`
	infraEnvYAML = `apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata: {name: lab, namespace: cluster0}
spec:
  clusterRef: {name: lab, namespace: cluster0}
  cpuArchitecture: x86_64
  nmStateConfigLabelSelector:
    matchLabels: {infraenvs.agent-install.openshift.io: lab}
  pullSecretRef: {name: lab-pull-secret}
status:
  agentLabelSelector: {}
  bootArtifacts: {discoveryIgnitionURL: "", initrd: "", ipxeScript: "", kernel: "", rootfs: ""}
  debugInfo: {eventsURL: ""}
`
	pullSecret     = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz","email":"a@example.com"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}`
	pullSecretYAML = "apiVersion: v1\nkind: Secret\nmetadata: {name: lab-pull-secret, namespace: cluster0}\nstringData:\n  .dockerconfigjson: '" + pullSecret + "'\n"

	machinesYAML = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {file: pull-secret.json}
  network:
    machine: [192.168.127.0/24]
    vips: {api: [192.168.127.240], ingress: [192.168.127.241]}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:aa:00:01"}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:aa:00:02"}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:aa:00:03"}}
`
)

// speed is how much faster than life the service and its machines run.
const speed = 1000

// write is a request that changes something.
type write struct {
	Method, Path string
	Body         map[string]any
}

// wire is what stands between a client and the service.
type wire struct {
	next http.RoundTripper

	mu     sync.Mutex
	writes []write
	reads  int
	// trouble may swallow a write's answer, or the write itself.
	trouble func(number int) (send bool, err error)
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		w.mu.Lock()
		w.reads++
		w.mu.Unlock()
		return w.next.RoundTrip(request)
	}
	var data []byte
	if request.Body != nil {
		data, _ = io.ReadAll(request.Body) // of memory
		request.Body = io.NopCloser(bytes.NewReader(data))
	}
	var body map[string]any
	_ = json.Unmarshal(data, &body) // some bodies are a text
	w.mu.Lock()
	w.writes = append(w.writes, write{request.Method, strings.TrimPrefix(request.URL.Path, "/api/assisted-install/v2"), body})
	number, trouble := len(w.writes), w.trouble
	w.mu.Unlock()
	if trouble == nil {
		return w.next.RoundTrip(request)
	}
	send, err := trouble(number)
	if !send {
		return nil, err
	}
	response, failed := w.next.RoundTrip(request)
	if err != nil && failed == nil {
		response.Body.Close()
		return nil, err
	}
	return response, failed
}

// made are the writes since the last call.
func (w *wire) made() []write {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := w.writes
	w.writes = nil
	return made
}

// medium is a folder like a medium's, and a service.
type medium struct {
	*testing.T
	dir   string
	url   string
	clock clock.Clock
	wire  *wire
	auth  rest.TokenSource
	users *auth.Service
	env   Environment
	macs  []string
	told  []string
}

func newMedium(t *testing.T, mode auth.Mode) *medium {
	t.Helper()
	m := &medium{T: t, dir: t.TempDir(), clock: clock.Scaled(speed), wire: &wire{next: http.DefaultTransport}}
	var server *httptest.Server
	service, err := simulator.NewService(simulator.ServiceConfig{Clock: m.clock, Seed: 1, PublicURL: func() string { return server.URL }}, mode)
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(service)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = service.Run(ctx) }) // ends with its context
	t.Cleanup(func() { stop(); group.Wait(); server.CloseClientConnections(); server.Close() })
	m.url, m.users = server.URL, service.Callers()
	for name, text := range map[string]string{
		"cluster-deployment.yaml": deploymentYAML, "agent-cluster-install.yaml": installYAML, "cluster-image-set.yaml": imageSetYAML,
		"infraenv.yaml": infraEnvYAML, "pull-secret.yaml": pullSecretYAML, "pull-secret.json": pullSecret, "machines.yaml": machinesYAML,
	} {
		m.put(name, text)
	}
	m.reset(nil)
	return m
}

// reset reads the environment again, with some more variables.
func (m *medium) reset(variables map[string]string) {
	m.Helper()
	folders := map[string]string{"EXTRA_MANIFESTS_PATH": "extra", "HOST_CONFIG_DIR": "hostconfig", "CLUSTER_CONFIG_DIR": "clusterconfig", "CONTAINERS_REGISTRIES_CONF": "registries.conf"}
	files := map[string]string{
		"CLUSTER_DEPLOYMENT_FILE": "cluster-deployment.yaml", "AGENT_CLUSTER_INSTALL_FILE": "agent-cluster-install.yaml", "INFRA_ENV_FILE": "infraenv.yaml",
		"PULL_SECRET_FILE": "pull-secret.yaml", "CLUSTER_IMAGE_SET_FILE": "cluster-image-set.yaml", "NMSTATE_CONFIG_FILE": "nmstateconfig.yaml", "OPERATOR_INSTALL_FILE": "operators.yaml",
	}
	env, err := ReadEnvironment(func(name string) (string, bool) {
		if value, set := variables[name]; set {
			return value, true
		}
		if name := folders[name] + files[name]; name != "" {
			return filepath.Join(m.dir, name), true
		}
		return "", false
	})
	if err != nil {
		m.Fatal(err)
	}
	env.ClientConfig, env.Failures = filepath.Join(m.dir, "etc", "client_config"), filepath.Join(m.dir, "run", "host-config-failures")
	m.env = env
}

// put writes a file of the medium.
func (m *medium) put(name, text string) {
	m.Helper()
	path := filepath.Join(m.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		m.Fatal(err)
	}
}

// edit replaces a part of a file of the medium.
func (m *medium) edit(name, old, by string) {
	m.Helper()
	text := m.read(name)
	if !strings.Contains(text, old) {
		m.Fatalf("%s does not hold %q", name, old)
	}
	m.put(name, strings.Replace(text, old, by, 1))
}

func (m *medium) read(name string) string {
	m.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.Fatal(err)
	}
	return string(data)
}

// client is a new process, which remembers nothing.
func (m *medium) client() *Client {
	m.Helper()
	plane, err := rest.New(rest.Config{URL: m.url, HTTPClient: &http.Client{Transport: m.wire}, Auth: m.auth, Clock: m.clock})
	if err != nil {
		m.Fatal(err)
	}
	return &Client{
		Service: plane, Clock: m.clock, Env: m.env, Timeout: 2 * time.Hour,
		Release: func(_ context.Context, ref string, o release.Options) (release.Info, error) {
			version, _, _ := strings.Cut(ref[strings.LastIndex(ref, ":")+1:], "-")
			if o.PullSecret.IsZero() {
				return release.Info{}, errors.New("no pull secret")
			}
			return release.Info{Version: version, Arch: []string{"x86_64"}}, nil
		},
		MACs: func() ([]string, error) { return m.macs, nil },
		Say:  func(format string, arguments ...any) { m.told = append(m.told, fmt.Sprintf(format, arguments...)) },
		Warn: func(format string, arguments ...any) {
			m.told = append(m.told, "warning: "+fmt.Sprintf(format, arguments...))
		},
	}
}

// must runs a step of a new process that is to end well.
func (m *medium) must(step func(*Client, context.Context) (Result, error), want string) Result {
	m.Helper()
	got, err := step(m.client(), m.Context())
	if err != nil {
		m.Fatalf("%v\n%s", err, strings.Join(m.told, "\n"))
	}
	if got.Done != want {
		m.Errorf("%s %s is %s, want %s", got.Kind, got.Name, got.Done, want)
	}
	return got
}

// quiet runs a step that is to change nothing.
func (m *medium) quiet(step func(*Client, context.Context) (Result, error)) {
	m.Helper()
	m.wire.made()
	m.must(step, unchanged)
	if made := m.wire.made(); len(made) > 0 {
		m.Errorf("a step that was done already writes %v", made)
	}
}

// boot switches the machines on.
func (m *medium) boot(day host.BootDay, names ...string) {
	m.Helper()
	cluster, err := spec.Load(m.Context(), filepath.Join(m.dir, "machines.yaml"), spec.OSEnv())
	if err != nil {
		m.Fatal(err)
	}
	if len(names) > 0 {
		cluster.Spec.Hosts = slices.DeleteFunc(cluster.Spec.Hosts, func(h spec.Host) bool { return !slices.Contains(names, h.Name) })
	}
	ctx, stop := context.WithCancel(m.Context())
	var group sync.WaitGroup
	group.Go(func() {
		_ = simulator.Boot(ctx, simulator.BootConfig{ServiceURL: m.url, Clock: m.clock, Seed: 1, Cluster: cluster, Day: day}) // ends with its context
	})
	m.Cleanup(func() { stop(); group.Wait() })
}

// raw asks the service for a list past every client.
func (m *medium) raw(path string) []map[string]any {
	m.Helper()
	response, err := http.Get(m.url + "/api/assisted-install/v2" + path)
	if err != nil {
		m.Fatal(err)
	}
	defer response.Body.Close()
	var list []map[string]any
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		m.Fatal(err)
	}
	return list
}
