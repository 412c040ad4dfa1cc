package simulator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const twoNodes = `
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: pair}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  topology: {controlPlane: 2, fencing: true}
  network: {vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:01"}, fencing: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:02"}, fencing: {address: "https://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}}}
`

const muchSaid = `
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab, tags: [blue]}
spec:
  openshift: {version: "4.20", arch: x86_64}
  baseDomain: example.com
  pullSecret: {env: PULL}
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 3}
  network:
    type: OVNKubernetes
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    userManaged: false
    mtu: 1400
    defaults: {ntp: [ntp.example.com], gateway: 192.168.127.1, dns: [192.168.127.1]}
  platform: {type: baremetal}
  proxy: {http: "http://proxy.example.com:3128", no: [.example.com, 10.0.0.0/8]}
  hyperthreading: [worker, control-plane]
  schedulableControlPlane: true
  fips: true
  boot: {image: minimal}
  registry:
    mirrors: [{source: quay.io/ocp, mirrors: [mirror.example.com/ocp]}]
  manifests: [{name: 50-x.yaml, folder: openshift, content: "a: b\n"}]
  operators: [{name: lso}]
  bundles: [{id: virtualization}]
  discovery: {kernelArgs: [console=ttyS0], networkDelay: 30s}
  ignitionEndpoint: {url: "https://api-int.lab.example.com:22623/config"}
  ignoreValidations: {hosts: [all], cluster: [all]}
  overrides: {installConfig: {cpuPartitioningMode: AllNodes}, infraEnv: {additional_ntp_sources: ntp.example.com}, host: {machine_config_pool_name: master}}
  hosts:
  - name: cp-0
    role: control-plane
    match: {mac: "52:54:00:00:00:01"}
    net: {ip: 192.168.127.10/24}
    labels: {rack: a}
    installerArgs: ["--append-karg", "a=b"]
    ignition: {ignition: {version: 3.2.0}}
    ignitionEndpoint: {token: {env: TOKEN}, headers: {X-A: "1"}}
  - {name: cp-1, role: control-plane, match: {mac: "52-54-00-00-00-02"}, net: {ip: 192.168.127.11/24, mtu: 9000}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:00:00:03"}}
`

// mute counts what is written and, if it is to, keeps from the library what a
// service of another age does not give back.
type mute struct {
	install.Service
	keep   bool
	mu     *sync.Mutex
	writes map[string]int
}

func (m mute) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	observed, err := m.Service.Observe(ctx, query, prior)
	if err != nil || !m.keep {
		return observed, err
	}
	for i := range observed.Hosts {
		settings := model.Settings{}
		for key, value := range observed.Hosts[i].Settings {
			if key != model.SettingFencing {
				settings[key] = value
			}
		}
		observed.Hosts[i].Settings = settings
	}
	return observed, nil
}

func (m mute) Act(ctx context.Context, desired *model.Desired, action model.Action) error {
	m.mu.Lock()
	m.writes[action.Key]++
	m.mu.Unlock()
	return m.Service.Act(ctx, desired, action)
}

// parse reads a cluster.yaml whose secrets stand in the environment.
func parse(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{"PULL": pullSecret, "BMC": "root:calvin", "TOKEN": "t0ken"}[name]
		return text, set
	}
	cluster, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// writesUntilInstall counts what is written until the install call is made, by
// runs of which none remembers what an earlier one did.
func writesUntilInstall(t *testing.T, cluster *spec.Cluster, mutely bool) map[string]int {
	t.Helper()
	scaled := clock.Scaled(1200)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: scaled, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	writes, deadline := map[string]int{}, time.Now().Add(time.Minute)
	for runs := 0; writes["cluster/install"] == 0; runs++ {
		plane, err := rest.New(rest.Config{URL: s.URL(), Clock: scaled})
		if err != nil {
			t.Fatal(err)
		}
		service := mute{plane, mutely, &sync.Mutex{}, writes}
		result, err := install.New(service, install.Config{Clock: scaled}).Detach(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "abc123"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range result.Plan.Warnings {
			t.Errorf("%s: %s", w.Reason, w.Message)
		}
		if time.Now().After(deadline) || t.Failed() {
			t.Fatalf("not started after %d runs: %s, wrote %v", runs, result.Plan.Message, writes)
		}
		_ = scaled.Sleep(t.Context(), 20*time.Second)
	}
	return writes
}

// TestFencingIsSentOnce, however many runs it takes until the install call, and
// whether the service gives the address back or not.
func TestFencingIsSentOnce(t *testing.T) {
	for _, mutely := range []bool{false, true} {
		want := map[string]int{"cluster/register": 1, "infraenv/pair/register": 1, "host/cp-0/update": 1, "host/cp-1/update": 1, "cluster/install": 1}
		if diff := cmp.Diff(want, writesUntilInstall(t, parse(t, twoNodes), mutely)); diff != "" {
			t.Errorf("address kept back %v: %s", mutely, diff)
		}
	}
}

// TestNothingIsWrittenTwice of a file that says almost everything that can be
// said: what comes back from the service means what was sent.
func TestNothingIsWrittenTwice(t *testing.T) {
	want := map[string]int{
		"cluster/register": 1, "cluster/overrides": 1, "cluster/manifest/openshift/50-x.yaml": 1, "cluster/ignore": 1, "infraenv/lab/register": 1,
		"cluster/manifest/manifests/cluster-network-03-config.yml": 1, "host/cp-0/update": 1, "host/cp-1/update": 1, "host/cp-2/update": 1, "cluster/install": 1,
	}
	if diff := cmp.Diff(want, writesUntilInstall(t, parse(t, muchSaid), false)); diff != "" {
		t.Error(diff)
	}
}
