package controlplane

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

func TestWorkersThatWouldWait(t *testing.T) {
	for name, c := range map[string]struct {
		deployments  int
		noTopology   bool
		annotation   string
		waits, tells string
	}{
		"no topology":               {noTopology: true},
		"no workers":                {},
		"one, and the default":      {deployments: 1, waits: "it has 1 MachineDeployments", tells: "Cluster API upgrades 1 at a time: kubectl -n ns annotate cluster lab --overwrite topology.cluster.x-k8s.io/upgrade-concurrency=100"},
		"as many as there are":      {deployments: 3, annotation: "3", waits: "it has 3 MachineDeployments", tells: "Cluster API upgrades 3 at a time: "},
		"one more than there are":   {deployments: 3, annotation: "4"},
		"what is no number":         {deployments: 1, annotation: "many", waits: "it has 1 ", tells: "Cluster API upgrades 0 at a time: "},
		"more than are proposed":    {deployments: 100, annotation: "100", waits: "it has 100 ", tells: "upgrade-concurrency=101"},
		"many, and more are asked ": {deployments: 100, annotation: "101"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}}
			if c.annotation != "" {
				cluster.Annotations = map[string]string{clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation: c.annotation}
			}
			if !c.noTopology {
				cluster.Spec.Topology.ClassRef.Name, cluster.Spec.Topology.Workers.MachineDeployments = "class", make([]clusterv1.MachineDeploymentTopology, c.deployments)
			}
			got := workersWouldWait(cluster)
			if (got == "") != (c.waits == "") || !strings.Contains(got, c.waits) || !strings.Contains(got, c.tells) {
				t.Errorf("it says %q, and should say %q and %q", got, c.waits, c.tells)
			}
		})
	}
}

