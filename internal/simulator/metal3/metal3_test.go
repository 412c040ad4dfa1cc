//go:build e2e

package metal3_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/metal3"
)

var management kubetest.SharedManagement

func TestMain(m *testing.M) { os.Exit(management.Run(m)) }

// speed is how much faster than in life the machines are.
const speed = 200

// site is a namespace of a management cluster with its machines, and an assisted-service.
type site struct {
	*kubetest.Management
	t         *testing.T
	namespace string
	objects   dynamic.Interface
	hardware  *metal3.Hardware
	service   string
	backend   *assisted.Client
}

func open(t *testing.T) *site {
	t.Helper()
	s := &site{Management: management.Start(t), t: t}
	s.namespace = s.Namespace(t)
	var err error
	if s.objects, err = dynamic.NewForConfig(s.Config); err != nil {
		t.Fatal(err)
	}
	time := clock.Scaled(speed)
	service, err := simulator.NewService(simulator.ServiceConfig{Clock: time, Seed: 1, PublicURL: func() string { return s.service }}, auth.None)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	s.service = server.URL
	if s.backend, err = assisted.New(s.service, nil); err != nil {
		t.Fatal(err)
	}
	s.hardware, err = metal3.NewHardware(metal3.HardwareConfig{ServiceURL: server.URL, Clock: time, Seed: 1, Logf: func(format string, args ...any) { t.Logf("hardware: "+format, args...) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	running.Go(func() { _ = service.Run(ctx) })
	running.Go(func() { _ = s.hardware.Run(ctx) })
	running.Go(func() {
		err := metal3.Run(ctx, metal3.Config{
			Kube: s.Config, Namespace: s.namespace, Hardware: s.hardware, Clock: time, Logf: func(format string, args ...any) { t.Logf("metal3: "+format, args...) },
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

func (s *site) of(resource string) dynamic.ResourceInterface {
	group, version := "infrastructure.cluster.x-k8s.io", "v1beta2"
	switch resource, at, versioned := strings.Cut(resource, "@"); {
	case versioned:
		return s.objects.Resource(schema.GroupVersionResource{Group: group, Version: at, Resource: resource}).Namespace(s.namespace)
	case resource == "baremetalhosts":
		group, version = "metal3.io", "v1alpha1"
	case resource == "machines" || resource == "clusters":
		group = "cluster.x-k8s.io"
	}
	return s.objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(s.namespace)
}

func (s *site) create(resource, text string) {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), &o.Object); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.of(resource).Create(s.t.Context(), o, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) get(resource, name string) *unstructured.Unstructured {
	s.t.Helper()
	o, err := s.of(resource).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *site) field(resource, name string, path ...string) string {
	s.t.Helper()
	value, _, _ := unstructured.NestedFieldNoCopy(s.get(resource, name).Object, path...)
	return fmt.Sprint(value)
}

func (s *site) gone(resource, name string) bool {
	_, err := s.of(resource).Get(s.t.Context(), name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// infraEnv registers an image with the service, and gives its discovery Ignition and its ISO's address.
func (s *site) infraEnv(name string) (id string, ignition []byte, iso string) {
	s.t.Helper()
	var made map[string]any
	s.call(http.MethodPost, "/v2/infra-envs", map[string]any{"name": name, "pull_secret": `{"auths":{"quay.io":{"auth":"dTpw"}}}`, "openshift_version": "4.20"}, &made)
	id, _ = made["id"].(string)
	iso, _ = made["download_url"].(string)
	return id, s.raw(http.MethodGet, "/v2/infra-envs/"+id+"/downloads/files?file_name=discovery.ign", nil), iso
}

func (s *site) raw(method, path string, body any) []byte {
	s.t.Helper()
	answer, err := s.backend.Raw(s.t.Context(), method, path, body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

func (s *site) call(method, path string, body, into any) {
	s.t.Helper()
	if err := s.backend.Do(s.t.Context(), method, path, body, into); err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// registered are the hosts of an image, by the names that they call themselves.
func (s *site) registered(infraEnv string) []string {
	s.t.Helper()
	var list []struct{ Inventory string }
	s.call(http.MethodGet, "/v2/infra-envs/"+infraEnv+"/hosts", nil, &list)
	var names []string
	for _, h := range list {
		var inventory struct {
			Hostname string
			Boot     struct {
				DeviceType string `json:"device_type"`
			}
		}
		_ = json.Unmarshal([]byte(h.Inventory), &inventory) // empty before it is known
		names = append(names, inventory.Hostname+" "+inventory.Boot.DeviceType)
	}
	return names
}

func (s *site) secret(name string, data []byte) {
	s.t.Helper()
	if _, err := s.Client.CoreV1().Secrets(s.namespace).Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "c"}},
		Type:       "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": data},
	}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// cluster makes a Cluster whose infrastructure is Metal3's, and waits until core has seen it.
func (s *site) cluster() {
	s.t.Helper()
	s.create("metal3clusters", `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Cluster, metadata: {name: c}, spec: {controlPlaneEndpoint: {host: 192.168.127.100, port: 6443}}}`)
	s.create("clusters", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c}, spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: c}}}`)
	s.eventually("the cluster has its infrastructure", func() bool {
		return s.field("clusters", "c", "status", "initialization", "infrastructureProvisioned") == "true"
	})
}

// machine makes a Machine that boots with a secret.
func (s *site) machine(name, secret, image string) {
	s.t.Helper()
	s.create("metal3machines", `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Machine, metadata: {name: `+name+`}, spec: {image: `+image+`, hostSelector: {matchLabels: {size: big}}}}`)
	s.create("machines", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: `+name+`, labels: {cluster.x-k8s.io/control-plane: ""}}, spec: {clusterName: c, bootstrap: {dataSecretName: `+secret+`},
		infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: `+name+`}}}`)
}

func (s *site) host(name string, number int, size string) {
	s.t.Helper()
	s.create("baremetalhosts", fmt.Sprintf(`{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: %s, labels: {size: %s}}, spec: {online: true, bootMACAddress: "52:54:00:aa:00:%02x",
		bmc: {address: "redfish-virtualmedia://bmc.example.com/redfish/v1/Systems/%d", credentialsName: none}}}`, name, size, number, number))
}

func (s *site) state(host string) string {
	s.t.Helper()
	return s.field("baremetalhosts", host, "status", "provisioning", "state")
}

func (s *site) eventually(what string, holds func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("not so: %s", what)
		case <-tick.C:
		}
	}
}

// TestMachinesBootFromUserData takes a Machine from its bootstrap secret to a registered host,
// to its node, and back.
func TestMachinesBootFromUserData(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, name := range []string{"one", "two"} {
		s.host(name, i, []string{"small", "big"}[i])
	}
	infraEnv, ignition, _ := s.infraEnv("ie")
	s.cluster()
	s.secret("data", ignition)
	s.machine("m", "data", `{url: "http://images.example.com/rhcos.qcow2", checksum: "http://images.example.com/sums", checksumType: sha256, diskFormat: qcow2}`)
	s.eventually("the host has registered", func() bool { return len(s.registered(infraEnv)) == 1 && s.registered(infraEnv)[0] == "two persistent" })
	two := s.get("baremetalhosts", "two")
	image, _, _ := unstructured.NestedStringMap(two.Object, "spec", "image")
	if image["format"] != "qcow2" || image["url"] != "http://images.example.com/rhcos.qcow2" || s.state("two") != "provisioned" || s.field("baremetalhosts", "two", "spec", "userData", "name") != "data" {
		t.Errorf("the host that fits is %s with %v", s.state("two"), image)
	}
	if s.state("one") == "provisioned" || s.field("baremetalhosts", "one", "spec", "consumerRef") != "<nil>" {
		t.Error("the host that does not fit is taken, too")
	}
	if got := s.field("metal3machines", "m", "spec", "providerID"); got != "<nil>" && got != "metal3://"+s.namespace+"/two/m" {
		t.Errorf("its providerID is %s", got)
	}
	s.node("two-node", string(two.GetUID()))
	s.eventually("the machine is provisioned", func() bool {
		return s.field("metal3machines", "m", "status", "initialization", "provisioned") == "true" && s.field("machines", "m", "status", "nodeRef", "name") == "two-node"
	})
	if got := s.field("metal3machines", "m", "spec", "providerID"); got != "metal3://"+s.namespace+"/two/m" {
		t.Errorf("its providerID is %s", got)
	}
	if addresses := s.field("metal3machines", "m", "status", "addresses"); !strings.Contains(addresses, "address:two type:Hostname") || !strings.Contains(addresses, "type:InternalIP") {
		t.Errorf("its addresses are %s", addresses)
	}
	if err := s.of("machines").Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the machine is gone", func() bool { return s.gone("machines", "m") && s.gone("metal3machines", "m") })
	s.eventually("the host is free", func() bool {
		return s.state("two") == "available" && s.field("baremetalhosts", "two", "status", "poweredOn") == "false"
	})
	if s.field("baremetalhosts", "two", "spec", "consumerRef") != "<nil>" || s.field("baremetalhosts", "two", "spec", "image") != "<nil>" {
		t.Error("the host still belongs to somebody")
	}
}

// node makes a node of the workload cluster, which is the management cluster here.
func (s *site) node(name, uid string) {
	s.t.Helper()
	kubeconfig, err := os.ReadFile(s.Kubeconfig(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	s.secret("c-kubeconfig", kubeconfig)
	if _, err := s.Client.CoreV1().Nodes().Create(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"metal3.io/uuid": uid}}}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = s.Client.CoreV1().Nodes().Delete(context.WithoutCancel(s.t.Context()), name, metav1.DeleteOptions{})
	})
}

