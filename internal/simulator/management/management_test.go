//go:build e2e

package management_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/management"
)

var cluster kubetest.SharedManagement

func TestMain(m *testing.M) { os.Exit(cluster.Run(m)) }

const speed = 150

// rig is a namespace of a management cluster and its site.
type rig struct {
	*management.Site
	t         *testing.T
	core      *kubetest.Management
	namespace string
	objects   dynamic.Interface
}

func open(t *testing.T, config management.Config) *rig {
	t.Helper()
	r := &rig{t: t, core: cluster.Start(t)}
	r.namespace = r.core.Namespace(t)
	var err error
	if r.objects, err = dynamic.NewForConfig(r.core.Config); err != nil {
		t.Fatal(err)
	}
	config.Kube, config.Namespace, config.Clock, config.Seed, config.Logf = r.core.Config, r.namespace, clock.Scaled(speed), 1, t.Logf
	if r.Site, err = management.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) of(group, version, resource string) dynamic.ResourceInterface {
	return r.objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(r.namespace)
}

func (r *rig) create(group, version, resource, text string) {
	r.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), &o.Object); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.of(group, version, resource).Create(r.t.Context(), o, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) rest(method, path string, body any) ([]byte, error) {
	r.t.Helper()
	backend, err := assisted.New(r.ServiceURL(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return backend.Raw(r.t.Context(), method, "/v2"+path, body)
}

func (r *rig) call(method, path string, body any) map[string]any {
	r.t.Helper()
	answer, err := r.rest(method, path, body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	var said map[string]any
	_ = json.Unmarshal(answer, &said) // a list is none
	return said
}

func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("not so: %s", what)
		case <-tick.C:
		}
	}
}

// installed installs a cluster on machines that Metal3 provisions from user data, as a provider
// would have it done, and gives its id and a client that its kubeconfig makes.
func (r *rig) installed(name string, meanwhile func(*rest.Config)) (id string, config *rest.Config) {
	r.t.Helper()
	const pull = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA==","email":"a@example.com"}}}`
	id = r.call("POST", "/clusters", map[string]any{
		"name": name, "base_dns_domain": "example.com", "openshift_version": "4.20.32", "pull_secret": pull, "control_plane_count": 3,
		"api_vips": []any{map[string]any{"ip": "192.168.127.100"}}, "ingress_vips": []any{map[string]any{"ip": "192.168.127.101"}},
	})["id"].(string)
	env := r.call("POST", "/infra-envs", map[string]any{"name": name, "cluster_id": id, "pull_secret": pull, "openshift_version": "4.20"})["id"].(string)
	ignition, _ := r.rest("GET", "/infra-envs/"+env+"/downloads/files?file_name=discovery.ign", nil)
	if _, err := r.core.Client.CoreV1().Secrets(r.namespace).Create(r.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-data"}, Data: map[string][]byte{"value": ignition},
	}, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.provision(name)
	hosts := func(status string) []map[string]any {
		answer, _ := r.rest("GET", "/infra-envs/"+env+"/hosts", nil)
		var list []map[string]any
		_ = json.Unmarshal(answer, &list) // empty before they are there
		return slices.DeleteFunc(list, func(h map[string]any) bool { return status != "" && h["status"] != status })
	}
	r.eventually("three machines have registered", func() bool { return len(hosts("")) == 3 })
	for _, h := range hosts("") {
		r.call("PATCH", "/infra-envs/"+env+"/hosts/"+h["id"].(string), map[string]any{"host_role": "master", "node_labels": []any{map[string]any{"key": "rack", "value": name}}})
	}
	r.eventually("the cluster is ready", func() bool { return r.call("GET", "/clusters/"+id, nil)["status"] == "ready" })
	r.call("POST", "/clusters/"+id+"/actions/install", nil)
	r.eventually("the cluster is being installed", func() bool { return r.call("GET", "/clusters/"+id, nil)["status"] == "installing" })
	kubeconfig, err := r.rest("GET", "/clusters/"+id+"/downloads/credentials?file_name=kubeconfig-noingress", nil)
	if err != nil {
		r.t.Fatalf("no kubeconfig: %v", err)
	}
	config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		r.t.Fatal(err)
	}
	config.Timeout = 10 * time.Second
	meanwhile(config)
	r.eventually("the cluster is installed", func() bool {
		return r.call("GET", "/clusters/"+id, nil)["status"] == "adding-hosts" || r.call("GET", "/clusters/"+id, nil)["status"] == "installed"
	})
	return id, config
}

