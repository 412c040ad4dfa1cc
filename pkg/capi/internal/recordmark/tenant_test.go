package recordmark_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/simulator"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// shared is one service with the clusters of all namespaces, and the providers of one management cluster.
type shared struct {
	t      *testing.T
	plane  *rest.Plane
	client client.Client
	keys   *recordmark.Keys
	set    *clusterloop.Set
}

func newShared(t *testing.T) *shared {
	t.Helper()
	fast := clock.Scaled(300)
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	plane, err := rest.New(rest.Config{URL: service.URL(), Clock: fast})
	if err != nil {
		t.Fatal(err)
	}
	x := &shared{t: t, plane: plane}
	x.manage()
	return x
}

// manage has another management cluster, without objects.
func (x *shared) manage() {
	x.t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(kubescheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme)); err != nil {
		x.t.Fatal(err)
	}
	x.client = fake.NewClientBuilder().WithScheme(scheme).Build()
	x.restart()
}

// restart has the providers of the management cluster begin anew.
func (x *shared) restart() {
	x.keys = &recordmark.Keys{Cached: x.client, Live: x.client}
	source := &clusterspec.Source{Client: x.client, Live: x.client, Keys: x.keys}
	x.set = clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return x.plane, nil }, Clock: clock.Real(), Desire: source.Desire, Mark: source.Mark,
	})
}

func (x *shared) create(objects ...client.Object) {
	x.t.Helper()
	for _, o := range objects {
		if err := x.client.Create(x.t.Context(), o); err != nil {
			x.t.Fatal(err)
		}
	}
}

// add makes the Cluster lab, of one domain for all, in a namespace.
func (x *shared) add(namespace string, change ...func(*controlplanev1.OpenshiftAssistedControlPlane)) *clusterv1.Cluster {
	x.t.Helper()
	cluster := clusterOf(namespace, "lab", namespace)
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.Group, Kind: "OpenshiftAssistedControlPlane", Name: "lab"}
	plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "lab", UID: types.UID(namespace + "-plane"), CreationTimestamp: metav1.Unix(2e9, 0), Annotations: map[string]string{},
	}}
	plane.Spec.DistributionVersion = "4.20.3"
	plane.Spec.Config.BaseDomain, plane.Spec.Config.APIVIPs, plane.Spec.Config.IngressVIPs = "example.com", []string{"192.168.127.100"}, []string{"192.168.127.101"}
	for _, c := range change {
		c(plane)
	}
	x.create(cluster, plane)
	for i := range 3 {
		name := fmt.Sprintf("cp-%d", i)
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
			clusterv1.ClusterNameLabel: "lab", clusterv1.MachineControlPlaneLabel: "",
		}}}
		machine.Spec.ClusterName = "lab"
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.Group, Kind: bootstrapv1.ConfigKind, Name: name}
		x.create(machine, &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	return cluster
}

// act does for the Cluster of a namespace what its controllers do, and is the id of its record, "" where it has none.
func (x *shared) act(namespace string) (id string, view *clusterloop.View) {
	x.t.Helper()
	key := clusterloop.Key{Namespace: namespace, Name: "lab"}
	cluster := &clusterv1.Cluster{}
	if err := x.client.Get(x.t.Context(), key, cluster); err != nil {
		x.t.Fatal(err)
	}
	if err := x.keys.Make(x.t.Context(), x.client, cluster); err != nil {
		x.t.Fatal(err)
	}
	scopes := []model.Scope{model.ScopeCluster}
	for i := range 3 {
		scopes = append(scopes, model.ScopeInfraEnv.Of(fmt.Sprintf("cp-%d", i)))
	}
	view, _, err := x.set.Act(x.t.Context(), key, scopes...)
	if err != nil {
		x.t.Fatal(err)
	}
	if view.Observed.Cluster == nil {
		return "", view
	}
	return view.Observed.Cluster.ID, view
}

