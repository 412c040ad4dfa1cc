//go:build e2e

package hub

import (
	"context"
	"fmt"
	"os"
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
	"github.com/oaictl/oaictl/pkg/install/model"
)

var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// calls are what a plane asked of the API server.
type calls struct {
	mu  sync.Mutex
	all []install.Call
}

func (c *calls) log(call install.Call) {
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
			writes = append(writes, call.Method+" "+call.URL)
		case call.Method != "WATCH":
			reads = append(reads, call.Method+" "+call.URL)
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
	desired   *model.Desired
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
	s.desired = &model.Desired{Spec: parseCluster(t, fmt.Sprintf(clusterText, s.namespace))}
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

func (s *stage) query() model.Query {
	c := s.desired.Spec
	return model.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, Adopt: s.desired.Options.Adopt}
}

func (s *stage) observe() *model.Observed {
	s.Helper()
	o, err := s.plane.Observe(s.Context(), s.query(), nil)
	if err != nil {
		s.Fatalf("observe: %v (next: %s)", err, model.FaultOf(err).Next)
	}
	return o
}

// until observes until something is so: watches take a moment.
func (s *stage) until(what string, so func(*model.Observed) bool) *model.Observed {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	for {
		o := s.observe()
		if so(o) {
			return o
		}
		select {
		case <-s.plane.Changed(model.Query{ID: kube.ID(s.namespace, s.namespace)}):
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
		o.Results = model.Results{NoIngress: true, Kubeconfig: true, Password: true}
		plan := install.Decide(s.desired, o, model.Memory{}, o.At)
		if len(plan.Actions) == 0 {
			return done
		}
		for _, a := range plan.Actions {
			if err := s.plane.Act(s.Context(), s.desired, a); err != nil {
				s.Fatalf("%s: %v (next: %s)", a.Key, err, model.FaultOf(err).Next)
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

// status makes the service write the status of an object.
func (s *stage) status(k kube.Kind, name string, status map[string]any) {
	s.Helper()
	u := s.get(k, name)
	u.Object["status"] = status
	if _, err := s.client(k).UpdateStatus(s.Context(), u, metav1.UpdateOptions{FieldManager: "assisted-service"}); err != nil {
		s.Fatal(err)
	}
}

// says makes the service report a state of the cluster.
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

// imageReady makes the service make the image.
func (s *stage) imageReady() {
	s.Helper()
	s.status(kube.InfraEnvs, s.namespace, map[string]any{
		"isoDownloadURL": "http://images.example.com/x.iso", "createdTime": time.Now().UTC().Format(time.RFC3339),
		"conditions": []any{conditionOf("ImageCreated", "True", "InfraEnvAvailable")},
	})
}

// boots makes a machine register.
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

// agent makes the service report a state of a host.
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
