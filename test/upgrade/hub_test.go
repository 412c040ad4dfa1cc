//go:build e2e

package upgrade

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// server is the API server of all tests of this package.
var server kubetest.Shared

// hubCase is a folder of testdata whose cluster was installed on a hub, too.
type hubCase struct {
	testCase
	hive bool // Hive's operator runs on the hub
}

func hubCases() []hubCase {
	return []hubCase{
		{testCase{name: "static-network"}, true}, {testCase{name: "hub-settings"}, false}, {testCase{name: "late-worker", late: "worker-1"}, false},
	}
}

// hubState is a hub in a state in which an install was left. No operator runs: what the
// operators have written is part of the objects.
type hubState struct {
	Name     string `json:"name"`
	AddNodes bool   `json:"addNodes,omitempty"`
	// Time is when the objects were read. Their times are moved as far as it is ago.
	Time    time.Time                   `json:"time"`
	Objects []unstructured.Unstructured `json:"objects"`
	// Then are the writes that the earlier build sent from there before it waited.
	Then []string `json:"then"`
}

// TestResumeOnHub goes on from every state that an earlier build left on a hub: with the
// writes that the earlier build would have sent, and none beside.
func TestResumeOnHub(t *testing.T) {
	for _, c := range hubCases() {
		if *update {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.recordHub(t)
			})
			continue
		}
		var states []hubState
		c.readHub(t, &states)
		for _, left := range states {
			t.Run(c.name+" "+left.Name, func(t *testing.T) {
				t.Parallel()
				c.resumeOnHub(t, left)
			})
		}
	}
}

func (c hubCase) resumeOnHub(t *testing.T, left hubState) {
	h := restore(t, left)
	dir := ""
	if left.installed() {
		dir = t.TempDir()
		c.leaveHubResults(t, h, dir)
	}
	written, a := h.detach(t, c, dir, left.AddNodes)
	if a.err != nil {
		t.Fatalf("%v\n%s", a.err, fixture.Story(a.events))
	}
	if diff := cmp.Diff(changedSince(left.Then), written); diff != "" {
		t.Errorf("writes (-earlier build +present build):\n%s\n%s", diff, fixture.Story(a.events))
	}
	if left.installed() && rewritten(t, dir) {
		t.Errorf("the results are written anew: %v", filesIn(t, dir))
	}
}

// changedSince are writes of the earlier build with what the present one adds: that nodes keep running when their
// ClusterDeployment is deleted.
func changedSince(writes []string) []string {
	const preserve, next = `"preserveOnDelete":true,`, `"pullSecretRef":`
	out := slices.Clone(writes)
	for i, write := range out {
		if strings.Contains(write, "/clusterdeployments/") && !strings.Contains(write, preserve) {
			out[i] = strings.Replace(write, next, preserve+next, 1)
		}
	}
	return out
}

// readHub reads testdata/CASE/hub.json.gz.
func (c hubCase) readHub(t *testing.T, states *[]hubState) {
	t.Helper()
	file, err := os.Open(c.path("hub.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(unzipped).Decode(states); err != nil {
		t.Fatalf("%s: %v", file.Name(), err)
	}
}

func (left hubState) installed() bool { return left.Name == "installed" || left.AddNodes }

// apiServer is a namespace of an API server.
type apiServer struct {
	config    *kube.Config
	client    dynamic.Interface
	namespace string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	cluster := server.Start(t)
	client, err := dynamic.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	fixture.OfferReleases(t, client)
	return &apiServer{config: cluster.Config, client: client, namespace: cluster.Namespace(t)}
}

// kinds are those of a cluster's objects, owners before what they own.
func kinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		hubapi.Resource(hubapi.KindClusterDeployment), hubapi.Resource(hubapi.KindAgentClusterInstall),
		hubapi.Resource(hubapi.KindInfraEnv), hubapi.Resource(hubapi.KindNMStateConfig),
		hubapi.Resource(hubapi.KindAgent), hubapi.Resource(hubapi.KindSecret),
		hubapi.Resource(hubapi.KindConfigMap),
	}
}

// namespacePlaceholder is in the place of the namespace in testdata.
const namespacePlaceholder = "{namespace}"

