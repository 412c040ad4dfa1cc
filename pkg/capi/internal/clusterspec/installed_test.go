package clusterspec

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const openShiftID = "11111111-2222-3333-4444-555555555555"

// moved are the objects of a cluster that was installed elsewhere.
func moved(t *testing.T) []client.Object {
	t.Helper()
	list := objects(t)
	for _, o := range list {
		if plane, is := o.(*controlplanev1.OpenshiftAssistedControlPlane); is {
			plane.Annotations = map[string]string{AnnotationClusterID: "ns/edge", AnnotationOpenShiftID: openShiftID}
		}
	}
	return append(list, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lab-kubeconfig", Namespace: "ns"}, Data: map[string][]byte{"value": []byte("{kind: Config}")}})
}

// TestTakesInWhatProvesItself: a cluster that is recorded as installed, and that the service has no record of, is
// imported if it answers with the recorded id, and nothing of it is ever installed.
func TestTakesInWhatProvesItself(t *testing.T) {
	for name, test := range map[string]struct {
		is  string
		err error
		ask func(error) bool // what is wrong; nil for nothing
	}{
		"it answers": {is: openShiftID},
		"it does not": {err: errors.New("no route to host"), ask: func(err error) bool {
			return errors.Is(err, clusterloop.ErrNotYet) && strings.Contains(err.Error(), "no route")
		}},
		"another one":    {is: "66666666-2222-3333-4444-555555555555", ask: func(err error) bool { _, is := errors.AsType[*clusterloop.Refusal](err); return is }},
		"it has no name": {ask: func(err error) bool { _, is := errors.AsType[*clusterloop.Refusal](err); return is }},
	} {
		t.Run(name, func(t *testing.T) {
			source := sourceOf(t, moved(t))
			source.Identify = func(context.Context, []byte) (string, error) { return test.is, test.err }
			d, err := source.Desire(t.Context(), lab, &model.Observed{})
			if test.ask != nil {
				if err == nil || !test.ask(err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !d.Spec.Imported() || d.Spec.Spec.Import.ClusterID != openShiftID || d.Options.Adopt != "" || !d.Options.AddNodes {
				t.Errorf("desired is %+v with %+v", d.Spec.Spec.Import, d.Options)
			}
		})
	}
}

// TestOneThatDoesNotAnswerIsLeftAlone for a while: all that is done for its Cluster waits for it. Another kubeconfig is
// tried at once, and a question that was interrupted proves nothing.
func TestOneThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, errors.New("no route to host")
		source := sourceOf(t, moved(t))
		source.Identify = func(context.Context, []byte) (string, error) { asked++; return openShiftID, answer }
		look := func(ctx context.Context, times int) {
			t.Helper()
			_, err := source.Desire(ctx, lab, &model.Observed{})
			says := err == nil || errors.Is(err, clusterloop.ErrNotYet) && strings.Contains(err.Error(), "no route to host")
			if (err == nil) != (answer == nil) || !says {
				t.Errorf("got %v", err)
			}
			if asked != times {
				t.Errorf("it was asked %d times, not %d", asked, times)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		look(ended, 1)
		look(t.Context(), 2)
		look(t.Context(), 2)
		time.Sleep(29 * time.Second)
		look(t.Context(), 2)
		time.Sleep(time.Second)
		look(t.Context(), 3)
		another := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "lab-kubeconfig", Namespace: "ns"},
			Data:       map[string][]byte{"value": []byte("{kind: Config, apiVersion: v1}")},
		}
		list := moved(t)
		list[len(list)-1] = another
		other := sourceOf(t, list)
		source.Client, source.Live = other.Client, other.Live
		look(t.Context(), 4)
		answer = nil
		time.Sleep(30 * time.Second)
		look(t.Context(), 5)
		look(t.Context(), 6)
	})
}

