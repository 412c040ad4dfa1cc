package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// calls are what a plane asked of the API server.
type calls struct {
	mu  sync.Mutex
	all []Call
}

func (c *calls) log(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

// take are the calls since the last time: those that wrote, and the rest beside
// watches.
func (c *calls) take() (writes, reads []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		switch {
		case call.Writes():
			writes = append(writes, call.Method+" "+call.Path)
		case call.Method != "WATCH":
			reads = append(reads, call.Method+" "+call.Path)
		}
	}
	c.all = nil
	return writes, reads
}

// stage is a plane on a real API server, and a client for what others do there.
type stage struct {
	*testing.T
	plane     *Plane
	calls     *calls
	admin     dynamic.Interface
	namespace string
	desired   *install.Desired
}

// clusterText is a cluster; %s is its name.
const clusterText = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 3, workers: 1}
  network:
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    defaults: {ntp: [ntp.example.com]}
  proxy: {http: "http://proxy.example.com:3128", no: [.example.com]}
  fips: true
  hyperthreading: [control-plane]
  diskEncryption: {mode: tpm}
  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
  discovery: {kernelArgs: [console=ttyS0], networkDelay: 30s}
  ignitionEndpoint: {url: "https://api-int.example.com:22623/config"}
  ignoreValidations: {hosts: [ntp-synced]}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}, labels: {rack: a}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:01"}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
  - {name: w-0, role: worker, match: {mac: "52:54:00:00:00:03"}}
