package bootstrap_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestLiveISOOfAMachineThatRuns: a machine that boots from its disk is well with any discovery image and with none, as
// after a move; and it is not given another image.
func TestLiveISOOfAMachineThatRuns(t *testing.T) {
	for name, test := range map[string]struct {
		service  func(*model.Observed)
		provider string
		ready    metav1.ConditionStatus
	}{
		"it waits in the discovery system": {func(o *model.Observed) {
			o.Cluster.State, o.Hosts[0].State, o.Hosts[0].Progress.Stage = model.ClusterDiscovering, model.HostReady, ""
		}, "", metav1.ConditionFalse},
		"it has rebooted": {func(o *model.Observed) {
			o.Cluster.State, o.Hosts[0].State, o.Hosts[0].Progress.Stage = model.ClusterInstalling, model.HostInstalling, "Rebooting"
		}, "", metav1.ConditionTrue},
		"it is installed": {func(*model.Observed) {}, "metal3://ns/host/infra", metav1.ConditionTrue},
		"it was moved":    {func(o *model.Observed) { o.Hosts, o.InfraEnvs = nil, nil }, "metal3://ns/host/infra", metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			b := startLiveISO(t, func(o map[string]client.Object) { o["Machine"].(*clusterv1.Machine).Spec.ProviderID = test.provider })
			b.service.observed.Hosts = []model.Host{{ID: "host", InfraEnvID: "env", ClusterID: "id", State: model.HostInstalled, Progress: model.HostProgress{Stage: "Done"}}}
			b.service.observed.Cluster.State = model.ClusterInstalled
			test.service(&b.service.observed)
			if b.service.observed.InfraEnvs == nil {
				b.wanted.Spec.Hosts = nil // nothing is made for it
			}
			b.mustReconcile()
			if c := conditions.Get(b.config(), clusterv1.ReadyCondition); c.Status != test.ready {
				t.Errorf("Ready is %s: %s", c.Status, c.Message)
			}
			if s := b.secret(); s == nil || len(s.Data["value"]) > 0 {
				t.Errorf("its data is %v", s)
			}
			if slices.Contains(b.written, "patch unstructured.Unstructured infra") {
				t.Error("it is given another image")
			}
		})
	}
}

// TestLiveISOBootsOnceItHasItsImage: the reconcile that has written the image lets the machine boot, since nothing wakes
// a later one; and no machine boots before the API server has said that the image is there.
func TestLiveISOBootsOnceItHasItsImage(t *testing.T) {
	const gives, lets = "patch unstructured.Unstructured infra", "create v1.Secret boot"
	for name, test := range map[string]struct {
		patched func(client.Object, error) error
		boots   bool
		error   string
	}{
		"at once":           {nil, true, ""},
		"it is not written": {func(client.Object, error) error { return errors.New("the API server is away") }, false, "set the image of Metal3Machine infra: the API server is away"},
		"something else sets it": {func(o client.Object, err error) error {
			return errors.Join(err, unstructured.SetNestedField(o.(*unstructured.Unstructured).Object, "http://images/before", "spec", "image", "url"))
		}, false, "set the image of Metal3Machine infra: it has another one right after that"},
	} {
		t.Run(name, func(t *testing.T) {
			b := startLiveISO(t)
			b.patched = func(o client.Object, err error) error {
				if test.patched == nil || o.GetName() != "infra" {
					return err
				}
				return test.patched(o, err)
			}
			once := func() error {
				_, err := b.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "boot"}})
				return err
			}
			if err := once(); (err != nil) != (test.error != "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("the error is %v", err)
			}
			c := conditions.Get(b.config(), bootstrapv1.DataSecretAvailableCondition)
			if (b.secret() != nil) != test.boots || (c.Status == metav1.ConditionTrue) != test.boots || c.Message != test.error && !strings.HasPrefix(c.Message, test.error) {
				t.Errorf("it boots: %t; the condition is %+v", b.secret() != nil, c)
			}
			if !test.boots { // it is tried again, and nothing keeps it then
				test.patched = nil
				if err := once(); err != nil || b.secret() == nil || !conditions.IsTrue(b.config(), bootstrapv1.DataSecretAvailableCondition) {
					t.Errorf("the second time: %v; %+v", err, conditions.Get(b.config(), bootstrapv1.DataSecretAvailableCondition))
				}
			}
			if at := slices.Index(b.written, gives); at < 0 || at > slices.Index(b.written, lets) {
				t.Errorf("written is %q", b.written)
			}
			infrastructure := &unstructured.Unstructured{}
			infrastructure.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
			infrastructure.SetKind(machines.KindMetal3Machine)
			b.get(infrastructure, "infra")
			if url, _, _ := unstructured.NestedString(infrastructure.Object, "spec", "image", "url"); url != "http://images/1" {
				t.Errorf("its image is %s", url)
			}
		})
	}
}

