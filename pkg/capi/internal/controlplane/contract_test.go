//go:build e2e

package controlplane_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// says waits until a condition of the control plane has a status and a reason.
func (x *site) says(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	x.t.Helper()
	var c *metav1.Condition
	x.eventually(kind+" to be "+string(status)+" "+reason, func() (bool, string) {
		c = conditions.Get(x.plane(), kind)
		return c != nil && c.Status == status && c.Reason == reason, text(c)
	})
	return *c
}

// desiredUpdate is what the installed cluster is asked to be.
func (x *site) desiredUpdate() string {
	x.t.Helper()
	u := raw(x.t, "{apiVersion: config.openshift.io/v1, kind: ClusterVersion}")
	if err := x.client.Get(x.t.Context(), client.ObjectKey{Name: "version"}, u); err != nil {
		x.t.Fatal(err)
	}
	wanted, _, _ := unstructured.NestedString(u.Object, "spec", "desiredUpdate", "version")
	return wanted
}

// TestControlPlaneOnItsWay follows one from its first Machines to an installation that fails: where its Machines are
// placed, which owner they have, and what the conditions say meanwhile.
func TestControlPlaneOnItsWay(t *testing.T) {
	x := open(t, 3, "")
	x.set(func() { x.registers, x.serves, x.answers = true, true, errors.New("it is not ready") })
	x.lab(3, func(plane map[string]any) { plane["spec"].(map[string]any)["version"] = "v1.34.1" })

	// With versions of two releases, nothing is sent to the service.
	c := x.says(clusterv1.AvailableCondition, metav1.ConditionFalse, controlplanev1.VersionMismatchReason)
	if !strings.Contains(c.Message, "version v1.34.1 and distributionVersion "+version+" are not of one release") {
		t.Errorf("it says %s", c.Message)
	}
	acted := func() (bool, string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.acted > 0, text(x.acted)
	}
	x.never("the service is told something", acted)

	// The release image knows more than the rule.
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.Version, c.Spec.Config.ReleaseImage = "v1.33.4", "quay.io/x@sha256:"+strings.Repeat("a", 64)
	})
	x.eventually("the right version to be named", func() (bool, string) {
		c := conditions.Get(x.plane(), clusterv1.AvailableCondition)
		return strings.Contains(c.Message, "Write version: v1.33.5"), c.Message
	})
	x.never("the service is told something", acted)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) { c.Spec.Version = "v1.33.5" })
	x.eventually("the cluster to be registered", acted)

	x.checkMachines()

	// An API server that does not answer is no control plane yet, though there is a kubeconfig.
	x.set(func() { x.registers, x.state = false, model.ClusterInstalling })
	x.says(controlplanev1.InitializedCondition, metav1.ConditionFalse, "WaitingForAPIServer")
	if c := conditions.Get(x.plane(), controlplanev1.KubernetesVersionAvailableCondition); c != nil {
		t.Errorf("the versions are of one release, and it says %s", text(c))
	}
	kubeconfig := &corev1.Secret{}
	if !x.get(kubeconfig, "lab-kubeconfig") {
		t.Error("there is no kubeconfig")
	}
	x.never("the control plane is initialized", func() (bool, string) {
		status := x.plane().Status
		return ptr.Deref(status.Initialization.ControlPlaneInitialized, false) || len(status.Versions) > 0, text(status)
	})
	if _, blocks := x.plane().Annotations[clusterctlv1.BlockMoveAnnotation]; !blocks {
		t.Error("it may be moved while it is installed")
	}
	x.set(func() { x.answers = nil })
	x.says(controlplanev1.InitializedCondition, metav1.ConditionTrue, controlplanev1.InitializedCondition)
	cluster := &clusterv1.Cluster{}
	x.eventually("the Cluster to know", func() (bool, string) {
		x.get(cluster, "lab")
		return ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false), ""
	})

	x.set(func() { x.state = model.ClusterFailed })
	x.says(clusterv1.AvailableCondition, metav1.ConditionFalse, controlplanev1.ControlPlaneInstallFailedReason)
}

