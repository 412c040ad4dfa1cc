//go:build e2e

package spoke_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// TestSetUp makes a cluster as its installation leaves it, twice.
func TestSetUp(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.Platform = spoke.BareMetal
		c.Cluster.APIVIPs, c.Cluster.IngressVIPs = []string{"192.168.127.5"}, []string{"192.168.127.6"}
		c.Cluster.Pools = []spoke.Pool{{Name: "infra", Tang: []spoke.Tang{{URL: "http://tang.example.com", Thumbprint: "x"}}}}
	})
	if err := st.SetUp(t.Context()); err != nil {
		t.Fatalf("once more: %v", err)
	}
	version := st.object(clusterVersions, "version")
	history, _, _ := unstructured.NestedSlice(version.Object, "status", "history")
	if text(version, "spec", "clusterID") == "" || len(history) != 1 || text(version, "status", "desired", "version") != "4.20.33" {
		t.Errorf("the version is %v", version.Object)
	}
	infra := st.object(infrastructures, "cluster")
	vips, _, _ := unstructured.NestedStringSlice(infra.Object, "status", "platformStatus", "baremetal", "apiServerInternalIPs")
	if len(vips) != 1 || text(infra, "status", "apiServerInternalURI") != "https://api-int.edge.example.com:6443" {
		t.Errorf("the infrastructure is %v", infra.Object)
	}
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		n := st.node(name)
		if n == nil || st.readiness(name).Status != corev1.ConditionTrue || len(n.Spec.Taints) != 0 {
			t.Fatalf("%s is %v", name, n)
		}
		config := n.Annotations["machineconfiguration.openshift.io/currentConfig"]
		if config == "" || config != n.Annotations["machineconfiguration.openshift.io/desiredConfig"] {
			t.Errorf("%s has %v", name, n.Annotations)
		}
		for _, prefix := range []string{"etcd-peer-", "etcd-serving-", "etcd-serving-metrics-"} {
			if _, err := st.core.CoreV1().Secrets("openshift-etcd").Get(t.Context(), prefix+name, metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
	endpoints, err := st.core.CoreV1().ConfigMaps("openshift-etcd").Get(t.Context(), "etcd-endpoints", metav1.GetOptions{})
	if err != nil || len(endpoints.Data) != 3 {
		t.Errorf("the members are %v (%v)", endpoints, err)
	}
	list, err := st.objects.Resource(operators).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) < 30 {
		t.Errorf("%d operators (%v)", len(list.Items), err)
	}
	for namespace, names := range map[string][]string{
		"openshift-config": {"pull-secret"}, "openshift-machine-config-operator": {"machine-config-server-tls"},
		"openshift-machine-api": {"worker-user-data", "master-user-data", "worker-user-data-managed"},
	} {
		for _, name := range names {
			if _, err := st.core.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
	config := st.object(machineConfigs, st.rendered("infra"))
	if luks, _, _ := unstructured.NestedSlice(config.Object, "spec", "config", "storage", "luks"); len(luks) != 1 {
		t.Errorf("the config of pool infra encrypts %v", luks)
	}
}

// TestNoRealCluster refuses an API server with a ClusterVersion that the simulator has not made.
func TestNoRealCluster(t *testing.T) {
	st := play(t, nil)
	version := st.object(clusterVersions, "version")
	version.SetAnnotations(nil)
	if _, err := st.objects.Resource(clusterVersions).Update(t.Context(), version, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := st.SetUp(t.Context()); !errors.Is(err, spoke.ErrRealCluster) {
		t.Errorf("set up: %v", err)
	}
}

// TestNew refuses what cannot be played.
func TestNew(t *testing.T) {
	kube := server.Start(t)
	for name, change := range map[string]func(*spoke.Config){
		"no clock":   func(c *spoke.Config) { c.Clock = nil },
		"no server":  func(c *spoke.Config) { c.Kube = nil },
		"no name":    func(c *spoke.Config) { c.Cluster.Name = "" },
		"no nodes":   func(c *spoke.Config) { c.Cluster.ControlPlane = nil },
		"no address": func(c *spoke.Config) { c.Cluster.ControlPlane[1].Addresses = nil },
		"no UUID":    func(c *spoke.Config) { c.Cluster.ID = "one" },
		"no version": func(c *spoke.Config) { c.Cluster.Version = "four" },
	} {
		config := spoke.Config{Kube: kube.Config, Clock: clock.Real(), Cluster: compact()}
		change(&config)
		if _, err := spoke.New(config); err == nil {
			t.Errorf("%s: made", name)
		}
	}
}
