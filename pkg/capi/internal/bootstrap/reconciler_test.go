package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDataSecret: it has the config's name whenever it is made, the label by which the managers of Cluster API
// keep it in their caches, and the config for its controller.
func TestDataSecret(t *testing.T) {
	b := start(t)
	b.mustReconcile()
	first := b.secret()
	for range 2 {
		s := b.secret()
		if s == nil || s.Name != "boot" || s.Labels[clusterv1.ClusterNameLabel] != "lab" || s.Type != clusterv1.ClusterSecretType {
			t.Fatalf("the Secret is %+v", s)
		}
		owner := metav1.GetControllerOf(s)
		if owner == nil || owner.UID != "config" || owner.Kind != bootstrapv1.ConfigKind || owner.APIVersion != bootstrapv1.GroupVersion().String() || owner.Name != "boot" {
			t.Errorf("its controller is %+v", owner)
		}
		if !strings.Contains(string(s.Data["value"]), "/etc/discovery.ign-of-env") || string(s.Data["format"]) != "ignition" || string(s.Data["value"]) != string(first.Data["value"]) {
			t.Errorf("its data are %s", s.Data)
		}
		status := b.config().Status
		if status.DataSecretName != "boot" || !ptr.Deref(status.Initialization.DataSecretCreated, false) {
			t.Errorf("the status is %+v", status)
		}
		if err := b.client.Delete(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		b.mustReconcile()
	}
}

// TestDataFollowTheImageUntilTheyAreUsed: a Secret is renewed where the InfraEnv has another image, and stays as it is
// once the machine has booted by it. Several things show that it has.
func TestDataFollowTheImageUntilTheyAreUsed(t *testing.T) {
	for name, use := range map[string]func(*bench, *clusterv1.Machine){
		"nobody yet": func(*bench, *clusterv1.Machine) {},
		"its host has registered": func(b *bench, _ *clusterv1.Machine) {
			b.service.observed.Hosts = []model.Host{{ID: "host", InfraEnvID: "env", ClusterID: "id", Hostname: "m"}}
		},
		"it has a provider id":    func(_ *bench, m *clusterv1.Machine) { m.Spec.ProviderID = "metal3://m" },
		"it has been provisioned": func(_ *bench, m *clusterv1.Machine) { m.Status.Initialization.InfrastructureProvisioned = ptr.To(true) },
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			b.mustReconcile()
			before := b.secret()
			machine := &clusterv1.Machine{}
			b.get(machine, "m")
			use(b, machine)
			status := machine.Status
			if err := b.client.Update(t.Context(), machine); err != nil {
				t.Fatal(err)
			}
			machine.Status = status
			if err := b.client.Status().Update(t.Context(), machine); err != nil {
				t.Fatal(err)
			}
			b.service.observed.InfraEnvs[0].Image.Created = made.Add(time.Minute)
			b.mustReconcile()
			after := b.secret()
			if renewed := string(before.Data["value"]) != string(after.Data["value"]); renewed != (name == "nobody yet") {
				t.Errorf("renewed: %t\n%s\n%s", renewed, before.Data["value"], after.Data["value"])
			}
			if after.Name != before.Name || after.UID != before.UID || after.Labels[clusterv1.ClusterNameLabel] != "lab" || !metav1.IsControlledBy(after, b.config()) {
				t.Errorf("it is %+v now", after.ObjectMeta)
			}
		})
	}
}

// TestSecretsThatAreThere: Secrets that an interrupted reconcile has made are used, and another owner's are left as
// they are and reported.
func TestSecretsThatAreThere(t *testing.T) {
	b := start(t)
	b.mustReconcile()
	lost := b.config()
	lost.Status = bootstrapv1.OpenshiftAssistedConfigStatus{}
	if err := b.client.Status().Update(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	b.mustReconcile()
	if status := b.config().Status; status.DataSecretName != "boot" || !ptr.Deref(status.Initialization.DataSecretCreated, false) {
		t.Errorf("its own Secret is not taken: %+v", status)
	}

	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "boot"}, Data: map[string][]byte{"own": []byte("data")}}
	b = start(t)
	if err := b.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if err := b.reconcile(); err == nil {
		t.Error("there is no error")
	}
	c := conditions.Get(b.config(), bootstrapv1.DataSecretAvailableCondition)
	if c == nil || c.Reason != bootstrapv1.CreatingSecretFailedReason || !strings.Contains(c.Message, "Secret boot is there and is not the config's: delete it") {
		t.Errorf("the condition is %+v", c)
	}
	if now := b.secret(); string(now.Data["own"]) != "data" || len(now.OwnerReferences) > 0 {
		t.Errorf("the Secret of somebody else is %+v", now)
	}
}