// TestWebhookOutage: while a webhook that is asked about Machines does not answer, none is made, and that is reported;
// once it does, all goes on, and nothing was made twice.
func TestWebhookOutage(t *testing.T) {
	x := open(t, 3, "")
	url := "https://127.0.0.1:1/machines" // where no server listens
	outage := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "outage-" + x.namespace}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "machines.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &url}, AdmissionReviewVersions: []string{"v1"},
		SideEffects: ptr.To(admissionv1.SideEffectClassNone), TimeoutSeconds: ptr.To[int32](1),
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: x.namespace}},
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{
			APIGroups: []string{clusterv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"machines"},
		}}},
	}}}
	if err := x.client.Create(t.Context(), outage); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			if err := x.client.Delete(context.WithoutCancel(t.Context()), outage); err != nil {
				t.Error(err)
			}
		}
	}
	defer end()
	x.eventually("the webhook to be in force", func() (bool, string) {
		probe := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "probe"}, Spec: clusterv1.MachineSpec{
			ClusterName: "lab", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Metal3Machine", Name: "none"},
		}}
		err := x.client.Create(t.Context(), probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "failed calling webhook"), text(err)
	})
	x.lab(3)
	if c := x.says(controlplanev1.MachinesCreatedCondition, metav1.ConditionFalse, controlplanev1.MachineGenerationFailedReason); !strings.Contains(c.Message, "failed calling webhook") {
		t.Errorf("it says %s", c.Message)
	}
	end()
	x.eventually("three Machines", func() (bool, string) { return len(x.machines()) == 3, text(len(x.machines())) })
	x.says(controlplanev1.MachinesCreatedCondition, metav1.ConditionTrue, controlplanev1.MachinesCreatedCondition)
	configs := &bootstrapv1.OpenshiftAssistedConfigList{}
	if err := x.client.List(t.Context(), configs, client.InNamespace(x.namespace)); err != nil || len(configs.Items) != 3 {
		t.Errorf("%d configs were made, %v", len(configs.Items), err)
	}
}

// TestMachinesThatAreTooManyGo: before the installation, a Machine that a user has made by hand beside those that are
// wanted is deleted, and no other.
func TestMachinesThatAreTooManyGo(t *testing.T) {
	x := open(t, 3, "")
	x.set(func() { x.registers = true })
	x.lab(3)
	var own []string
	x.eventually("three Machines", func() (bool, string) {
		own = nil
		for _, m := range x.machines() {
			own = append(own, m.Name)
		}
		return len(own) == 3, text(own)
	})
	extra := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: "by-hand", Labels: map[string]string{clusterv1.ClusterNameLabel: "lab", clusterv1.MachineControlPlaneLabel: ""},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(x.plane(), controlplanev1.GroupVersion().WithKind(controlplanev1.ControlPlaneKind))},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: "lab", FailureDomain: "workers", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Metal3Machine", Name: "none"},
		},
	}
	x.create(extra)
	x.eventually("the fourth Machine to go", func() (bool, string) { return !x.get(extra, "by-hand"), text(extra.Status.Conditions) })
	var left []string
	for _, m := range x.machines() {
		if m.DeletionTimestamp.IsZero() {
			left = append(left, m.Name)
		}
	}
	if !slices.Equal(left, own) || x.plane().Annotations[controlplane.AnnotationMachinesMade] != "3" {
		t.Errorf("there are %v, and were %v; %v", left, own, x.plane().Annotations)
	}
}