// TestOneQuestionIsAsked: an installed cluster proves itself by one request, since a slow cluster is slow at each.
func TestOneQuestionIsAsked(t *testing.T) {
	var asked []string
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"ClusterVersion","apiVersion":"config.openshift.io/v1","metadata":{"name":"version"},
			"spec":{"clusterID":"%s"}}`, openShiftID)
	}))
	defer api.Close()
	source := sourceOf(t, moved(t))
	source.Connector.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	id, err := source.identify(t.Context(), []byte(fmt.Sprintf(
		"{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: '%s', certificate-authority-data: %s}}], "+
			"users: [{name: a, user: {token: x}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}",
		api.URL, base64.StdEncoding.EncodeToString(authority))))
	if err != nil || id != openShiftID || !slices.Equal(asked, []string{"/apis/config.openshift.io/v1/clusterversions/version"}) {
		t.Errorf("it is %q, %v, after %q", id, err, asked)
	}
}

// TestNoFileOfOursIsSent: a kubeconfig that has files of the manager sent, or a program run, reaches nothing.
func TestNoFileOfOursIsSent(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("the manager's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for user, says := range map[string]string{
		"tokenFile: " + file: "it names files of this machine",
		"exec: {command: 'true', apiVersion: client.authentication.k8s.io/v1}": "it has a program run",
	} {
		list := moved(t)
		list[len(list)-1].(*corev1.Secret).Data["value"] = []byte(fmt.Sprintf(
			"{clusters: [{name: a, cluster: {server: '%s'}}], users: [{name: a, user: {%s}}], contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}", api.URL, user))
		source := sourceOf(t, list)
		if data, err := source.Kubeconfig(t.Context(), lab); err == nil || !strings.Contains(err.Error(), "the kubeconfig in Secret lab-kubeconfig cannot be used: "+says) {
			t.Errorf("%s: %s, %v", user, data, err)
		}
		if _, err := source.Desire(t.Context(), lab, &model.Observed{}); !errors.Is(err, clusterloop.ErrNotYet) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: it is not taken in since %v", user, err)
		}
	}
	if asked > 0 {
		t.Errorf("its server was asked %d times", asked)
	}
}

// TestKubeconfigIsReadPastTheCache: a Secret without the label of its Cluster is in no cache.
func TestKubeconfigIsReadPastTheCache(t *testing.T) {
	source := sourceOf(t, moved(t))
	source.Client = sourceOf(t, objects(t)).Client
	observed := &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge"}, State: model.ClusterAddingHosts}}
	d, err := source.Desire(t.Context(), lab, observed)
	if err != nil || d.Spec.Spec.Import.Kubeconfig.Secret().Reveal() != "{kind: Config}" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := source.Kubeconfig(t.Context(), lab); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("it is read as %v", err)
	}
}

// TestAnotherOfItsNameIsRefused: if the record with the recorded id has another OpenShift id, it belongs to another
// cluster: it is only observed, and nothing is changed.
func TestAnotherOfItsNameIsRefused(t *testing.T) {
	record := func(is string) *model.Observed {
		return &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge", Name: "edge"}, State: model.ClusterAddingHosts, OpenShiftID: is}}
	}
	source := sourceOf(t, moved(t))
	if _, err := source.Desire(t.Context(), lab, record("66666666-2222-3333-4444-555555555555")); !clusterloop.IsRefusal(err) || !strings.Contains(err.Error(), "ns/edge is another one") {
		t.Errorf("it says %v", err)
	}
	for _, is := range []string{"", strings.ToUpper(openShiftID)} {
		if _, err := source.Desire(t.Context(), lab, record(is)); err != nil {
			t.Errorf("of %q it says %v", is, err)
		}
	}
}

// TestInstalledIsAsItIs: however many Machines an installed cluster has left, it is no matter of how it was
// installed.
func TestInstalledIsAsItIs(t *testing.T) {
	var two []client.Object
	for _, o := range moved(t) {
		if o.GetName() != "cp-2" && o.GetName() != "cp-2-config" {
			two = append(two, o)
		}
	}
	source := sourceOf(t, two)
	observed := &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge"}, State: model.ClusterAddingHosts}}
	for name, seen := range map[string]*model.Observed{"seen": observed, "not seen yet": nil} {
		d, err := source.Desire(t.Context(), lab, seen)
		if err != nil || !d.Spec.Imported() || d.Options.Adopt != "ns/edge" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestOneMachineIsNotAll: a Machine of an installed cluster is left alone if its host cannot be identified, and the
// others are not.
func TestOneMachineIsNotAll(t *testing.T) {
	list := moved(t)
	for _, o := range list {
		if c, is := o.(*bootstrapv1.OpenshiftAssistedConfig); is && c.Name == "w-0-config" {
			c.Spec.NMStateConfigLabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a"}}
		}
	}
	observed := &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge"}, State: model.ClusterAddingHosts}}
	for name, seen := range map[string]*model.Observed{"seen": observed, "not seen yet": nil} {
		d, err := sourceOf(t, list).Desire(t.Context(), lab, seen)
		if err != nil || d == nil || len(d.Spec.Spec.Hosts) != 4 {
			t.Fatalf("%s: %+v, %v", name, d, err)
		}
		if left := d.Options.LeftAlone; len(left) != 1 || !strings.Contains(left["w-0"], "selects 0 NMStateConfigs") {
			t.Fatalf("%s: left alone are %v", name, left)
		}
		if w := d.Spec.Host("w-0"); w == nil || w.Match.InfraEnv != "w-0-config" || d.Spec.Host("cp-0").Discovery == nil {
			t.Errorf("%s: the hosts are %+v", name, d.Spec.Spec.Hosts)
		}
	}
}

// TestWhatIsNotUnderstoodIsObserved: a cluster that the service has is observed, even if its objects have errors.
func TestWhatIsNotUnderstoodIsObserved(t *testing.T) {
	for name, test := range map[string]struct {
		list []client.Object
		gone string
	}{
		"an installed one": {moved(t), "mirrors"},
		"one on its way":   {claimed(t, "ns/edge"), "mirrors"},
		"one with too few": {claimed(t, "ns/edge"), "cp-1"},
	} {
		t.Run(name, func(t *testing.T) {
			list := slices.DeleteFunc(test.list, func(o client.Object) bool { return o.GetName() == test.gone })
			d, err := sourceOf(t, list).Desire(t.Context(), lab, nil)
			if err == nil || d == nil {
				t.Fatalf("%+v, %v", d, err)
			}
			query := d.Query()
			if query.Adopt != "ns/edge" || query.Name != "edge" || query.BaseDomain != "example.com" || len(query.Alone) < 3 {
				t.Errorf("looked for is %+v", query)
			}
		})
	}
}

// claimed are the objects of a cluster that has an id, and is not installed.
func claimed(t *testing.T, id string) []client.Object {
	t.Helper()
	list := objects(t)
	list[1].SetAnnotations(map[string]string{AnnotationClusterID: id})
	return list
}

// TestControlPlanesThatJoinLater: while a cluster is installed it is no matter how many Machines its control plane is to
// have by now.
func TestControlPlanesThatJoinLater(t *testing.T) {
	list := claimed(t, "ns/edge")
	list[1].(*controlplanev1.OpenshiftAssistedControlPlane).Spec.Replicas = ptr.To[int32](5)
	observed := &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/edge"}, State: model.ClusterInstalling}}
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		observed.InfraEnvs = append(observed.InfraEnvs, model.InfraEnv{ID: "ns/" + name, Name: name + "-config"})
		observed.Hosts = append(observed.Hosts, model.Host{ID: name, InfraEnvID: "ns/" + name, ClusterID: "ns/edge", State: model.HostInstalling})
	}
	source := sourceOf(t, list)
	if d, err := source.Desire(t.Context(), lab, nil); d == nil || !errors.Is(err, clusterloop.ErrNotYet) {
		t.Errorf("before it is looked at: %+v, %v", d, err)
	}
	d, err := source.Desire(t.Context(), lab, observed)
	if err != nil || d.Spec.ControlPlaneCount() != 3 || len(d.Spec.Spec.Hosts) != 3 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestClustersOfOtherNamespacesAreNobodys: an annotation does not give a control plane the cluster of another namespace
// of a hub.
func TestClustersOfOtherNamespacesAreNobodys(t *testing.T) {
	source := sourceOf(t, claimed(t, "other/edge"))
	d, err := source.Desire(t.Context(), lab, nil)
	if _, is := errors.AsType[*clusterloop.Refusal](err); !is || d != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestAnnotationsProveNothingOverREST: requests to a service depend on the key of the Cluster, and not on its
// annotations. The mark of an earlier release is asked for as well, but nothing that may be another owner's.
func TestAnnotationsProveNothingOverREST(t *testing.T) {
	list := claimed(t, "foreign")
	source := sourceOf(t, list)
	source.Hub = false
	if d, err := source.Desire(t.Context(), lab, nil); d != nil || !errors.Is(err, clusterloop.ErrNotYet) {
		t.Errorf("without a key: %+v, %v", d, err)
	}
	cluster := list[0].(*clusterv1.Cluster)
	if err := source.Keys.Make(t.Context(), source.Client.(client.Client), cluster); err != nil {
		t.Fatal(err)
	}
	mark, err := source.Keys.Mark(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	for noted, former := range map[string]string{
		"abcdefghijkl": "abcdefghijkl", "0123456789ab": "", "abcdefabcdef": "", "capi_abcdefghijkl": "", mark: "",
	} {
		list[1].GetAnnotations()[AnnotationRun] = noted
		source := sourceOf(t, list)
		source.Hub = false
		if err := source.Keys.Make(t.Context(), source.Client.(client.Client), cluster); err != nil {
			t.Fatal(err)
		}
		mark, err := source.Keys.Mark(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		d, err := source.Desire(t.Context(), lab, nil)
		if err != nil {
			t.Fatal(err)
		}
		if q := d.Query(); !q.Exact || q.Run != mark || q.FormerRun != former || q.Proves(model.ClusterRef{ID: "foreign", Owned: true, Run: "other"}) {
			t.Errorf("with %s noted, it asks for %+v", noted, q)
		}
	}
}

// TestCopiesAreRefused: of control planes that record one cluster, or one registration, the oldest has it.
func TestCopiesAreRefused(t *testing.T) {
	now := metav1.Now()
	for name, test := range map[string]struct {
		namespace, key, value string
		since                 time.Duration // how much younger the other one is
		rest, refused         bool
	}{
		"another cluster's":           {namespace: "ns", key: AnnotationClusterID, value: "ns/other", since: -time.Hour},
		"older, of its id":            {namespace: "ns", key: AnnotationClusterID, value: "ns/edge", since: -time.Hour, refused: true},
		"younger, of its id":          {namespace: "ns", key: AnnotationClusterID, value: "ns/edge", since: time.Hour},
		"of one second, and UID":      {namespace: "ns", key: AnnotationClusterID, value: "ns/edge", refused: true},
		"older, of its registration":  {namespace: "ns", key: AnnotationRun, value: "mark", since: -time.Hour, refused: true},
		"of another namespace, REST":  {namespace: "other", key: AnnotationRun, value: "mark", since: -time.Hour, rest: true},
		"of another namespace, id":    {namespace: "other", key: AnnotationClusterID, value: "ns/edge", since: -time.Hour, rest: true},
		"of another namespace, a hub": {namespace: "other", key: AnnotationRun, value: "mark", since: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			list := claimed(t, "ns/edge")
			list[1].GetAnnotations()[AnnotationRun] = "mark"
			list[1].SetCreationTimestamp(now)
			list[1].SetUID("b")
			source := sourceOf(t, append(list, &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
				Namespace: test.namespace, Name: "first", UID: "a", Annotations: map[string]string{test.key: test.value}, CreationTimestamp: metav1.NewTime(now.Add(test.since)),
			}}))
			source.Hub = !test.rest
			if test.rest {
				if err := source.Keys.Make(t.Context(), source.Client.(client.Client), list[0].(*clusterv1.Cluster)); err != nil {
					t.Fatal(err)
				}
			}
			d, err := source.Desire(t.Context(), lab, nil)
			if clusterloop.IsRefusal(err) != test.refused || (d == nil) != test.refused {
				t.Errorf("%+v, %v", d, err)
			}
			if test.refused && !strings.Contains(err.Error(), "are copied from control plane "+test.namespace+"/first") {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestUnclaimedClustersAreNotLookedFor: before it is known which cluster of a hub is meant, no cluster of its name is
// observed.
func TestUnclaimedClustersAreNotLookedFor(t *testing.T) {
	list := objects(t)
	list[1].SetAnnotations(nil)
	if d, err := sourceOf(t, list).Desire(t.Context(), lab, nil); d != nil || !errors.Is(err, clusterloop.ErrNotYet) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestNetworkIsSelected: the NMStateConfig that a config selects is the network of its machine.
func TestNetworkIsSelected(t *testing.T) {
	config := func(name, rack string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
			"metadata": map[string]any{"name": name, "namespace": "ns", "labels": map[string]any{"rack": rack}},
			"spec": map[string]any{
				"interfaces": []any{map[string]any{"name": "eth0", "macAddress": "52:54:00:00:00:01"}},
				"config":     map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "type": "ethernet", "state": "up"}}},
			},
		}}
	}
	list := objects(t)
	for _, o := range list {
		if c, is := o.(*bootstrapv1.OpenshiftAssistedConfig); is && c.Name == "w-0-config" {
			c.Spec.NMStateConfigLabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a"}}
		}
	}
	ours := config("ours", "a")
	ours.SetLabels(map[string]string{"rack": "a", "oaictl.io/cluster": "edge"})
	for name, test := range map[string]struct {
		there []client.Object
		says  string
	}{
		"one":       {[]client.Object{config("own", "a"), config("other", "b"), ours}, ""},
		"none":      {[]client.Object{config("other", "b")}, "selects 0 NMStateConfigs"},
		"ambiguous": {[]client.Object{config("own", "a"), config("too", "a")}, "selects 2 NMStateConfigs (own, too)"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := sourceOf(t, append(append([]client.Object{}, list...), test.there...)).Desire(t.Context(), lab, nil)
			if test.says != "" {
				if _, is := errors.AsType[*clusterloop.Refusal](err); !is || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			net := d.Spec.Spec.Hosts[3].Net
			if net == nil || len(net.Interfaces) != 1 || net.Interfaces[0].MAC != "52:54:00:00:00:01" || !strings.Contains(net.NMState.Text(), "ethernet") {
				t.Errorf("its network is %+v", net)
			}
			if d.Spec.Spec.Hosts[0].Net != nil {
				t.Error("another machine has it, too")
			}
		})
	}
}