// TestSecretOfAnotherProjectIsTakenOver: a Secret that the config owns and that has no controller, with the label of
// its Cluster or without, is the config's from then on. A machine that has booted keeps its data, and nothing is read
// for it; another machine is given what it boots now.
func TestSecretOfAnotherProjectIsTakenOver(t *testing.T) {
	const before = "what the machine has booted"
	for name, test := range map[string]struct {
		labels map[string]string
		booted bool
		image  model.ImageState
	}{
		"it has booted":                           {nil, true, model.ImageReady},
		"it has booted, and there is no image":    {nil, true, model.ImagePending},
		"it has booted, and there is the label":   {map[string]string{clusterv1.ClusterNameLabel: "lab", "other": "stays"}, true, model.ImageReady},
		"it has not booted":                       {nil, false, model.ImageReady},
		"it has not booted, and there is a label": {map[string]string{clusterv1.ClusterNameLabel: "lab"}, false, model.ImageReady},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				if test.booted {
					o["Machine"].(*clusterv1.Machine).Spec.ProviderID = "metal3://m"
				}
			})
			b.service.observed.InfraEnvs[0].Image.State = test.image
			labels := maps.Clone(test.labels)
			if err := b.client.Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "boot", Labels: labels, OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"},
					{APIVersion: bootstrapv1.Group + "/v1alpha1", Kind: bootstrapv1.ConfigKind, Name: "boot", UID: "config"},
				}},
				Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": []byte(before), "format": []byte("ignition")},
			}); err != nil {
				t.Fatal(err)
			}
			b.mustReconcile()
			s := b.secret()
			if !metav1.IsControlledBy(s, b.config()) || s.Labels[clusterv1.ClusterNameLabel] != "lab" || s.Labels["other"] != test.labels["other"] {
				t.Errorf("it is %+v", s.ObjectMeta)
			}
			if kept := string(s.Data["value"]) == before; kept != test.booted {
				t.Errorf("its data are %s", s.Data["value"])
			}
			if test.booted && len(s.OwnerReferences) != 2 {
				t.Errorf("its owners are %+v", s.OwnerReferences)
			}
			if !conditions.IsTrue(b.config(), bootstrapv1.DataSecretAvailableCondition) || b.config().Status.DataSecretName != "boot" {
				t.Errorf("the status is %+v", b.config().Status)
			}
		})
	}
}

// TestWaitingConfigIsNoRequest reconciles a config that waits for its image. That its Secret is not there is known from the
// cache: the API server is not asked.
func TestWaitingConfigIsNoRequest(t *testing.T) {
	b := start(t)
	b.service.observed.InfraEnvs[0].Image.State = model.ImagePending
	inner, is := b.client.(client.WithWatch)
	if !is {
		t.Fatal("the client does not watch")
	}
	var asked []string
	b.reconciler.Live = interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			asked = append(asked, fmt.Sprintf("%T %s", o, key.Name))
			return c.Get(ctx, key, o, options...)
		},
	})
	for range 3 {
		b.mustReconcile()
	}
	if len(asked) > 0 {
		t.Errorf("the API server was asked for %v", asked)
	}
	b.service.observed.InfraEnvs[0].Image.State = model.ImageReady
	b.set.Changed(client.ObjectKey{Namespace: "ns", Name: "lab"})
	b.mustReconcile()
	if b.secret() == nil || len(asked) > 0 {
		t.Errorf("with the image, the Secret is %v, and the API server was asked for %v", b.secret(), asked)
	}
}