// TestControlPlaneIsKept: the conditions of an installed control plane, the kubeconfig that follows the service's, and
// what keeps it from all writes.
func TestControlPlaneIsKept(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3, func(plane map[string]any) { // which was installed a moment ago
		plane["metadata"].(map[string]any)["annotations"] = map[string]any{clusterctlv1.BlockMoveAnnotation: ""}
	})
	x.settled(3)
	plane := x.plane()
	if _, blocks := plane.Annotations[clusterctlv1.BlockMoveAnnotation]; blocks || plane.Annotations["oaictl.io/openshift-id"] != x.id() {
		t.Errorf("it is installed, and may not be moved: %v", plane.Annotations)
	}
	if v := plane.Status.Versions; len(v) != 1 || v[0].Replicas != 3 || !strings.HasPrefix(v[0].Version, "v1.33.") || plane.Status.DistributionVersion != version {
		t.Errorf("it runs %+v, %s", v, plane.Status.DistributionVersion)
	}
	x.says(controlplanev1.CertificatesAvailableCondition, metav1.ConditionTrue, controlplanev1.CertificatesAvailableCondition)
	x.says(clusterv1.MachinesReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)

	// Where the one in the Secret is broken, the service's is handed out at the next look.
	x.set(func() { x.kube = append(slices.Clone(x.kube), "\n# renewed\n"...) })
	kubeconfig := &corev1.Secret{}
	x.get(kubeconfig, "lab-kubeconfig")
	was := kubeconfig.UID
	kubeconfig.Data["value"] = []byte("{")
	if err := x.client.Update(t.Context(), kubeconfig); err != nil {
		t.Fatal(err)
	}
	x.touch()
	x.eventually("the kubeconfig to be renewed", func() (bool, string) {
		x.get(kubeconfig, "lab-kubeconfig")
		return strings.HasSuffix(string(kubeconfig.Data["value"]), "# renewed\n") && kubeconfig.UID == was, ""
	})

	x.checkPaused()

	// Of two releases, nothing is upgraded: neither where the image stays that is named,
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.DistributionVersion, c.Spec.Config.ReleaseImage = newer, installedImage()
	})
	if c := x.says(controlplanev1.UpgradeCompletedCondition, metav1.ConditionFalse, controlplanev1.VersionMismatchReason); !strings.Contains(c.Message, "is OpenShift "+version+", and distributionVersion is "+newer) {
		t.Errorf("it says %s", c.Message)
	}
	x.never("the cluster is asked for another version", func() (bool, string) { return x.desiredUpdate() != "", x.desiredUpdate() })

	// nor where another version of Kubernetes is written.
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.Version, c.Spec.Config.ReleaseImage = "v1.34.1", ""
	})
	x.eventually("the version of Kubernetes to be named", func() (bool, string) {
		c := conditions.Get(x.plane(), controlplanev1.UpgradeCompletedCondition)
		return c.Reason == controlplanev1.VersionMismatchReason && strings.Contains(c.Message, "version v1.34.1 and"), c.Message
	})
	x.never("the cluster is asked for another version", func() (bool, string) { return x.desiredUpdate() != "", x.desiredUpdate() })
	x.says(clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) { c.Spec.Version = "v1.33.4" })
	x.eventually("the image of the update to be read", func() (bool, string) {
		c := conditions.Get(x.plane(), controlplanev1.UpgradeCompletedCondition)
		return c.Reason == controlplanev1.VersionMismatchReason && strings.Contains(c.Message, "Write version: v1.33.5"), c.Message
	})
	x.never("the cluster is asked for another version", func() (bool, string) { return x.desiredUpdate() != "", x.desiredUpdate() })
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) { c.Spec.Version = "v1.33.5" })
	x.eventually("the cluster to be asked for it", func() (bool, string) { return x.desiredUpdate() == newer, x.desiredUpdate() })
	if plane := x.plane(); plane.Status.DistributionVersion != version {
		t.Errorf("it says that it runs %s already", plane.Status.DistributionVersion)
	}
}