// restore makes the objects of a state in a namespace of its own. Each field belongs to the field manager that it
// belonged to, so that applying it again is no conflict, and no write.
func restore(t *testing.T, left hubState) *apiServer {
	t.Helper()
	h := newAPIServer(t)
	age := time.Since(left.Time).Truncate(time.Second)
	uids := map[string]string{}
	for i := range left.Objects {
		text, err := left.Objects[i].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		moved := moveTimes(strings.ReplaceAll(string(text), namespacePlaceholder, h.namespace), age)
		for before, now := range uids {
			moved = strings.ReplaceAll(moved, before, now)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(moved)); err != nil {
			t.Fatal(err)
		}
		uids[string(left.Objects[i].GetUID())] = h.make(t, object)
	}
	return h
}

// moveTimes adds to the times in a text, which are RFC 3339 without parts of a second.
func moveTimes(text string, by time.Duration) string {
	return regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllStringFunc(text, func(match string) string {
		at, err := time.Parse(time.RFC3339, match)
		if err != nil {
			return match
		}
		return at.Add(by).Format(time.RFC3339)
	})
}

// make makes one object with its status and the owners of its fields, and gives its uid.
func (h *apiServer) make(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	kind := kinds()[slices.IndexFunc(kinds(), func(k schema.GroupVersionResource) bool { return k.Resource == resourceOf(object) })]
	client := h.client.Resource(kind).Namespace(h.namespace)
	bare := object.DeepCopy()
	bare.SetUID("")
	bare.SetManagedFields(nil)
	made, err := client.Create(t.Context(), bare, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("restore %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if status, there := object.Object["status"]; there {
		made.Object["status"] = status
		if made, err = client.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("restore the status of %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	made.SetManagedFields(object.GetManagedFields())
	if made, err = client.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("restore the owners of the fields of %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if diff := cmp.Diff(owners(object), owners(made)); diff != "" {
		t.Fatalf("the fields of %s %s belong to others now: %s", object.GetKind(), object.GetName(), diff)
	}
	return string(made.GetUID())
}

// owners are the field managers of the fields of an object, without times.
func owners(object *unstructured.Unstructured) map[string]string {
	fields := map[string]string{}
	for _, entry := range object.GetManagedFields() {
		fields[fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource)] = entry.FieldsV1.GetRawString()
	}
	return fields
}

// resourceOf is the resource of an object's kind, which is its plural for all kinds here.
func resourceOf(object *unstructured.Unstructured) string {
	return strings.ToLower(object.GetKind()) + "s"
}

// errUnreachable is what the service answers: it is not there, only its objects are.
var errUnreachable = errors.New("there is no service")

type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnreachable }

// detach lets a new process do what needs no waiting, and gives its writes. Without a
// folder it saves no results: it would wait for what the service has not written yet.
func (h *apiServer) detach(t *testing.T, c hubCase, dir string, addNodes bool) ([]string, *attempt) {
	t.Helper()
	config := kube.CopyConfig(h.config)
	var wrote writes
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		wrote.next = next
		return &wrote
	})
	plane, err := hub.New(hub.Config{Kube: config, Namespace: h.namespace, HTTPClient: &http.Client{Transport: nobody{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	a := &attempt{}
	hear := func(e model.Event) { a.events = append(a.events, e) }
	desired := &model.Desired{Spec: c.load(t), Options: model.Options{AddNodes: addNodes, Run: "run-1"}}
	options := []install.Config{{Clock: clock.Real(), Events: hear}}
	if dir != "" {
		options = append(options, install.Config{Files: install.Directory(dir)})
	}
	a.result, a.err = install.New(plane, options...).Detach(t.Context(), desired)
	written := []string{}
	for _, text := range wrote.all {
		written = append(written, strings.ReplaceAll(text, h.namespace, namespacePlaceholder))
	}
	slices.Sort(written)
	return written, a
}

// writes are those to an API server: by which user, and what.
type writes struct {
	next http.RoundTripper
	mu   sync.Mutex
	all  []string
}

func (w *writes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		text := r.Method + " " + r.URL.RequestURI()
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			var content any
			if err := json.NewDecoder(body).Decode(&content); err != nil {
				return nil, err
			}
			sorted, err := json.Marshal(content)
			if err != nil {
				return nil, err
			}
			text += " " + string(sorted)
		}
		w.mu.Lock()
		w.all = append(w.all, text)
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

// leaveHubResults writes the results of the earlier build into a folder.
func (c hubCase) leaveHubResults(t *testing.T, h *apiServer, dir string) {
	t.Helper()
	files := filesIn(t, c.path("hub-results"))
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, namespacePlaceholder, h.namespace)
	}
	writeOld(t, dir, files)
}