// TestConfigsThatWait: nothing is made for a config before its time has come, and nothing is written to a config that
// is paused, or that belongs to another manager.
func TestConfigsThatWait(t *testing.T) {
	for name, test := range map[string]struct {
		change            func(map[string]client.Object)
		filter            string
		condition, reason string // "" for none, besides a condition that says that it is not paused
	}{
		"the infrastructure is not provisioned": {func(o map[string]client.Object) {
			o["Cluster"].(*clusterv1.Cluster).Status.Initialization.InfrastructureProvisioned = nil
		}, "", bootstrapv1.DataSecretAvailableCondition, bootstrapv1.WaitingForClusterInfrastructureReason},
		"nobody owns it yet":  {func(o map[string]client.Object) { o["Config"].SetOwnerReferences(nil) }, "", "", ""},
		"its Machine is gone": {func(o map[string]client.Object) { delete(o, "Machine") }, "", "", ""},
		"there is no Cluster": {func(o map[string]client.Object) { delete(o, "Cluster") }, "", "", ""},
		"its Cluster is paused": {func(o map[string]client.Object) {
			o["Cluster"].(*clusterv1.Cluster).Spec.Paused = ptr.To(true)
		}, "", clusterv1.PausedCondition, clusterv1.PausedReason},
		"it is paused": {func(o map[string]client.Object) {
			o["Config"].SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""})
		}, "", clusterv1.PausedCondition, clusterv1.PausedReason},
		"it has no label": {func(map[string]client.Object) {}, "ours", "", ""},
		"it is another manager's": {func(o map[string]client.Object) {
			o["Config"].GetLabels()[clusterv1.WatchLabel] = "theirs"
		}, "ours", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, test.change)
			b.reconciler.WatchFilter = test.filter
			b.mustReconcile()
			config := b.config()
			if b.secret() != nil {
				t.Error("there is a Secret")
			}
			if c := conditions.Get(config, test.condition); test.condition != "" && (c == nil || c.Reason != test.reason) {
				t.Errorf("%s is %+v", test.condition, c)
			}
			if test.condition == bootstrapv1.DataSecretAvailableCondition {
				return
			}
			only := slices.DeleteFunc(slices.Clone(config.Status.Conditions), func(c metav1.Condition) bool { return c.Type == clusterv1.PausedCondition })
			if len(only) > 0 || len(config.Finalizers) > 0 || len(b.written) > 1 || test.filter != "" && len(b.written) > 0 {
				t.Errorf("written is %q: %v, %+v", b.written, config.Finalizers, only)
			}
		})
	}
	t.Run("it is this manager's", func(t *testing.T) {
		b := start(t, func(o map[string]client.Object) { o["Config"].GetLabels()[clusterv1.WatchLabel] = "ours" })
		b.reconciler.WatchFilter = "ours"
		if b.mustReconcile(); b.secret() == nil {
			t.Error("there is no Secret")
		}
	})
}

// TestWhatStandsInTheWayOfAnInfraEnvIsShown: that of a machine that is to join is not made while its cluster or its host
// is in doubt, which its config says, and looks at again.
func TestWhatStandsInTheWayOfAnInfraEnvIsShown(t *testing.T) {
	for want, options := range map[string]model.Options{
		"m may already be part of the control plane": {AddNodes: true},
		"rejects the credentials of Secret lab-kubeconfig: Unauthorized: put a kubeconfig of the cluster's administrator": {AddNodes: true, AcceptControlPlane: true},
	} {
		b := start(t)
		b.options = options
		b.service.observed.Cluster.State, b.service.observed.InfraEnvs = model.ClusterAddingHosts, nil
		b.service.observed.Spoke = &model.Spoke{Trouble: "Unauthorized", TroubleKind: model.TroubleCredentials, From: "Secret lab-kubeconfig"}
		result, err := b.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "boot"}})
		if err != nil || result.RequeueAfter != time.Minute {
			t.Errorf("%+v, %v", result, err)
		}
		c := conditions.Get(b.config(), bootstrapv1.InfraEnvReadyCondition)
		if c == nil || c.Reason != bootstrapv1.WaitingForInfraEnvReason || !strings.Contains(c.Message, want) {
			t.Errorf("the condition is %+v, and not %q", c, want)
		}
	}
}

// TestDeletion: what the service has of a machine is deleted with its config, even if other objects are gone already;
// what is paused or was moved to another management cluster is left as it is.
func TestDeletion(t *testing.T) {
	all := []string{"host env host", "InfraEnv env"}
	broken := errors.New("the service is away")
	for name, test := range map[string]struct {
		change  func(map[string]client.Object)
		service func(*service)
		deleted []string
		stays   bool
		err     error
	}{
		"all is there":        {nil, nil, all, false, nil},
		"the Machine is gone": {func(o map[string]client.Object) { delete(o, "Machine") }, nil, all, false, nil},
		// Over REST only the Cluster proves which InfraEnv is the config's: the status does not.
		"the Cluster, too": {func(o map[string]client.Object) { delete(o, "Machine"); delete(o, "Cluster") }, nil, nil, false, nil},
		"nobody ever owned it": {func(o map[string]client.Object) {
			config := o["Config"].(*bootstrapv1.OpenshiftAssistedConfig)
			config.OwnerReferences, config.Labels, config.Status.InfraEnvRef = nil, nil, nil
		}, nil, nil, false, nil},
		"the service has forgotten it": {nil, func(s *service) { s.hosts = nil }, nil, false, nil},
		"the service is away":          {nil, func(s *service) { s.fails = broken }, all[:1], true, broken},
		"it was moved": {func(o map[string]client.Object) {
			o["Config"].SetAnnotations(map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""})
		}, nil, nil, false, nil},
		"its Cluster is paused": {func(o map[string]client.Object) { o["Cluster"].(*clusterv1.Cluster).Spec.Paused = ptr.To(true) }, nil, nil, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				config := o["Config"].(*bootstrapv1.OpenshiftAssistedConfig)
				config.Finalizers = []string{bootstrapv1.ConfigFinalizer}
				config.DeletionTimestamp = ptr.To(metav1.NewTime(made))
				config.Status.InfraEnvRef = &bootstrapv1.ObjectReference{Name: "env"}
				if test.change != nil {
					test.change(o)
				}
			})
			b.service.hosts["env"] = []model.Host{{ID: "host", InfraEnvID: "env"}}
			if test.service != nil {
				test.service(b.service)
			}
			if err := b.reconcile(); !errors.Is(err, test.err) {
				t.Errorf("the error is %v", err)
			}
			if !slices.Equal(b.service.deleted, test.deleted) {
				t.Errorf("deleted is %q", b.service.deleted)
			}
			if there := b.get(&bootstrapv1.OpenshiftAssistedConfig{}, "boot"); there != test.stays {
				t.Errorf("the config is there: %t", there)
			}
		})
	}
}