// provision makes BareMetalHosts, and Machines for them that boot the user data.
func (r *rig) provision(name string) {
	r.t.Helper()
	const infra, core = "infrastructure.cluster.x-k8s.io", "cluster.x-k8s.io"
	if err := management.MakeHosts(r.t.Context(), r.core.Config, r.namespace, name, 3); err != nil {
		r.t.Fatal(err)
	}
	r.create(infra, "v1beta2", "metal3clusters", `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Cluster, metadata: {name: `+name+`}, spec: {controlPlaneEndpoint: {host: 192.168.127.100, port: 6443}}}`)
	r.create(core, "v1beta2", "clusters", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: `+name+`}, spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: `+name+`}}}`)
	for i := range 3 {
		machine := fmt.Sprintf("%s-%d", name, i)
		r.create(infra, "v1beta2", "metal3machines", `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Machine, metadata: {name: `+machine+`}, spec: {image: {url: "http://images.example.com/rhcos.qcow2", checksum: x, diskFormat: qcow2}}}`)
		r.create(core, "v1beta2", "machines", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: `+machine+`}, spec: {clusterName: `+name+`, bootstrap: {dataSecretName: `+name+`-data},
			infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: `+machine+`}}}`)
	}
}

func (r *rig) clientOf(config *rest.Config) kubernetes.Interface {
	r.t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		r.t.Fatal(err)
	}
	return client
}

// ready are the nodes that take work, by name.
func (r *rig) ready(config *rest.Config, label string) []string {
	nodes, err := r.clientOf(config).CoreV1().Nodes().List(r.t.Context(), metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return nil
	}
	var names []string
	for i := range nodes.Items {
		for _, c := range nodes.Items[i].Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				names = append(names, nodes.Items[i].Name)
			}
		}
	}
	return names
}

// requests is how many kubelets have made for certificates.
func (r *rig) requests(config *rest.Config) int {
	r.t.Helper()
	list, err := r.clientOf(config).CertificatesV1().CertificateSigningRequests().List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return len(list.Items)
}