// records are those of the service, by their ids, each with what makes it its owner's.
func (x *shared) records() map[string]string {
	x.t.Helper()
	all, err := x.plane.ListClusters(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	of := map[string]string{}
	for i := range all {
		envs, err := x.plane.ListInfraEnvs(x.t.Context(), all[i].ID)
		if err != nil {
			x.t.Fatal(err)
		}
		all[i].Status = "" // which changes by itself
		text, err := json.Marshal([]any{all[i].ClusterRef, all[i].Settings, len(envs)})
		if err != nil {
			x.t.Fatal(err)
		}
		of[all[i].ID] = string(text)
	}
	return of
}

// person registers a cluster of the same name by the command line, and is its id and the mark of the run.
func (x *shared) person() (id, run string) {
	x.t.Helper()
	const mark = "0123456789ab"
	x.add("person")
	_, view := x.act("person")
	of := &model.Desired{Spec: view.Desired.Spec, Options: model.Options{Run: mark}}
	before := x.records()
	action := model.Action{Key: "cluster/register", Scope: model.ScopeCluster, Kind: model.RegisterCluster, Name: "lab", Settings: clustersettings.OfCluster(view.Desired.Spec)}
	if err := x.plane.Act(x.t.Context(), of, action); err != nil {
		x.t.Fatal(err)
	}
	for id := range x.records() {
		if _, there := before[id]; !there {
			return id, mark
		}
	}
	x.t.Fatal("nothing was registered")
	return "", ""
}

// TestTenants: a user who may write all kinds in one namespace gets access to no cluster of another namespace, and to
// none of the command line: such a cluster is neither read nor changed, and its owner still has it.
func TestTenants(t *testing.T) {
	x := newShared(t)
	byHand, run := x.person()
	x.add("owner")
	owned, _ := x.act("owner")
	if owned == "" {
		t.Fatal("the owner has no cluster")
	}
	ownersKey := &corev1.Secret{}
	if err := x.client.Get(t.Context(), client.ObjectKey{Namespace: "owner", Name: "lab-oaictl-key"}, ownersKey); err != nil {
		t.Fatal(err)
	}
	mark := markOf(t, x.keys, clusterOf("owner", "lab", "owner"))
	foreign := maps.Clone(x.records())
	annotated := func(key, value string) func(*controlplanev1.OpenshiftAssistedControlPlane) {
		return func(p *controlplanev1.OpenshiftAssistedControlPlane) {
			p.Annotations[key] = value
			p.CreationTimestamp = metav1.Unix(1, 0) // it is older than the owner's
		}
	}
	attempts := map[string]struct {
		change   func(*controlplanev1.OpenshiftAssistedControlPlane)
		key      bool // the owner's key was copied
		unproven bool
	}{
		"the same names":               {},
		"the id of the owner's":        {change: annotated(clusterspec.AnnotationClusterID, owned), unproven: true},
		"the id of a person's":         {change: annotated(clusterspec.AnnotationClusterID, byHand), unproven: true},
		"the mark of the owner's":      {change: annotated(clusterspec.AnnotationRun, mark)},
		"the mark of the command line": {change: annotated(clusterspec.AnnotationRun, run)},
		"the key of the owner's":       {key: true},
		"the key and the id":           {change: annotated(clusterspec.AnnotationClusterID, owned), key: true, unproven: true},
		"the name of its mark only":    {change: annotated(clusterspec.AnnotationRun, "capi_")},
	}
	for i, name := range slices.Sorted(maps.Keys(attempts)) {
		t.Run(name, func(t *testing.T) {
			x.t = t
			test, namespace := attempts[name], fmt.Sprintf("tenant-%d", i)
			var changes []func(*controlplanev1.OpenshiftAssistedControlPlane)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			x.add(namespace, changes...)
			if test.key {
				x.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "lab-oaictl-key"}, Data: ownersKey.Data})
			}
			id, view := x.act(namespace)
			if _, is := foreign[id]; is || (id == "") != test.unproven || view.Observed.Unproven != test.unproven {
				t.Errorf("the tenant has the cluster %q; unproven: %t", id, view.Observed.Unproven)
			}
			for _, env := range view.Observed.InfraEnvs {
				if env.ClusterID != id {
					t.Errorf("the tenant sees the InfraEnv %s of %s", env.Name, env.ClusterID)
				}
			}
			now := x.records()
			for of, before := range foreign {
				if now[of] != before {
					t.Errorf("the cluster %s was %s and is %s", of, before, now[of])
				}
			}
			_ = clock.Real().Sleep(t.Context(), 1100*time.Millisecond) // a view counts as current for a second
			if still, _ := x.act("owner"); still != owned {
				t.Errorf("the owner has %q", still)
			}
		})
	}
}