// TestDeletionThatHangsSaysWhy: whether the service answers with an error or not at all; and it ends once the service
// does what it is asked to.
func TestDeletionThatHangsSaysWhy(t *testing.T) {
	broken := errors.New("500 Internal Server Error")
	for name, test := range map[string]struct {
		service func(*service)
		err     error
		says    string
	}{
		"it fails":           {func(s *service) { s.fails = broken }, broken, "delete the record of host host: 500 Internal Server Error"},
		"it has no host":     {func(s *service) { s.fails, s.hosts["env"] = broken, nil }, broken, "delete InfraEnv env: 500 Internal Server Error"},
		"it does not answer": {func(s *service) { s.mute = true }, nil, "list the hosts of InfraEnv env: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, func(o map[string]client.Object) {
					config := o["Config"].(*bootstrapv1.OpenshiftAssistedConfig)
					config.Finalizers, config.DeletionTimestamp = []string{bootstrapv1.ConfigFinalizer}, ptr.To(metav1.NewTime(made))
					config.Status.InfraEnvRef = &bootstrapv1.ObjectReference{Name: "env"}
				})
				b.service.hosts["env"] = []model.Host{{ID: "host", InfraEnvID: "env"}}
				test.service(b.service)
				for range 3 {
					if err := b.reconcile(); !errors.Is(err, test.err) {
						t.Fatal(err)
					}
					c := conditions.Get(b.config(), clusterv1.DeletingCondition)
					if c == nil || c.Status != metav1.ConditionTrue || c.Message != test.says {
						t.Errorf("the condition is %+v", c)
					}
				}
				if len(b.written) != 1 {
					t.Errorf("written is %q", b.written)
				}
				b.service.fails, b.service.mute = nil, false
				b.mustReconcile()
				if b.get(&bootstrapv1.OpenshiftAssistedConfig{}, "boot") || !slices.Contains(b.service.deleted, "InfraEnv env") {
					t.Errorf("the config stays; deleted is %q", b.service.deleted)
				}
			})
		})
	}
}

// TestInfraEnvWithoutReferenceIsLeftToNobody: one may have been made before the process ended, and its reference not
// been written. Of what bears its name only what is the config's goes.
func TestInfraEnvWithoutReferenceIsLeftToNobody(t *testing.T) {
	all, away := []string{"host env host", "InfraEnv env"}, errors.New("the service is away")
	for name, test := range map[string]struct {
		change  func(map[string]client.Object)
		service func(*service)
		deleted []string
		err     error
	}{
		"on a hub":                 {nil, nil, all, nil},
		"over REST":                {nil, func(s *service) { s.observed.InfraEnvs[0].Owned, s.observed.Cluster.ID = false, "ns/lab" }, all, nil},
		"somebody else's":          {nil, func(s *service) { s.observed.InfraEnvs[0].Owned = false }, nil, nil},
		"another config's":         {nil, func(s *service) { s.observed.InfraEnvs[0].Name = "boot-2" }, nil, nil},
		"another cluster's":        {nil, func(s *service) { s.observed.InfraEnvs[0].ClusterID = "ns/other" }, nil, nil},
		"the service is away":      {nil, func(s *service) { s.lists = away }, nil, away},
		"no cluster is registered": {func(o map[string]client.Object) { o["ControlPlane"].SetAnnotations(nil) }, func(s *service) { s.lists = away }, nil, nil},
		"it names another namespace's": {func(o map[string]client.Object) {
			o["ControlPlane"].SetAnnotations(map[string]string{clusterspec.AnnotationClusterID: "other/lab"})
		}, func(s *service) { s.observed.InfraEnvs[0].ClusterID = "other/lab" }, nil, nil},
		"the control plane is gone": {func(o map[string]client.Object) { delete(o, "ControlPlane") }, func(s *service) { s.lists = away }, nil, nil},
		"the Cluster is gone":       {func(o map[string]client.Object) { delete(o, "Cluster") }, func(s *service) { s.lists = away }, nil, nil},
		"it was moved": {func(o map[string]client.Object) {
			o["Config"].SetAnnotations(map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""})
		}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				config := o["Config"].(*bootstrapv1.OpenshiftAssistedConfig)
				config.Finalizers, config.DeletionTimestamp = []string{bootstrapv1.ConfigFinalizer}, ptr.To(metav1.NewTime(made))
				o["Cluster"].(*clusterv1.Cluster).Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{
					APIGroup: controlplanev1.GroupVersion().Group, Kind: "OpenshiftAssistedControlPlane", Name: "plane",
				}
				o["ControlPlane"] = &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "plane", Annotations: map[string]string{clusterspec.AnnotationClusterID: "ns/lab"},
				}}
				if test.change != nil {
					test.change(o)
				}
			})
			b.reconciler.OnHub = name != "over REST"
			b.service.observed.InfraEnvs[0].ClusterID = "ns/lab"
			b.service.hosts["env"] = []model.Host{{ID: "host", InfraEnvID: "env"}}
			if test.service != nil {
				test.service(b.service)
			}
			if err := b.reconcile(); !errors.Is(err, test.err) {
				t.Errorf("the error is %v", err)
			}
			if !slices.Equal(b.service.deleted, test.deleted) {
				t.Errorf("deleted is %q", b.service.deleted)
			}
			if there := b.get(&bootstrapv1.OpenshiftAssistedConfig{}, "boot"); there != (test.err != nil) {
				t.Errorf("the config is there: %t", there)
			}
		})
	}
}