// TestWorkloadClusterAnswersOnceItIsThere installs a cluster whose kubeconfig is handed out
// before its API server runs, and takes it away when its machines go.
func TestWorkloadClusterAnswersOnceItIsThere(t *testing.T) {
	server := kubetest.Start(t)
	r := open(t, management.Config{Servers: []*rest.Config{server.Config}})
	id, config := r.installed("lab", func(config *rest.Config) {
		if config.Host == server.Config.Host {
			t.Error("the kubeconfig leads to the API server and not to its gate")
		}
		conn, err := tls.Dial("tcp", strings.TrimPrefix(config.Host, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			t.Error("somebody answers before a machine runs what was installed")
		}
	})
	r.eventually("three nodes take work", func() bool { return len(r.ready(config, "rack=lab")) == 3 })
	version := func() string {
		v, err := r.clientOf(config).CoreV1().RESTClient().Get().AbsPath("/apis/config.openshift.io/v1/clusterversions/version").DoRaw(t.Context())
		if err != nil {
			return err.Error()
		}
		var said struct {
			Spec   struct{ ClusterID string }
			Status struct {
				History    []struct{ State, Version string }
				Conditions []struct{ Type, Status string }
				Updates    []struct{ Version string } `json:"availableUpdates"`
			}
		}
		if err := json.Unmarshal(v, &said); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(said.Spec.ClusterID, said.Status.History, said.Status.Conditions[0], said.Status.Updates)
	}
	openshiftID := r.call("GET", "/clusters/"+id, nil)["openshift_cluster_id"]
	r.eventually("the release is applied", func() bool {
		return version() == fmt.Sprint(openshiftID, "[{Completed 4.20.32}] {Available True} [{4.21.28} {4.20.33}]")
	})
	w := r.Workload("lab")
	w.Shut()
	if got := r.ready(config, ""); got != nil {
		t.Errorf("behind a shut gate are %q", got)
	}
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	r.eventually("it answers again", func() bool { return len(r.ready(config, "")) == 3 })
	host := fmt.Sprintf("lab-host-%d", 0)
	if !r.Hardware().Break(r.mac(host)) {
		t.Fatal("there is no such machine")
	}
	r.eventually("its node is missed", func() bool { return len(r.ready(config, "")) == 2 })
	// The service's record alone is not the cluster.
	r.call("DELETE", "/clusters/"+id, nil)
	if got := r.ready(config, ""); len(got) != 2 {
		t.Errorf("of the cluster that runs on are left %q", got)
	}
	if err := r.of("cluster.x-k8s.io", "v1beta2", "machines").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually("its API server is free", func() bool { return r.Workload("lab") == nil })
	if got := r.ready(server.Config, ""); got != nil {
		t.Errorf("left are the nodes %q", got)
	}
}

func (r *rig) mac(host string) string {
	r.t.Helper()
	o, err := r.of("metal3.io", "v1alpha1", "baremetalhosts").Get(r.t.Context(), host, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	mac, _, _ := unstructured.NestedString(o.Object, "spec", "bootMACAddress")
	return mac
}

// TestClustersShareAServer installs two clusters whose nodes are on one API server. Each has its own alone.
func TestClustersShareAServer(t *testing.T) {
	server := kubetest.Start(t)
	r := open(t, management.Config{Shared: server.Config})
	_, east := r.installed("east", func(*rest.Config) {})
	if all, its := r.requests(server.Config), r.requests(east); its < 6 || all != its {
		t.Errorf("of %d requests the first has %d", all, its)
	}
	_, west := r.installed("west", func(*rest.Config) {})
	if its := r.requests(west); its < 6 {
		t.Errorf("the second has %d requests", its)
	}
	if east.Host == west.Host {
		t.Error("both are reached at one address")
	}
	r.eventually("both have their nodes", func() bool { return len(r.ready(east, "rack=east")) == 3 && len(r.ready(west, "rack=west")) == 3 })
	if all := r.ready(east, ""); len(all) != 3 || len(r.ready(east, "rack=west")) > 0 {
		t.Errorf("the nodes of the one are %v", all)
	}
	// Those of the first may have been removed since, as Kubernetes removes them an hour after their answer.
	r.eventually("each has its own requests", func() bool {
		east, west := r.requests(east), r.requests(west)
		return east+west > 0 && r.requests(server.Config) == east+west
	})
	stranger := rest.CopyConfig(east)
	stranger.CertData, stranger.KeyData = nil, nil
	if _, err := r.clientOf(stranger).Discovery().ServerVersion(); err == nil {
		t.Error("anybody is let in")
	}
	r.Workload("east").Shut()
	if r.ready(east, "") != nil || len(r.ready(west, "rack=west")) != 3 {
		t.Error("the one is not shut without the other")
	}
}

// TestSecondSite has another management cluster manage the same machines and clusters.
func TestSecondSite(t *testing.T) {
	r := open(t, management.Config{})
	other, err := management.Start(t.Context(), management.Config{Kube: r.core.Config, Namespace: r.core.Namespace(t), Clock: clock.Scaled(speed), Beside: r.Site})
	if err != nil {
		t.Fatal(err)
	}
	if other.ServiceURL() != r.ServiceURL() || other.Hardware() != r.Hardware() {
		t.Error("it has machines of its own")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.rest("GET", "/infra-envs", nil); err != nil {
		t.Errorf("the service has ended, too: %v", err)
	}
	if _, err := management.Start(t.Context(), management.Config{Kube: &rest.Config{Host: "http://127.0.0.1:1"}, Clock: clock.Real()}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("without an API server: %v", err)
	}
}