// TestNoUserDataForWhatMayBootALiveISO: a Metal3Machine that is not there yet may boot the image itself, and a config
// waits for it.
func TestNoUserDataForWhatMayBootALiveISO(t *testing.T) {
	var later client.Object
	b := startLiveISO(t, func(o map[string]client.Object) {
		later = o["Metal3Machine"]
		delete(o, "Metal3Machine")
	})
	result, err := b.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "boot"}})
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("%+v, %v", result, err)
	}
	c := conditions.Get(b.config(), bootstrapv1.DataSecretAvailableCondition)
	if b.secret() != nil || c == nil || c.Message != "waiting for Metal3Machine infra, which says how the machine boots" {
		t.Errorf("its data is %v, and the condition %+v", b.secret(), c)
	}
	if err := b.client.Create(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	b.mustReconcile()
	if s := b.secret(); s == nil || len(s.Data["value"]) > 0 {
		t.Errorf("its data is %v", s)
	}
}

// TestDetachedMachineThatIsGivenUpIsTakenBack: once its Metal3Machine is being deleted Metal3 waits for it to be
// deprovisioned, whether there is still an installation to look at or not. Before that its node runs, and a
// BareMetalHost that another client has detached stays so.
func TestDetachedMachineThatIsGivenUpIsTakenBack(t *testing.T) {
	gone := func(o map[string]client.Object) {
		m := o["Machine"].(*clusterv1.Machine)
		m.DeletionTimestamp, m.Finalizers = ptr.To(metav1.NewTime(made)), []string{clusterv1.MachineFinalizer}
	}
	isAt := func(reason string) func(map[string]client.Object) {
		return func(o map[string]client.Object) {
			gone(o)
			conditions.Set(o["Machine"].(*clusterv1.Machine), metav1.Condition{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: reason})
		}
	}
	draining, hooked := isAt(clusterv1.MachineDeletingDrainingNodeReason), isAt(clusterv1.MachineDeletingWaitingForPreTerminateHookReason)
	letGo := func(o map[string]client.Object) {
		hooked(o) // as a cache may still show it
		o["Metal3Machine"].SetFinalizers([]string{"metal3machine.infrastructure.cluster.x-k8s.io"})
		o["Metal3Machine"].SetDeletionTimestamp(ptr.To(metav1.NewTime(made)))
	}
	for name, test := range map[string]struct {
		change   []func(map[string]client.Object)
		refuses  error
		detached bool
	}{
		"it runs":                         {nil, nil, true},
		"it runs, whatever is to be seen": {nil, errors.New("the ConfigMap mirrors is not there"), true},
		"its Machine is deleted":          {[]func(map[string]client.Object){gone}, nil, true},
		"its node is being drained":       {[]func(map[string]client.Object){draining}, nil, true},
		"etcd waits for another":          {[]func(map[string]client.Object){hooked}, nil, true},
		"its Metal3Machine is deleted":    {[]func(map[string]client.Object){letGo}, nil, false},
		"its Machine says so":             {[]func(map[string]client.Object){isAt(clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason)}, nil, false},
		"its Metal3Machine is gone": {[]func(map[string]client.Object){isAt(clusterv1.MachineDeletingWaitingForBootstrapDeletionReason), func(o map[string]client.Object) {
			delete(o, "Metal3Machine")
		}}, nil, true},
		"it is let go, and there is nothing to be seen": {[]func(map[string]client.Object){letGo}, errors.New("the ConfigMap mirrors is not there"), false},
		"its config is deleted, too": {[]func(map[string]client.Object){letGo, func(o map[string]client.Object) {
			o["Config"].SetFinalizers([]string{bootstrapv1.ConfigFinalizer})
			o["Config"].SetDeletionTimestamp(ptr.To(metav1.NewTime(made)))
		}}, nil, false},
		"it boots otherwise": {[]func(map[string]client.Object){letGo, func(o map[string]client.Object) {
			unstructured.RemoveNestedField(o["Metal3Machine"].(*unstructured.Unstructured).Object, "spec", "image", "diskFormat")
		}}, nil, true},
		"its Cluster is paused": {[]func(map[string]client.Object){letGo, func(o map[string]client.Object) {
			o["Cluster"].(*clusterv1.Cluster).Spec.Paused = ptr.To(true)
		}}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := startLiveISO(t, append([]func(map[string]client.Object){func(o map[string]client.Object) {
				o["BareMetalHost"].SetAnnotations(map[string]string{"baremetalhost.metal3.io/detached": "", "other": "stays"})
			}}, test.change...)...)
			b.refuses = test.refuses
			b.service.observed.Cluster.State = model.ClusterInstalled
			b.service.observed.Hosts = []model.Host{{ID: "host", InfraEnvID: "env", ClusterID: "id", State: model.HostInstalled, Progress: model.HostProgress{Stage: "Done"}}}
			if err := b.reconcile(); !errors.Is(err, test.refuses) {
				t.Fatal(err)
			}
			host := &unstructured.Unstructured{}
			host.SetAPIVersion("metal3.io/v1alpha1")
			host.SetKind("BareMetalHost")
			b.get(host, "bare")
			notes := host.GetAnnotations()
			if _, is := notes["baremetalhost.metal3.io/detached"]; is != test.detached || notes["other"] != "stays" {
				t.Errorf("its annotations are %v", notes)
			}
		})
	}
}