// TestRunningNodesAreReadyWhateverTheirImage: a hub makes images again, or cannot any more, which does not matter to a
// machine that boots from its disk; a machine that is yet to boot an image waits for it.
func TestRunningNodesAreReadyWhateverTheirImage(t *testing.T) {
	images := map[string]*model.Image{
		"it is created again":  {State: model.ImagePending},
		"it can not be made":   {State: model.ImageFailed, Info: "the pull secret is not valid"},
		"there is no InfraEnv": nil,
	}
	for name, machine := range map[string]struct {
		state model.HostState // "" for no host
		stage string
		node  bool
		runs  bool
	}{
		"it is installed":                    {model.HostInstalled, "Done", true, true},
		"it has joined":                      {model.HostAdded, "", false, true},
		"it has rebooted":                    {model.HostInstalling, "Rebooting", false, true},
		"its record is not what its node is": {model.HostReady, "", true, true},
		"it writes its disk":                 {model.HostInstalling, "Writing image to disk", false, false},
		"it waits in the discovery system":   {model.HostReady, "", false, false},
		"it is yet to boot":                  {"", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				if machine.node {
					o["Machine"].(*clusterv1.Machine).Status.NodeRef = clusterv1.MachineNodeReference{Name: "m"}
				}
			})
			b.service.observed.Cluster.State = model.ClusterInstalling
			if machine.state != "" {
				b.service.observed.Hosts = []model.Host{{
					ID: "host", InfraEnvID: "env", ClusterID: "id", Hostname: "m", State: machine.state, Role: spec.ControlPlane,
					Registered: made, Since: made, Progress: model.HostProgress{Stage: machine.stage},
				}}
			}
			shows := func(kind string, status metav1.ConditionStatus, reason string) {
				t.Helper()
				b.mustReconcile()
				if c := conditions.Get(b.config(), kind); c == nil || c.Status != status || reason != "" && c.Reason != reason {
					t.Errorf("the condition is %+v", c)
				}
			}
			shows(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionTrue, bootstrapv1.InfraEnvReadyCondition)
			shows(clusterv1.ReadyCondition, metav1.ConditionTrue, "")
			env := b.service.observed.InfraEnvs[0]
			for what, image := range images {
				t.Log(what)
				switch env := env; {
				case image != nil:
					env.Image = *image
					b.service.observed.InfraEnvs = []model.InfraEnv{env}
				case machine.node:
					b.service.observed.InfraEnvs = nil
				default:
					continue // it is not known any more which machine had the host
				}
				if machine.runs {
					shows(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionTrue, bootstrapv1.InstalledReason)
					if image != nil {
						shows(clusterv1.ReadyCondition, metav1.ConditionTrue, "")
					}
					continue
				}
				shows(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionFalse, "")
				shows(clusterv1.ReadyCondition, metav1.ConditionFalse, "")
			}
		})
	}
}