// TestMachinesBootLiveISOs has a machine boot the image of its own spec, and not of its secret.
func TestMachinesBootLiveISOs(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.host("three", 3, "big")
	infraEnv, _, iso := s.infraEnv("live")
	s.cluster()
	s.secret("empty", nil)
	s.machine("m", "empty", `{url: "`+iso+`", checksum: "", diskFormat: live-iso}`)
	s.eventually("the host has registered", func() bool { return len(s.registered(infraEnv)) == 1 && s.registered(infraEnv)[0] == "three ephemeral" })
	if got := s.field("baremetalhosts", "three", "spec", "image", "format"); got != "live-iso" {
		t.Errorf("its image's format is %s", got)
	}
}

// TestHostsAreRebootedAndDetached asks for both by a host's annotations.
func TestHostsAreRebootedAndDetached(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.host("four", 4, "big")
	infraEnv, ignition, _ := s.infraEnv("reboots")
	s.cluster()
	s.secret("data", ignition)
	s.machine("m", "data", `{url: "http://images.example.com/rhcos.qcow2", checksum: x, checksumType: sha256, diskFormat: qcow2}`)
	s.eventually("the host has registered", func() bool { return len(s.registered(infraEnv)) == 1 })
	annotate := func(text string) {
		if _, err := s.of("baremetalhosts").Patch(t.Context(), "four", types.MergePatchType, []byte(`{"metadata": {"annotations": `+text+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	annotate(`{"reboot.metal3.io": ""}`)
	s.eventually("the reboot is done", func() bool {
		_, asked := s.get("baremetalhosts", "four").GetAnnotations()["reboot.metal3.io"]
		return !asked
	})
	annotate(`{"baremetalhost.metal3.io/detached": ""}`)
	s.eventually("the host is detached", func() bool { return s.field("baremetalhosts", "four", "status", "operationalStatus") == "detached" })
	if err := s.of("baremetalhosts").Delete(t.Context(), "four", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("a detached host goes at once", func() bool { return s.gone("baremetalhosts", "four") })
}
