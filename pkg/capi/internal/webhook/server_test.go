//go:build e2e

package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/capi/api"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/webhook"
)

var hub kubetest.Shared

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(hub.Run(m))
}

// serve has an API server with the kinds of the providers call their webhooks, until the test
// ends.
func serve(t *testing.T) (client.Client, string) {
	t.Helper()
	cluster := hub.Start(t)
	webhooks, err := cluster.NewWebhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(api.AddToScheme(scheme), autoscalingv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: webhooks.Port, CertDir: webhooks.CertDir})
	manager, err := ctrl.NewManager(cluster.Config, ctrl.Options{Scheme: scheme, WebhookServer: server, Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.Register(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	folder := filepath.Join("..", "..", "manifests")
	if err := cluster.Install(t.Context(), webhooks, filepath.Join(folder, "crd"), filepath.Join(folder, "webhook")); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, cluster.Namespace(t)
}

// TestOnAnAPIServer shares one server with its webhooks.
func TestOnAnAPIServer(t *testing.T) {
	c, namespace := serve(t)
	t.Run("older manifests", func(t *testing.T) { olderManifests(t, c, namespace) })
	t.Run("every older field", func(t *testing.T) { everyOlderField(t, c, namespace) })
	t.Run("edits by older versions", func(t *testing.T) { olderEdits(t, c, namespace) })
	t.Run("everything is kept", func(t *testing.T) { everythingIsKept(t, c, namespace) })
	t.Run("refusals", func(t *testing.T) { refusals(t, c, namespace) })
	t.Run("scale", func(t *testing.T) { scale(t, c, namespace) })
	t.Run("statuses", func(t *testing.T) { statuses(t, c, namespace) })
	t.Run("templates", func(t *testing.T) { templates(t, c, namespace) })
}

// manifest is an object of YAML, in a namespace.
func manifest(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(namespace)
	return o
}

func olderManifests(t *testing.T, c client.Client, namespace string) {
	old := manifest(t, namespace, `
apiVersion: controlplane.cluster.x-k8s.io/v1alpha2
kind: OpenshiftAssistedControlPlane
metadata:
  name: older
spec:
  distributionVersion: 4.19.0
  replicas: 3
  machineTemplate:
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      kind: Metal3MachineTemplate
      name: older
    nodeDrainTimeout: 5m
  openshiftAssistedConfigSpec:
    nodeRegistration:
      kubeletExtraLabels: ["metal3.io/uuid=\"${METADATA_UUID}\""]
  config:
    apiVIPs: ["192.168.222.40"]
    ingressVIPs: ["192.168.222.41"]
    baseDomain: lab.home
    sshAuthorizedKey: ""
`)
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	stored := &controlplanev1.OpenshiftAssistedControlPlane{}
	key := client.ObjectKeyFromObject(old)
	if err := c.Get(t.Context(), key, stored); err != nil {
		t.Fatal(err)
	}
	template := stored.Spec.MachineTemplate.Spec
	if template.InfrastructureRef.APIGroup != "infrastructure.cluster.x-k8s.io" || *template.Deletion.NodeDrainTimeoutSeconds != 300 || *stored.Spec.Replicas != 3 {
		t.Errorf("it is stored as %+v", stored.Spec)
	}
	if got := stored.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture; got != "" {
		t.Errorf("the architecture is %q, which nobody has said", got)
	}
	again := manifest(t, namespace, "apiVersion: controlplane.cluster.x-k8s.io/v1alpha2\nkind: OpenshiftAssistedControlPlane")
	if err := c.Get(t.Context(), key, again); err != nil {
		t.Fatal(err)
	}
	version, _, _ := unstructured.NestedString(again.Object, "spec", "machineTemplate", "infrastructureRef", "apiVersion")
	timeout, _, _ := unstructured.NestedString(again.Object, "spec", "machineTemplate", "nodeDrainTimeout")
	if version != "infrastructure.cluster.x-k8s.io/v1beta1" || timeout != "5m0s" || len(again.GetAnnotations()) > 0 {
		t.Errorf("it is read back with %s, %s, annotations %q", version, timeout, again.GetAnnotations())
	}
	middle := manifest(t, namespace, "apiVersion: controlplane.cluster.x-k8s.io/v1alpha3\nkind: OpenshiftAssistedControlPlane")
	err := c.Get(t.Context(), key, middle)
	if name, _, _ := unstructured.NestedString(middle.Object, "spec", "machineTemplate", "infrastructureRef", "name"); err != nil || name != "older" {
		t.Errorf("v1alpha3 has %+v, %v", middle.Object["spec"], err)
	}
}

// olderEdits writes a label by every older version of each kind. Nothing else of the object changes: a default that
// such a version filled in would be a change that no user has asked for: it would be refused, or machines would be
// installed again.
func olderEdits(t *testing.T, c client.Client, namespace string) {
	specs := map[string]string{
		"OpenshiftAssistedConfig":         `{hostname: edited}`,
		"OpenshiftAssistedConfigTemplate": `{template: {spec: {machineConfigPool: gpu}}}`,
		"OpenshiftAssistedControlPlane": `{distributionVersion: 4.20.3, replicas: 3, config: {baseDomain: example.com, diskEncryption: {mode: tpmv2}}, ` +
			`machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: x}}}}`,
		"AgentCluster":         `{controlPlaneEndpoint: {host: api.example.com, port: 6443}}`,
		"AgentMachine":         `{minCPUs: 4}`,
		"AgentMachineTemplate": `{template: {spec: {minCPUs: 4}}}`,
	}
	definitions, err := filepath.Glob(filepath.Join("..", "..", "manifests", "crd", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range definitions {
		var definition struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name    string
					Storage bool
				}
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		of, stored := definition.Spec, ""
		var older []string
		for _, version := range of.Versions {
			if version.Storage {
				stored = of.Group + "/" + version.Name
			} else {
				older = append(older, of.Group+"/"+version.Name)
			}
		}
		if len(older) == 0 {
			continue
		}
		head := func(version string) *unstructured.Unstructured {
			return manifest(t, namespace, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: edited}}", version, of.Names.Kind))
		}
		object := manifest(t, namespace, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: edited}, spec: %s}", stored, of.Names.Kind, specs[of.Names.Kind]))
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		for _, version := range older {
			t.Run(of.Names.Kind+" "+version, func(t *testing.T) {
				_, label, _ := strings.Cut(version, "/")
				patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {%q: ""}}}`, label))
				if err := c.Patch(t.Context(), head(version), patch); err != nil {
					t.Fatal(err)
				}
				after := head(stored)
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(after), after); err != nil {
					t.Fatal(err)
				}
				if _, labelled := after.GetLabels()[label]; !labelled {
					t.Error("it has no label")
				}
				if diff := cmp.Diff(object.Object["spec"], after.Object["spec"]); diff != "" || after.GetGeneration() != object.GetGeneration() {
					t.Errorf("generation %d became %d: %s", object.GetGeneration(), after.GetGeneration(), diff)
				}
				object = after
			})
		}
	}
}

func everythingIsKept(t *testing.T, c client.Client, namespace string) {
	config := &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept"}}
	config.Spec.Hostname, config.Spec.SSHAuthorizedKey = "worker-0", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMqqZkYqW1HhkY0pOZl0KJqYQ0m1m9TnVQk3nVwXWqJ2 me"
	config.Spec.Taints = []bootstrapv1.Taint{{Key: "a", Effect: "NoSchedule"}}
	if err := c.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	older := manifest(t, namespace, "apiVersion: bootstrap.cluster.x-k8s.io/v1alpha2\nkind: OpenshiftAssistedConfig")
	key := client.ObjectKeyFromObject(config)
	if err := c.Get(t.Context(), key, older); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(older.Object, "4.20", "spec", "osImageVersion"); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, config); err != nil {
		t.Fatal(err)
	}
	if config.Spec.OSImageVersion != "4.20" || config.Spec.Hostname != "worker-0" || len(config.Spec.Taints) != 1 || len(config.Annotations) > 0 {
		t.Errorf("after an edit by an older version it is %+v, annotations %q", config.Spec, config.Annotations)
	}
}

func refusals(t *testing.T, c client.Client, namespace string) {
	const template = "machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: x}}}"
	const planes, configs, agents = "controlplane.cluster.x-k8s.io/", "bootstrap.cluster.x-k8s.io/", "capi-provider.agent-install.openshift.io/"
	const plane = "OpenshiftAssistedControlPlane"
	for name, refused := range map[string]struct{ version, kind, spec, says string }{
		"by the webhook, through an older version": {
			planes + "v1alpha3", plane,
			"distributionVersion: 4.12.0, replicas: 3, config: {baseDomain: example.com}, " +
				"machineTemplate: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: x}}",
			"spec.distributionVersion",
		},
		"by the schema": {
			planes + "v1beta1", plane, "distributionVersion: 4.20.3, replicas: 2, config: {baseDomain: example.com}, " + template,
			"or 2 with config.arbiterReplicas: 1 or config.fencing",
		},
		"without domain": {
			planes + "v1beta1", plane, "distributionVersion: 4.20.3, config: {apiVIPs: [192.0.2.1], ingressVIPs: [192.0.2.2]}, " + template,
			"spec.config.baseDomain is missing",
		},
		"external without its name": {
			planes + "v1beta1", plane, "distributionVersion: 4.20.3, config: {baseDomain: example.com, platform: {type: External}}, " + template,
			"external is for type External",
		},
		"a surge that is none": {
			planes + "v1beta1", plane,
			"distributionVersion: 4.20.3, rollout: {strategy: {type: OnDelete, rollingUpdate: {maxSurge: 1}}}, config: {baseDomain: example.com}, " + template,
			"set type to RollingUpdate",
		},
		"a wait that is no duration": {
			planes + "v1beta1", plane, "distributionVersion: 4.20.3, config: {baseDomain: example.com, workerWait: soon}, " + template,
			`spec.config.workerWait: Invalid value: "soon": write a duration, as 10m or 1h30m`,
		},
		"a number that is a word": {
			planes + "v1beta1", plane, "distributionVersion: 4.20.3, config: {baseDomain: example.com, mtu: large}, " + template, "spec.config.mtu: Invalid value",
		},
		"a delay that is no duration": {
			configs + "v1beta1", "OpenshiftAssistedConfigTemplate", "template: {spec: {networkDelay: a while}}",
			`spec.template.spec.networkDelay: Invalid value: "a while": write a duration, as 30s`,
		},
		"a config's kernel argument": {
			configs + "v1alpha1", "OpenshiftAssistedConfig", `kernelArguments: [{operation: append, value: "-a"}]`, "spec.kernelArguments[0].value",
		},
		"an AgentMachine's selector": {
			agents + "v1alpha1", "AgentMachine", `agentLabelSelector: {matchLabels: {"a b": c}}`, "spec.agentLabelSelector.matchLabels",
		},
		"an AgentClusterTemplate's endpoint": {
			agents + "v1beta2", "AgentClusterTemplate", "template: {spec: {controlPlaneEndpoint: {host: api, port: 6443}}}",
			"every cluster of the template would have the same endpoint",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: refused}, spec: {%s}}", refused.version, refused.kind, refused.spec)
			err := c.Create(t.Context(), manifest(t, namespace, object))
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), refused.says) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// installed is a control plane whose API server answers.
func installed(t *testing.T, c client.Client, namespace, name string, replicas int32) *controlplanev1.OpenshiftAssistedControlPlane {
	t.Helper()
	plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	plane.Spec.Replicas, plane.Spec.DistributionVersion, plane.Spec.Config.BaseDomain = &replicas, "4.20.3", "example.com"
	plane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.MachineTemplateKind, Name: name}
	if err := c.Create(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	plane.Status.Initialization.ControlPlaneInitialized = new(true)
	plane.Status.Replicas, plane.Status.Selector = &replicas, "cluster.x-k8s.io/control-plane"
	if err := c.Status().Update(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	return plane
}

// scale uses the scale subresource, which no webhook sees.
func scale(t *testing.T, c client.Client, namespace string) {
	scaled := func(plane *controlplanev1.OpenshiftAssistedControlPlane, replicas int32) error {
		return c.SubResource("scale").Update(t.Context(), plane, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}))
	}
	several := installed(t, c, namespace, "several", 3)
	single := installed(t, c, namespace, "single", 1)
	for _, want := range []struct {
		plane    *controlplanev1.OpenshiftAssistedControlPlane
		replicas int32
		says     string
	}{
		{several, 5, ""},
		{several, 2, "or 2 with config.arbiterReplicas: 1 or config.fencing"},
		{several, 1, "put the old spec.replicas back"},
		{single, 3, "put the old spec.replicas back"},
	} {
		t.Run(fmt.Sprintf("%s to %d", want.plane.Name, want.replicas), func(t *testing.T) {
			err := scaled(want.plane, want.replicas)
			if want.says == "" && err != nil || want.says != "" && (err == nil || !strings.Contains(err.Error(), want.says)) {
				t.Errorf("it says %v", err)
			}
		})
	}
	read := &autoscalingv1.Scale{}
	if err := c.SubResource("scale").Get(t.Context(), several, read); err != nil || read.Status.Selector != "cluster.x-k8s.io/control-plane" || read.Status.Replicas != 3 {
		t.Errorf("its scale is %+v, %v", read, err)
	}
}

// statuses reads what a program of contract v1beta1 waits for.
func statuses(t *testing.T, c client.Client, namespace string) {
	machine := &agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machine"}}
	if err := c.Create(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	machine.Status.Initialization.Provisioned = new(true)
	machine.Status.AgentRef = &agentv1.AgentReference{Namespace: namespace, Name: "agent"}
	machine.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "192.0.2.1"}}
	machine.Status.FailureDomain = "rack-1"
	if err := c.Status().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	older := manifest(t, namespace, "apiVersion: capi-provider.agent-install.openshift.io/v1beta1\nkind: AgentMachine")
	key := client.ObjectKeyFromObject(machine)
	if err := c.Get(t.Context(), key, older); err != nil {
		t.Fatal(err)
	}
	ready, _, _ := unstructured.NestedBool(older.Object, "status", "ready")
	agent, _, _ := unstructured.NestedString(older.Object, "status", "agentRef", "name")
	addresses, _, _ := unstructured.NestedSlice(older.Object, "status", "addresses")
	if !ready || agent != "agent" || !cmp.Equal(addresses, []any{map[string]any{"type": "InternalIP", "address": "192.0.2.1"}}) {
		t.Errorf("v1beta1 shows %+v", older.Object["status"])
	}
	// HyperShift writes through the version that it was written for.
	older.SetLabels(map[string]string{"by": "v1beta1"})
	if err := c.Update(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, machine); err != nil || machine.Status.FailureDomain != "rack-1" || machine.Labels["by"] != "v1beta1" {
		t.Errorf("after that it is %+v, %v", machine, err)
	}
}

// templates are not changed in place, and let MachineSets make Machines early.
func templates(t *testing.T, c client.Client, namespace string) {
	template := manifest(t, namespace, `
apiVersion: bootstrap.cluster.x-k8s.io/v1alpha1
kind: OpenshiftAssistedConfigTemplate
metadata: {name: workers}
spec: {template: {spec: {sshAuthorizedKey: ""}}}
`)
	if err := c.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	stored := &bootstrapv1.OpenshiftAssistedConfigTemplate{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(template), stored); err != nil {
		t.Fatal(err)
	}
	if got := stored.Annotations[clusterv1.MachineSetSkipPreflightChecksAnnotation]; got != "ControlPlaneIsStable" {
		t.Errorf("preflight checks that are skipped are %q", got)
	}
	stored.Spec.Template.Spec.MachineConfigPool = "gpu"
	if err := c.Update(t.Context(), stored); err == nil || !strings.Contains(err.Error(), "create a template with another name") {
		t.Errorf("a change says %v", err)
	}
	stored.Annotations[clusterv1.TopologyDryRunAnnotation] = ""
	if err := c.Update(t.Context(), stored, client.DryRunAll); err != nil {
		t.Errorf("a topology that tries it out is told %v", err)
	}
}