// TestProviderIDBeforeRegistration: a machine that its infrastructure knows, and that has not registered, does not
// count as installed, unless it is a node, or the service neither has an InfraEnv for it nor is to make one.
func TestProviderIDBeforeRegistration(t *testing.T) {
	for name, test := range map[string]struct {
		node, moved bool
		want        string
	}{
		"its instance starts":       {false, false, bootstrapv1.HostNotRegisteredReason},
		"it is a node":              {true, false, bootstrapv1.InstalledReason},
		"another service has it in": {false, true, bootstrapv1.InstalledReason},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				m := o["Machine"].(*clusterv1.Machine)
				m.Spec.ProviderID = "aws:///eu-west-1a/i-0"
				if test.node {
					m.Status.NodeRef = clusterv1.MachineNodeReference{Name: "m"}
				}
			})
			if test.moved {
				b.wanted.Spec.Hosts, b.service.observed.InfraEnvs = nil, nil
			}
			b.mustReconcile()
			if c := conditions.Get(b.config(), bootstrapv1.HostValidatedCondition); c == nil || c.Reason != test.want {
				t.Errorf("%s is %+v", bootstrapv1.HostValidatedCondition, c)
			}
			want := bootstrapv1.InstalledReason
			if test.want == bootstrapv1.HostNotRegisteredReason {
				want = bootstrapv1.InfraEnvReadyCondition
			}
			if c := conditions.Get(b.config(), bootstrapv1.InfraEnvReadyCondition); c == nil || c.Status != metav1.ConditionTrue || c.Reason != want {
				t.Errorf("%s is %+v", bootstrapv1.InfraEnvReadyCondition, c)
			}
		})
	}
}

// moved is a clock that stands until it is moved.
type moved struct {
	clock.Clock

	now time.Time
}

func (m *moved) Now() time.Time { return m.now }

// TestAnotherFaultOfAHostIsWrittenSoon: once it has stood for a moment; how far an installation is, only now and then.
func TestAnotherFaultOfAHostIsWrittenSoon(t *testing.T) {
	now := &moved{Clock: clock.Real(), now: made}
	b := start(t)
	b.reconciler.Status = status.New(now)
	host := &model.Host{ID: "h", InfraEnvID: "env", ClusterID: "id", Hostname: "m", Role: spec.ControlPlane, Registered: made, Since: made}
	reconcile := func(later time.Duration, beginning string) {
		t.Helper()
		now.now = now.now.Add(later)
		b.service.observed.Hosts = []model.Host{*host}
		b.mustReconcile()
		if got := conditions.GetMessage(b.config(), bootstrapv1.HostValidatedCondition); !strings.HasPrefix(got, beginning) {
			t.Errorf("after %s more it says %q, not %q", later, got, beginning)
		}
	}
	fails := func(checks ...string) {
		host.State, host.Validations = model.HostBlocked, nil
		for _, check := range checks {
			host.Validations = append(host.Validations, model.Validation{ID: check, Category: "hardware", Status: "failure", Message: "no " + check})
		}
	}
	fails("has-min-memory", "has-min-cpu-cores")
	const both, one = "m: no has-min-cpu-cores: ", "m: no has-min-memory: "
	reconcile(0, both)
	fails("has-min-memory")
	reconcile(time.Second, both)
	reconcile(30*time.Second, one)
	host.State, host.Validations = model.HostInstalling, nil
	b.service.observed.Cluster.State = model.ClusterInstalling
	host.Progress.Stage = "Starting installation"
	reconcile(time.Second, "Installing: Starting installation")
	host.Progress.Stage = "Writing image to disk"
	reconcile(time.Second, "Installing: Starting installation")
	reconcile(10*time.Minute, "Installing: Starting installation")
	reconcile(5*time.Minute, "Installing: Writing image to disk")
}