// checkMachines checks the owners of the Machines, and where they are placed: each in another failure domain.
func (x *site) checkMachines() {
	x.t.Helper()
	plane, where := x.plane(), []string{}
	for _, m := range x.machines() {
		where = append(where, m.Spec.FailureDomain)
		owner := metav1.GetControllerOf(&m)
		if owner == nil || owner.UID != plane.UID || owner.Kind != controlplanev1.ControlPlaneKind || owner.APIVersion != controlplanev1.GroupVersion().String() {
			x.t.Errorf("the controller of %s is %+v", m.Name, owner)
		}
		for _, labels := range []map[string]string{m.Labels, x.infrastructure(&m).GetLabels(), x.config(&m).Labels} {
			_, is := labels[clusterv1.MachineControlPlaneLabel]
			if !is || labels[clusterv1.MachineControlPlaneNameLabel] != "lab" || labels[clusterv1.ClusterNameLabel] != "lab" {
				x.t.Errorf("%s, or what it refers to, has the labels %v", m.Name, labels)
			}
		}
		if !slices.Contains(x.config(&m).Finalizers, bootstrapv1.ConfigFinalizer) {
			x.t.Errorf("the config of %s is made without its provider's finalizer", m.Name)
		}
	}
	if slices.Sort(where); !slices.Equal(where, []string{"a", "b", "c"}) {
		x.t.Errorf("the Machines are put into %q", where)
	}
	x.eventually("the Machines to be counted", func() (bool, string) {
		s := x.plane().Status
		return ptr.Deref(s.Replicas, 0) == 3 && ptr.Deref(s.AvailableReplicas, -1) == 0 && s.Selector == "cluster.x-k8s.io/cluster-name=lab,cluster.x-k8s.io/control-plane", text(s)
	})
}

// checkPaused has nothing be written while the Cluster is paused, and what was asked for meanwhile be done then.
func (x *site) checkPaused() {
	x.t.Helper()
	pause := func(paused *bool) {
		x.t.Helper()
		cluster := &clusterv1.Cluster{}
		x.get(cluster, "lab")
		before := cluster.DeepCopy()
		cluster.Spec.Paused = paused
		if err := x.client.Patch(x.t.Context(), cluster, client.MergeFrom(before)); err != nil {
			x.t.Fatal(err)
		}
	}
	pause(ptr.To(true))
	x.says(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
	x.quiet()
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"rack": "a"}
	})
	x.touch()
	for _, w := range x.written.take() {
		if !strings.Contains(w, "/openshiftassistedcontrolplanes/lab/status") { // that status records the generation at which it is paused
			x.t.Errorf("while it is paused, written is %s", w)
		}
	}
	pause(nil)
	x.says(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason)
	x.eventually("the label to be on the Machines", func() (bool, string) {
		return !slices.ContainsFunc(x.machines(), func(m clusterv1.Machine) bool { return m.Labels["rack"] != "a" }), ""
	})
}

// TestTemplateOfTwoClusters: a template that two control planes make their Machines of is owned by both Clusters, and
// deleted with the second one.
func TestTemplateOfTwoClusters(t *testing.T) {
	x := open(t, 3, "")
	x.beside(x.provide)
	x.lab(1)
	template := raw(t, "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3MachineTemplate}")
	owned := func(names ...string) {
		t.Helper()
		x.eventually("the template to be owned by "+strings.Join(names, " and "), func() (bool, string) {
			if !x.get(template, "first") || template.GetDeletionTimestamp() != nil {
				t.Fatal("the template is gone")
			}
			var owners []string
			for _, o := range template.GetOwnerReferences() {
				owners = append(owners, o.Name)
			}
			return slices.Equal(owners, names), text(owners)
		})
	}
	remove := func(name string) {
		t.Helper()
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name}}
		if err := x.client.Delete(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		x.eventually("Cluster "+name+" to be gone", func() (bool, string) { return !x.get(cluster, name), "" })
	}
	owned("lab")
	x.cluster("other", 1)
	owned("lab", "other")
	remove("lab")
	owned("other")
	remove("other")
	x.eventually("the template to be gone", func() (bool, string) { return !x.get(template, "first"), text(template.GetOwnerReferences()) })
}