// TestTopologyOfOtherBuilds: a topology with a version that differs from the one of its nodes gets a message that says
// which version to write, as Cluster API would wait for ever.
func TestTopologyOfOtherBuilds(t *testing.T) {
	const runs = "v1.33.5+6ec2f6f"
	for name, c := range map[string]struct {
		topology, plane string
		nodes           []string
		deployments     int
		waits           bool
	}{
		"the same":                              {topology: runs, plane: runs, nodes: []string{runs, runs}, deployments: 1},
		"without a commit":                      {topology: "v1.33.5", plane: "v1.33.5", nodes: []string{runs, runs}, deployments: 1, waits: true},
		"without a commit, nor workers":         {topology: "v1.33.5", plane: "v1.33.5", nodes: []string{runs}},
		"another commit":                        {topology: "v1.33.5+abcdef0", plane: "v1.33.5+abcdef0", nodes: []string{runs}, waits: true},
		"the control plane was not told":        {topology: runs, plane: "v1.33.5", nodes: []string{runs}, deployments: 1, waits: true},
		"kubelets that name no commit":          {topology: "v1.33.5", plane: "v1.33.5", nodes: []string{"v1.33.5"}, deployments: 1},
		"nodes on their way to another commit":  {topology: "v1.33.5", plane: "v1.33.5", nodes: []string{runs, "v1.33.5+abcdef0"}, deployments: 1},
		"nodes on their way to another version": {topology: "v1.33.6", plane: "v1.33.6", nodes: []string{runs}, deployments: 1},
		"a version that waits for others":       {topology: "v1.33.6", plane: "v1.33.5", nodes: []string{runs}, deployments: 1},
		"no topology":                           {plane: "v1.33.5", nodes: []string{runs}},
		"no nodes":                              {topology: "v1.33.5", plane: "v1.33.5", deployments: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, spoke := observed()
			s.cluster.Spec.Topology.Version, s.plane.Spec.Version = c.topology, c.plane
			s.cluster.Spec.Topology.Workers.MachineDeployments = make([]clusterv1.MachineDeploymentTopology, c.deployments)
			if c.topology != "" {
				s.cluster.Spec.Topology.ClassRef.Name = "class"
			}
			spoke.Nodes = nil
			for _, version := range c.nodes {
				spoke.Nodes = append(spoke.Nodes, model.Node{Version: version})
			}
			got := otherBuild(s.cluster, s.plane, spoke.Nodes)
			want := "Cluster API waits for nodes of version " + c.topology + ", and they run " + runs + ": " +
				"kubectl -n ns annotate cluster lab unsafe.topology.cluster.x-k8s.io/disable-update-version-check= && " +
				`kubectl -n ns patch cluster lab --type merge -p '{"spec":{"topology":{"version":"` + runs + `"}}}' && ` +
				`kubectl -n ns patch openshiftassistedcontrolplane lab --type merge -p '{"spec":{"version":"` + runs + `"}}' && ` +
				"kubectl -n ns annotate cluster lab unsafe.topology.cluster.x-k8s.io/disable-update-version-check-"
			if (got != "") != c.waits || c.waits && !strings.Contains(got, want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// TestTopologyIsToldOnce: the condition says it as long as it holds; the event comes once.
func TestTopologyIsToldOnce(t *testing.T) {
	s, spoke := observed()
	recorder := events.NewFakeRecorder(10)
	s.Recorder = recorder
	s.cluster.Spec.Topology.ClassRef.Name, s.cluster.Spec.Topology.Workers.MachineDeployments = "class", make([]clusterv1.MachineDeploymentTopology, 2)
	available := func() *metav1.Condition { return conditions.Get(s.plane, controlplanev1.UpgradeAvailableCondition) }
	reconcile := func(verdict model.Verdict) {
		s.was = *s.plane.Status.DeepCopy()
		if verdict != "" {
			s.upgrader().showUpgrade(&upgrade.Decision{Verdict: verdict, Reason: "Because", Message: "it is so"})
		}
		s.statusReport().show()
	}
	reconcile("")
	if c := available(); c != nil || len(recorder.Events) > 0 {
		t.Errorf("of a cluster that is not installed it says %+v", c)
	}
	reconcile(model.VerdictBlocked)
	if c := available(); c.Message != "it is so" {
		t.Errorf("what stands in the way is not said: %+v", c)
	}
	reconcile(model.VerdictInstalled)
	told := available()
	if told.Status != metav1.ConditionTrue || !strings.Contains(told.Message, "it has 2 MachineDeployments") || conditions.GetMessage(s.plane, controlplanev1.UpgradeCompletedCondition) != "" {
		t.Errorf("it says %+v", told)
	}
	reconcile(model.VerdictInstalled)
	reconcile("")
	if c := available(); *c != *told || len(recorder.Events) != 1 {
		t.Errorf("it is said otherwise: %+v, and there are %d events", c, len(recorder.Events))
	}
	spoke.Trouble = "it is not reached"
	reconcile("")
	spoke.Trouble = ""
	if c := available(); *c != *told || len(recorder.Events) != 1 {
		t.Errorf("while the cluster is not reached, it says %+v, and there are %d events", c, len(recorder.Events))
	}
	s.cluster.Annotations = map[string]string{clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation: "3"}
	reconcile("")
	if c := available(); c.Status != metav1.ConditionTrue || c.Message != "" || len(recorder.Events) != 1 {
		t.Errorf("it is still said: %+v", c)
	}
	s.cluster.Spec.Topology.Version = s.plane.Spec.Version
	for i := range spoke.Nodes {
		spoke.Nodes[i].Version = s.plane.Spec.Version + "+abc"
	}
	reconcile("")
	reconcile("")
	if c := available(); !strings.Contains(c.Message, "they run v1.34.1+abc") || len(recorder.Events) != 2 {
		t.Errorf("it says %+v, and there are %d events", c, len(recorder.Events))
	}
}

// TestWorkersThatAreUpdatedKeepTheirVersion: a Machine that Cluster API is updating in place has the version that it is
// updated to, and is not set back to that of its node; all others follow their nodes.
func TestWorkersThatAreUpdatedKeepTheirVersion(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	machine := func(name string, annotations map[string]string) client.Object {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{clusterv1.ClusterNameLabel: "lab"}, Annotations: annotations,
		}}
		m.Spec.Version, m.Status.NodeInfo = "v1.34.1", &corev1.NodeSystemInfo{KubeletVersion: "v1.33.5"}
		return m
	}
	s, _ := observed()
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		machine("updated", map[string]string{clusterv1.UpdateInProgressAnnotation: ""}), machine("other", nil),
	).Build()
	if err := s.machineWriter().followWorkers(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"updated": "v1.34.1", "other": "v1.33.5"} {
		m := &clusterv1.Machine{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, m); err != nil {
			t.Fatal(err)
		}
		if m.Spec.Version != want {
			t.Errorf("Machine %s has version %s, want %s", name, m.Spec.Version, want)
		}
	}
}