// TestFirstMinuteOfAHost: a failing validation of a host that has just registered is reported once it has lasted, and
// the config is reconciled again for that.
func TestFirstMinuteOfAHost(t *testing.T) {
	failing := []model.Validation{{ID: "has-min-memory", Category: "hardware", Status: "failure", Message: "too slow"}}
	for name, test := range map[string]struct {
		state  model.HostState
		since  time.Duration // before the look; 0 for not known
		status metav1.ConditionStatus
		reason string
		again  bool
	}{
		"it is registering":             {model.HostDiscovering, 0, metav1.ConditionUnknown, bootstrapv1.ValidationsPendingReason, true},
		"a check fails for a moment":    {model.HostBlocked, 10 * time.Second, metav1.ConditionUnknown, bootstrapv1.ValidationsPendingReason, true},
		"a check fails for two minutes": {model.HostBlocked, 2 * time.Minute, metav1.ConditionFalse, bootstrapv1.ValidationsFailingReason, false},
		"it is ready at once":           {model.HostReady, time.Second, metav1.ConditionTrue, bootstrapv1.ValidationsPassingReason, false},
		"it is installed":               {model.HostInstalled, time.Hour, metav1.ConditionTrue, bootstrapv1.InstalledReason, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			host := model.Host{ID: "h", InfraEnvID: "env", ClusterID: "id", Hostname: "m", State: test.state, Role: spec.ControlPlane, Registered: made}
			if test.since > 0 {
				host.Since = b.service.observed.At.Add(-test.since)
			}
			if test.state == model.HostInstalled {
				b.service.observed.Cluster.State = model.ClusterInstalling
			}
			if test.state == model.HostBlocked {
				host.Validations = failing
			}
			b.service.observed.Hosts = []model.Host{host}
			result, err := b.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "boot"}})
			if err != nil {
				t.Fatal(err)
			}
			c := conditions.Get(b.config(), bootstrapv1.HostValidatedCondition)
			if c == nil || c.Status != test.status || c.Reason != test.reason {
				t.Errorf("it says %+v", c)
			}
			if (result.RequeueAfter > 0) != test.again {
				t.Errorf("it comes back in %s", result.RequeueAfter)
			}
		})
	}
}

// TestMachineWhoseInstallationFails: it is reported, once, on the config and on the Machine, with what to do about it,
// unless the whole cluster failed, or the machine has become a node after all.
func TestMachineWhoseInstallationFails(t *testing.T) {
	const why = "failed after 3 attempts: coreos-installer failed"
	const remedy = "; once that is cured, delete its Machine, and another one takes its place"
	for name, test := range map[string]struct {
		cluster model.ClusterState
		host    model.Host
		node    bool
		reason  string
		message string // "" for any
	}{
		"while the cluster goes on": {model.ClusterInstalling, model.Host{State: model.HostFailed, StatusInfo: why}, false, bootstrapv1.InstallationFailedReason, why + remedy},
		"nothing is said of why": {
			model.ClusterInstalling, model.Host{State: model.HostFailed, Progress: model.HostProgress{Stage: "Writing image to disk"}}, false,
			bootstrapv1.InstallationFailedReason, "Failed: Writing image to disk" + remedy,
		},
		"while it was added":        {model.ClusterAddingHosts, model.Host{State: model.HostFailed, StatusInfo: why, Day2: true}, false, bootstrapv1.InstallationFailedReason, why + remedy},
		"with the whole cluster":    {model.ClusterFailed, model.Host{State: model.HostFailed, StatusInfo: "Host is part of a cluster that failed to install"}, false, bootstrapv1.InstallationFailedReason, "Host is part of a cluster that failed to install"},
		"the whole is cancelled":    {model.ClusterCancelled, model.Host{State: model.HostCancelled, StatusInfo: "Installation was cancelled by user"}, false, bootstrapv1.InstallationFailedReason, "Installation was cancelled by user"},
		"it is a node all the same": {model.ClusterInstalling, model.Host{State: model.HostFailed, StatusInfo: why}, true, "", ""},
		"the service resets it":     {model.ClusterDiscovering, model.Host{State: model.HostResetting}, false, "", ""},
		"it installs":               {model.ClusterInstalling, model.Host{State: model.HostInstalling}, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				if test.node {
					o["Machine"].(*clusterv1.Machine).Status.NodeRef = clusterv1.MachineNodeReference{Name: "m"}
				}
			})
			recorder := events.NewFakeRecorder(10)
			b.reconciler.Recorder = recorder
			b.options = model.Options{AddNodes: true, AcceptControlPlane: true}
			b.service.observed.Cluster.State = test.cluster
			host := test.host
			host.ID, host.InfraEnvID, host.ClusterID, host.Hostname, host.Role = "h", "env", "id", "m", spec.Worker
			host.Registered, host.Since = made, made
			b.service.observed.Hosts = []model.Host{host}
			b.mustReconcile()
			for _, kind := range []string{bootstrapv1.HostValidatedCondition, clusterv1.ReadyCondition} {
				c := conditions.Get(b.config(), kind)
				if c == nil || (c.Status == metav1.ConditionFalse) != (test.reason != "") || test.reason != "" && c.Reason != test.reason || test.message != "" && c.Message != test.message {
					t.Errorf("%s is %+v", kind, c)
				}
			}
			told := 0
			for len(recorder.Events) > 0 {
				if e := <-recorder.Events; strings.Contains(e, test.message) {
					told++
				}
			}
			if want := map[bool]int{true: 2, false: 0}[test.reason != ""]; told != want {
				t.Errorf("it is told %d times", told)
			}
		})
	}
}