// TestLiveISOKeepsTheRestOfAnImage: of an image only the URL is written. Its checksum stays as it was said, which some
// releases of Metal3 need and others do not.
func TestLiveISOKeepsTheRestOfAnImage(t *testing.T) {
	for name, checksum := range map[string]map[string]any{"an empty checksum": {"checksum": ""}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			want := map[string]any{"url": "http://images/1", "diskFormat": "live-iso"}
			maps.Copy(want, checksum)
			b := startLiveISO(t, func(o map[string]client.Object) {
				image := maps.Clone(want)
				image["url"] = "http://images/before"
				o["Metal3Machine"].(*unstructured.Unstructured).Object["spec"] = map[string]any{"image": image}
			})
			b.mustReconcile()
			infra := &unstructured.Unstructured{}
			infra.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
			infra.SetKind(machines.KindMetal3Machine)
			b.get(infra, "infra")
			if got, _, _ := unstructured.NestedMap(infra.Object, "spec", "image"); !maps.Equal(got, want) {
				t.Errorf("the image is %v, not %v", got, want)
			}
		})
	}
}

// TestMachinesAreDetachedWhateverIsWanted: while the desired state of a cluster cannot be determined, a machine that
// boots from its disk is still kept from booting the discovery image again, and the reason why nothing else is done is
// reported.
func TestMachinesAreDetachedWhateverIsWanted(t *testing.T) {
	b := startLiveISO(t)
	b.refuses, b.observes = &clusterloop.Refusal{Problems: []string{"the ConfigMap mirrors is not there"}}, true
	b.service.observed.Cluster.State = model.ClusterInstalling
	b.service.observed.Hosts = []model.Host{{ID: "host", InfraEnvID: "env", ClusterID: "id", State: model.HostInstalling, Progress: model.HostProgress{Stage: "Rebooting"}}}
	b.mustReconcile()
	host := &unstructured.Unstructured{}
	host.SetAPIVersion("metal3.io/v1alpha1")
	host.SetKind("BareMetalHost")
	b.get(host, "bare")
	if _, is := host.GetAnnotations()["baremetalhost.metal3.io/detached"]; !is {
		t.Error("it is not detached")
	}
	if c := conditions.Get(b.config(), bootstrapv1.DataSecretAvailableCondition); c == nil || c.Message != "the ConfigMap mirrors is not there" {
		t.Errorf("the condition is %+v", c)
	}
}