// TestMovedAndLost: a Cluster that is moved with its key has its record in another management cluster. Without the key it
// has none, and registers none: it says what the record lacks. With the key again all is as before.
func TestMovedAndLost(t *testing.T) {
	x := newShared(t)
	x.add("owner")
	owned, _ := x.act("owner")
	key := &corev1.Secret{}
	if err := x.client.Get(t.Context(), client.ObjectKey{Namespace: "owner", Name: "lab-oaictl-key"}, key); err != nil {
		t.Fatal(err)
	}
	noted := func(p *controlplanev1.OpenshiftAssistedControlPlane) {
		p.Annotations[clusterspec.AnnotationClusterID] = owned
	}
	before := x.records()
	is := func(what, want string, unproven bool) {
		t.Helper()
		id, view := x.act("owner")
		if id != want || view.Observed.Unproven != unproven {
			t.Errorf("%s: it has %q; unproven: %t", what, id, view.Observed.Unproven)
		}
		if now := x.records(); !maps.Equal(now, before) {
			t.Errorf("%s: the records were %v and are %v", what, before, now)
		}
	}
	copied := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "owner", Name: key.Name, Labels: key.Labels}, Data: key.Data}
	}
	x.manage()
	x.create(copied())
	x.add("owner", noted)
	is("moved with its key", owned, false)
	if err := x.client.Delete(t.Context(), copied()); err != nil {
		t.Fatal(err)
	}
	x.restart()
	is("without its key", "", true)
	if err := x.client.Delete(t.Context(), copied()); err != nil {
		t.Fatal(err)
	}
	x.create(copied())
	x.restart()
	is("with its key again", owned, false)
}

// TestFormerMark: the record of a cluster that an earlier release registered is known by the mark in the annotation,
// keeps the tags of its users, and gets the mark of the Cluster. From then on the annotation does not make the record
// belong to a control plane.
func TestFormerMark(t *testing.T) {
	const former = "abcdefghijkl"
	x := newShared(t)
	noted := func(p *controlplanev1.OpenshiftAssistedControlPlane) {
		p.Annotations[clusterspec.AnnotationRun] = former
		p.Spec.Config.Tags = []string{"blue", "rack 7"}
	}
	x.add("template", noted)
	_, view := x.act("template")
	of := &model.Desired{Spec: view.Desired.Spec, Options: model.Options{Run: former}}
	action := model.Action{Key: "cluster/register", Scope: model.ScopeCluster, Kind: model.RegisterCluster, Name: "lab", Settings: clustersettings.OfCluster(view.Desired.Spec)}
	if err := x.plane.Act(t.Context(), of, action); err != nil {
		t.Fatal(err)
	}
	runs := func() map[string]string {
		all, err := x.plane.ListClusters(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]string{}
		for i := range all {
			of[all[i].Run] = all[i].ID
		}
		return of
	}
	id := runs()[former]
	x.add("owner", noted)
	if got, _ := x.act("owner"); got != id || id == "" {
		t.Errorf("it has %q, and registered was %q", got, id)
	}
	mark := markOf(t, x.keys, clusterOf("owner", "lab", "owner"))
	if now := runs(); now[mark] != id || now[former] != "" {
		t.Errorf("the marks are %v", now)
	}
	_, now := x.act("owner")
	if tags := string(now.Observed.Cluster.Settings["metadata.tags"]); tags != `["blue","rack 7"]` {
		t.Errorf("the tags are %s", tags)
	}
	x.add("tenant", noted)
	if got, _ := x.act("tenant"); got == id || got == "" {
		t.Errorf("a tenant with the old mark has %q", got)
	}
}