`

func parseCluster(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	values := map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dTpw"}}}`, "BMC": "admin:secret"}
	c, err := spec.Parse(t.Context(), filepath.Join(t.TempDir(), "cluster.yaml"), []byte(text), spec.Env{
		LookupEnv: func(name string) (string, bool) { v, set := values[name]; return v, set },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newStage has a hub with a ClusterImageSet and an empty namespace, and a
// cluster named after it.
func newStage(t *testing.T, change ...func(*Config)) *stage {
	t.Helper()
	c := server.Start(t)
	s := &stage{T: t, calls: &calls{}, namespace: c.Namespace(t)}
	var err error
	if s.admin, err = dynamic.NewForConfig(c.Config); err != nil {
		t.Fatal(err)
	}
	s.imageSet("openshift-v4.20.3", "quay.io/ocp/release:4.20.3-x86_64")
	s.desired = &install.Desired{Spec: parseCluster(t, fmt.Sprintf(clusterText, s.namespace))}
	config := Config{Kube: c.Config, Log: s.calls.log}
	for _, f := range change {
		f(&config)
	}
	s.plane = s.newPlane(config)
	return s
}

func (s *stage) newPlane(config Config) *Plane {
	s.Helper()
	p, err := New(config)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(p.Close)
	return p
}

func (s *stage) imageSet(name, release string) {
	s.Helper()
	u := object("hive.openshift.io/v1", "ClusterImageSet", "", name, map[string]any{"spec": map[string]any{"releaseImage": release}})
	_, err := s.admin.Resource(kube.ClusterImageSets.Resource()).Apply(s.Context(), name, u, metav1.ApplyOptions{FieldManager: "test", Force: true})
	if err != nil {
		s.Fatal(err)
	}
}

func object(version, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (s *stage) query() install.Query {
	c := s.desired.Spec
	return install.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, Adopt: s.desired.Options.Adopt}
}

func (s *stage) observe() *install.Observed {
	s.Helper()
	o, err := s.plane.Observe(s.Context(), s.query(), nil)
	if err != nil {
		s.Fatalf("observe: %v (next: %s)", err, install.NextOf(err))
	}
	return o
}

// until observes until something is so: watches take a moment.
func (s *stage) until(what string, so func(*install.Observed) bool) *install.Observed {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	for {
		o := s.observe()
		if so(o) {
			return o
		}
		at := s.plane.api.Watching(s.namespace)
		select {
		case <-at.Wait():
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			s.Fatalf("not so after a while: %s; observed %+v", what, o.Cluster)
		}
	}
}

// settle carries out what is decided until nothing more is, and gives the
// actions.
func (s *stage) settle() []string {
	s.Helper()
	var done []string
	for range 20 {
		o := s.observe()
		o.Results = install.Results{NoIngress: true, Kubeconfig: true, Password: true}
		plan := install.Decide(s.desired, o, install.Memory{}, o.At)
		if len(plan.Actions) == 0 {
			return done
		}
		for _, a := range plan.Actions {
			if err := s.plane.Act(s.Context(), s.desired, a); err != nil {
				s.Fatalf("%s: %v (next: %s)", a.Key, err, install.NextOf(err))
			}
			done = append(done, string(a.Kind))
			s.Logf("%s: %s %v", a.Key, a.Kind, a.Changes)
		}
	}
	s.Fatalf("it never settles: %v", done)
	return nil
}

// get is an object as it is on the API server.
func (s *stage) get(k kube.Kind, name string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.client(k).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return u
}

func (s *stage) client(k kube.Kind) dynamic.ResourceInterface {
	if k.ClusterWide() {
		return s.admin.Resource(k.Resource())
	}
	return s.admin.Resource(k.Resource()).Namespace(s.namespace)
}

// status has the service write the status of an object.
func (s *stage) status(k kube.Kind, name string, status map[string]any) {
	s.Helper()
	u := s.get(k, name)
	u.Object["status"] = status
	if _, err := s.client(k).UpdateStatus(s.Context(), u, metav1.UpdateOptions{FieldManager: "assisted-service"}); err != nil {
		s.Fatal(err)
	}
}

func conditionOf(kind, status, reason string) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": reason, "lastTransitionTime": now, "lastProbeTime": now}
}

// says has the service say a state of the cluster.
func (s *stage) says(state string, conditions ...any) {
	s.Helper()
	if len(conditions) == 0 {
		conditions = []any{conditionOf("SpecSynced", "True", "SyncOK"), conditionOf("Completed", "False", "InstallationNotStarted")}
	}
	s.status(kube.AgentClusterInstalls, s.namespace, map[string]any{
		"conditions": conditions,
		"debugInfo":  map[string]any{"state": state, "stateInfo": state, "eventsURL": "", "logsURL": ""},
		"validationsInfo": map[string]any{"network": []any{
			map[string]any{"id": "api-vips-defined", "status": "success", "message": "fine"},
		}},
	})
}

// imageReady has the service make the image.
func (s *stage) imageReady() {
	s.Helper()
	s.status(kube.InfraEnvs, s.namespace, map[string]any{
		"isoDownloadURL": "http://images.example.com/x.iso", "createdTime": time.Now().UTC().Format(time.RFC3339),
		"conditions": []any{conditionOf("ImageCreated", "True", "InfraEnvAvailable")},
	})
}

// boots has a machine register.
func (s *stage) boots(number int) string {
	s.Helper()
	name := fmt.Sprintf("00000000-0000-0000-0000-%012d", number)
	u := object("agent-install.openshift.io/v1beta1", "Agent", s.namespace, name, map[string]any{
		"spec": map[string]any{"approved": false, "role": "auto-assign", "clusterDeploymentName": map[string]any{"name": s.namespace, "namespace": s.namespace}},
	})
	u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": s.namespace})
	if _, err := s.client(kube.Agents).Create(s.Context(), u, metav1.CreateOptions{FieldManager: "assisted-service"}); err != nil {
		s.Fatal(err)
	}
	s.agent(name, number, "known", conditionOf("SpecSynced", "True", "SyncOK"))
	return name
}

// agent has the service say a state of a host.
func (s *stage) agent(name string, number int, state string, conditions ...any) {
	s.Helper()
	s.status(kube.Agents, name, map[string]any{
		"role": "auto-assign", "kind": "Host", "conditions": conditions,
		"debugInfo": map[string]any{"state": state, "stateInfo": state},
		"inventory": map[string]any{
			"hostname":   fmt.Sprintf("machine-%d", number),
			"interfaces": []any{map[string]any{"name": "eth0", "macAddress": fmt.Sprintf("52:54:00:00:00:%02x", number), "ipV4Addresses": []any{fmt.Sprintf("192.168.127.%d/24", 10+number)}, "ipV6Addresses": []any{}, "flags": []any{}}},
			"disks":      []any{map[string]any{"id": "/dev/disk/by-id/wwn-0x1", "path": "/dev/sda", "sizeBytes": int64(120e9), "driveType": "SSD", "installationEligibility": map[string]any{"eligible": true, "notEligibleReasons": []any{}}}},
		},
	})
}

// agentWith is an Agent as it is after cp-0 was configured.
func agentWith(condition map[string]any) *unstructured.Unstructured {
	u := object("agent-install.openshift.io/v1beta1", "Agent", "lab", "00000000-0000-0000-0000-000000000000", map[string]any{
		"spec": map[string]any{"approved": true, "role": "master", "hostname": "cp-0", "clusterDeploymentName": map[string]any{"name": "lab", "namespace": "lab"}},
		"status": map[string]any{
			"role": "master", "kind": "Host", "conditions": []any{condition}, "debugInfo": map[string]any{"state": "known", "stateInfo": "known"},
			"inventory": map[string]any{"hostname": "cp-0", "interfaces": []any{map[string]any{"name": "eth0", "macAddress": "52:54:00:00:00:00", "ipV4Addresses": []any{}, "ipV6Addresses": []any{}, "flags": []any{}}}, "disks": []any{}},
		},
	})
	u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": "lab"})
	u.SetResourceVersion("1")
	return u
}

func (s *stage) wantWrites(want ...string) {
	s.Helper()
	writes, _ := s.calls.take()
	var got []string
	for _, w := range writes {
		parts := strings.Split(w, "/")
		got = append(got, parts[len(parts)-2]+"/"+strings.ReplaceAll(parts[len(parts)-1], s.namespace, "C"))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Errorf("writes %q, want %q", got, want)
	}
}