// TestMachineThatIsLeftOut: if the cluster is installed without a machine, the reason is reported before and after the
// record of its host is gone, until the machine registers again.
func TestMachineThatIsLeftOut(t *testing.T) {
	b := start(t)
	const other = "other"
	b.wanted.Spec.Hosts[0].Name, b.wanted.Spec.Hosts[0].Hostname, b.wanted.Spec.Hosts[0].Match.InfraEnv = other, other, other
	b.wanted.Spec.Hold = true
	b.options.LeftOut = []spec.Host{{Name: "m", Match: spec.Match{InfraEnv: "boot"}}}
	o := &b.service.observed
	o.Cluster.Settings, o.Cluster.State = clustersettings.OfCluster(b.wanted), model.ClusterBlocked
	plans, err := install.InfraEnvPlans(b.wanted, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.InfraEnvs = append(o.InfraEnvs, model.InfraEnv{ID: other, Name: other, ClusterID: "id", Owned: true, Settings: plans[0].Settings, Image: model.Image{State: model.ImageReady, Created: made}})
	registered := o.At.Add(-5 * time.Minute)
	o.Hosts = []model.Host{
		{
			ID: other, InfraEnvID: other, ClusterID: "id", Hostname: other, State: model.HostReady, Role: spec.ControlPlane, Registered: registered, Since: registered,
			Inventory: model.Inventory{Known: true}, Settings: model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf(other)},
		},
		{
			ID: "h", InfraEnvID: "env", ClusterID: "id", Hostname: "m", State: model.HostBlocked, Registered: registered, Since: registered, Inventory: model.Inventory{Known: true},
			Validations: []model.Validation{{ID: "has-memory-for-role", Category: "hardware", Status: "failure", Message: "it has 4 GiB"}},
		},
	}
	says := func(reason string, texts ...string) {
		t.Helper()
		b.mustReconcile()
		c := conditions.Get(b.config(), bootstrapv1.HostValidatedCondition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason {
			t.Fatalf("the condition is %+v, and not %s; the plan is %+v", c, reason, b.set.Last(clusterloop.Key{Namespace: "ns", Name: "lab"}).Plan)
		}
		for _, text := range texts {
			if !strings.Contains(c.Message, text) {
				t.Errorf("it says %q, and not %q", c.Message, text)
			}
		}
	}
	says(bootstrapv1.ValidationsFailingReason, "it has 4 GiB")
	b.wanted.Spec.Hold = false
	b.wanted = ptr.To(*b.wanted)
	says(bootstrapv1.HostLeftOutReason, "it has 4 GiB", "boot the machine again")
	if len(o.Hosts) != 1 {
		t.Errorf("the hosts are %+v", o.Hosts)
	}
	o.Cluster.State = model.ClusterInstalling
	says(bootstrapv1.HostLeftOutReason, "it has 4 GiB")
	if c := conditions.Get(b.config(), clusterv1.ReadyCondition); c.Reason != bootstrapv1.HostLeftOutReason {
		t.Errorf("Ready is %+v", c)
	}
	b.options.LeftOut, o.Cluster.State = nil, model.ClusterAddingHosts
	b.wanted.Spec.Hosts = append(b.wanted.Spec.Hosts, spec.Host{Name: "m", Role: spec.Worker, Match: spec.Match{InfraEnv: "boot"}})
	says(bootstrapv1.HostLeftOutReason, "it has 4 GiB")
	o.Hosts = append(o.Hosts, model.Host{ID: "h", InfraEnvID: "env", ClusterID: "id", Hostname: "m", Day2: true, State: model.HostReady, Registered: o.At, Since: o.At})
	b.mustReconcile()
	if c := conditions.Get(b.config(), bootstrapv1.HostValidatedCondition); c.Status != metav1.ConditionTrue {
		t.Errorf("it has registered again, and %+v", c)
	}
}

// TestKindsThatAreNotRead: a config says which field of its Machine names a kind that is no infrastructure, or that the manager
// may not list, and what to do. What is wrong with the Machine is not tried again.
func TestKindsThatAreNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		group, says string
		fails       bool
	}{
		"no infrastructure": {group: "bootstrap.cluster.x-k8s.io", says: "spec.infrastructureRef: VendorMachine of the API group bootstrap.cluster.x-k8s.io is not read as infrastructure"},
		"not to be read":    {group: "vendor.example.com", says: "read the VendorMachine x of Machine ", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(o map[string]client.Object) {
				o["Machine"].(*clusterv1.Machine).Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: test.group, Kind: "VendorMachine", Name: "x"}
			})
			if err := b.reconcile(); (err != nil) != test.fails {
				t.Errorf("it ends with %v", err)
			}
			if c := conditions.Get(b.config(), bootstrapv1.DataSecretAvailableCondition); c == nil || !strings.Contains(c.Message, test.says) {
				t.Errorf("it says %+v", c)
			}
		})
	}
}
