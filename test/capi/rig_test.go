//go:build e2e

// Package capi tests the providers of Cluster API on a real management cluster: an API server with the
// real core manager, the operators of a hub and of Metal3 played beside it, and machines that boot
// what they are given.
package capi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/capi"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
	"github.com/oaictl/oaictl/pkg/install"
	plane "github.com/oaictl/oaictl/pkg/install/rest"
)

const (
	// speed is how much faster than life service and machines run.
	speed = 150
	// version is what clusters are installed with, and newer what they are upgraded to.
	version, newer = "4.20.32", "4.20.33"
)

// place is where one test at a time plays: a management cluster, another one that clusters are moved to, and the API
// server of the workload cluster. Each starts when a test first needs it.
type place struct {
	management, other kubetest.SharedManagement
	workload          kubetest.Shared
}

// sideBySide is how many tests run at once. They wait for machines and controllers most of the time.
const sideBySide = 2

// places are those that no test plays at.
var places = make(chan *place, sideBySide)

// take is a place for one test, until the test's end.
func take(t testing.TB) *place {
	t.Helper()
	p := <-places
	t.Cleanup(func() { places <- p })
	return p
}

// run runs tests, and stops what they have started at the place.
func (p *place) run(tests kubetest.Runner) int {
	return p.management.Run(kubetest.Runner(func() int {
		return p.other.Run(kubetest.Runner(func() int { return p.workload.Run(tests) }))
	}))
}

func TestMain(m *testing.M) {
	if how := os.Getenv(environmentApart); how != "" {
		if err := runApart(how); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	tests := kubetest.Runner(m.Run)
	for range sideBySide {
		p, others := &place{}, tests
		places <- p
		tests = func() int { return p.run(others) }
	}
	os.Exit(tests())
}

// rig is a namespace of a management cluster with all that plays there.
type rig struct {
	*kubetest.Management
	t         testing.TB
	place     *place
	namespace string
	hosts     string // the namespace of the BareMetalHosts, and of Agents of a pool, if it differs
	clock     clock.Clock
	client    client.Client
	installed client.Client // of the installed cluster, once it was asked for
	site      *management.Site
	webhooks  *kubetest.Webhooks
	overREST  bool               // the providers reach the service itself, and no hub
	media     string             // host and port where the providers hand on discovery images; "" for nowhere
	scenario  *scenario.Scenario // the trouble that is made; nil for none
	writes    *writes
	accounts  map[capi.Provider]identity // the users that the providers run as
	stop      func()                     // ends them
}

// newRig starts a site with so many BareMetalHosts and the providers.
func newRig(t testing.TB, hosts int, with ...func(*rig)) *rig {
	t.Helper()
	r := &rig{t: t, place: take(t), clock: clock.Scaled(speed), writes: &writes{count: map[string]int{}}}
	for _, option := range with {
		option(r)
	}
	if r.Management == nil {
		r.Management = r.place.management.Start(t)
	}
	r.namespace = r.Namespace(t)
	r.connect()
	t.Cleanup(r.clear)
	r.play(management.Config{Seed: 1, Scenario: r.scenario, Servers: []*rest.Config{r.place.workload.Start(t).Config}})
	must.Do(t, management.MakeHosts(t.Context(), r.Config, cmp.Or(r.hosts, r.namespace), "rack", hosts))
	return r
}

// in is the rig with another namespace.
func (r *rig) in(namespace string) *rig {
	other := *r
	other.namespace = namespace
	return &other
}

// clear removes what a workload cluster has left on its API server, once the cluster is no longer played.
func (r *rig) clear() {
	if r.site == nil {
		return // nothing was begun
	}
	lab := r.site.Workload("lab")
	if lab == nil || lab.Played() == nil {
		return // it was taken away
	}
	check.Do(r.t, lab.Played().Clear(context.WithoutCancel(r.t.Context())), "clear the API server of the workload cluster")
}

// beside is the other management cluster, for the same machines, with a namespace of the same name.
func (r *rig) beside() *rig {
	r.t.Helper()
	other := &rig{
		Management: r.place.other.Start(r.t), t: r.t, place: r.place, namespace: r.namespace, clock: r.clock, overREST: r.overREST,
		writes: &writes{count: map[string]int{}},
	}
	other.connect()
	other.make(&corev1.Namespace{ObjectMeta: named("", r.namespace)})
	other.offer(version)
	other.play(management.Config{Beside: r.site})
	return other
}

// connect makes a client, and installs the kinds and webhooks of the providers.
func (r *rig) connect() {
	r.t.Helper()
	r.dial()
	r.webhooks = must.Get(r.NewWebhooks(r.t.Context()))(r.t)
	manifests := filepath.Join("..", "..", "pkg", "capi", "manifests")
	must.Do(r.t, r.Install(r.t.Context(), r.webhooks, filepath.Join(manifests, "crd"), filepath.Join(manifests, "webhook")))
}

// dial makes a client.
func (r *rig) dial() {
	r.t.Helper()
	scheme := must.Get(capi.Scheme())(r.t)
	unlimited := rest.CopyConfig(r.Config)
	unlimited.QPS = -1
	r.client = must.Get(client.New(unlimited, client.Options{Scheme: scheme}))(r.t)
}

// play starts everything that lives beside the API server, and the providers, until the test's end.
func (r *rig) play(config management.Config) {
	r.t.Helper()
	config.Logf = r.t.Logf
	r.site = r.surround(config)
	r.start()
	r.t.Cleanup(func() { r.stop() })
}

// surround starts everything that lives beside the API server, until the test's end.
func (r *rig) surround(config management.Config) *management.Site {
	r.t.Helper()
	config.Kube, config.Namespace, config.Clock = r.Config, r.namespace, r.clock
	if r.hosts != "" {
		config.Namespace = "" // both
	}
	ctx, stop := context.WithCancel(r.t.Context())
	site, err := management.Start(ctx, config)
	if err != nil {
		stop()
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		stop()
		check.Do(r.t, site.Close(), "the site")
	})
	return site
}

// service is the service itself.
func (r *rig) service() install.Backend {
	r.t.Helper()
	return must.Get(plane.New(plane.Config{URL: r.site.ServiceURL(), Clock: r.clock}))(r.t)
}

// log takes a line of the providers' log, except lines that say that something starts.
func (r *rig) log(prefix, args string) {
	if !strings.Contains(args, "Starting") {
		r.t.Logf("providers: %s %s", prefix, args)
	}
}

// apply makes the objects of a text in the rig's namespace.
func (r *rig) apply(text string) {
	r.t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			r.t.Fatalf("%v in:\n%s", err, document)
		}
		if u.Object == nil {
			continue
		}
		u.SetNamespace(r.namespace)
		r.make(u)
	}
}

func (r *rig) make(o client.Object) {
	r.t.Helper()
	if err := r.client.Create(r.t.Context(), o); err != nil {
		r.t.Fatalf("make %s %s: %v", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
	}
}

const pullSecret = `{apiVersion: v1, kind: Secret, metadata: {name: pull-secret, labels: {clusterctl.cluster.x-k8s.io/move: ""}}, type: kubernetes.io/dockerconfigjson,
  stringData: {.dockerconfigjson: '{"auths":{"quay.io":{"auth":"dTpw"}}}'}}`

// order makes the Cluster "lab" by a template of the release, as it comes out of clusterctl generate.
func (r *rig) order(flavour string, workers int) {
	r.t.Helper()
	r.orderAs(flavour, workers, nil)
}

// orderAs does so with other values for some variables of the template.
func (r *rig) orderAs(flavour string, workers int, others map[string]string) {
	r.t.Helper()
	r.prepare()
	r.apply(r.generate(flavour, workers, others))
}

// prepare makes what a template of the release needs beforehand.
func (r *rig) prepare() {
	r.t.Helper()
	if !r.get("pull-secret", &corev1.Secret{}) {
		r.apply(pullSecret)
	}
	r.offer(version)
}

// generate is what comes out of clusterctl generate for the Cluster "lab".
func (r *rig) generate(flavour string, workers int, others map[string]string) string {
	r.t.Helper()
	values := map[string]string{
		"CLUSTER_NAME": "lab", "NAMESPACE": r.namespace, "CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": fmt.Sprint(workers),
		"OPENSHIFT_VERSION": version, "OPENSHIFT_BASE_DOMAIN": "example.com",
		"OPENSHIFT_API_VIP": "192.168.127.100", "OPENSHIFT_INGRESS_VIP": "192.168.127.101",
		"OPENSHIFT_IMAGE_URL": "http://images.example.com/rhcos.qcow2", "OPENSHIFT_IMAGE_CHECKSUM": "http://images.example.com/rhcos.qcow2.sha256",
	}
	maps.Copy(values, others)
	return r.expand("cluster-template-"+flavour+".yaml", values)
}

// expand is a file of the release with values for some of its variables.
func (r *rig) expand(name string, values map[string]string) string {
	r.t.Helper()
	return string(components.Expand(r.file(name), func(name string) (string, bool) {
		value, given := values[name]
		return value, given
	}))
}

// file is a file of the release.
func (r *rig) file(name string) []byte {
	r.t.Helper()
	files := must.Get(components.Files(components.Options{Namespaced: r.hosts != ""}))(r.t)
	at := slices.IndexFunc(files, func(f components.File) bool { return f.Name == name })
	if at < 0 {
		r.t.Fatalf("there is no file %s", name)
	}
	return files[at].Content
}

// plane is the control plane of the Cluster "lab"; one without a name where there is none.
func (r *rig) plane() *controlplanev1.OpenshiftAssistedControlPlane {
	r.t.Helper()
	plane, cluster := &controlplanev1.OpenshiftAssistedControlPlane{}, &clusterv1.Cluster{}
	if r.get("lab", cluster) && cluster.Spec.ControlPlaneRef.Name != "" {
		r.get(cluster.Spec.ControlPlaneRef.Name, plane)
	}
	return plane
}

// offer has the hub know a release.
func (r *rig) offer(version string) {
	r.t.Helper()
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hive.openshift.io/v1", "kind": "ClusterImageSet", "metadata": map[string]any{"name": "img" + version},
		"spec": map[string]any{"releaseImage": "quay.io/openshift-release-dev/ocp-release:" + version + "-x86_64"},
	}}
	if err := r.client.Create(r.t.Context(), set); client.IgnoreAlreadyExists(err) != nil {
		r.t.Fatal(err)
	}
}

// until waits for something to be so, and says at the end what it still is.
func (r *rig) until(what string, within time.Duration, ask func() (bool, string)) {
	r.t.Helper()
	last, began := "", time.Now()
	for deadline := began.Add(within); time.Now().Before(deadline) && r.clock.Sleep(r.t.Context(), 30*time.Second) == nil; {
		done, now := ask()
		if done {
			r.t.Logf("after %s: %s", time.Since(began).Round(time.Second), what)
			return
		}
		if now != last {
			r.t.Logf("until %s: %s", what, now)
			last = now
		}
	}
	r.t.Fatalf("not so within %s: %s; last: %s\n%s", within, what, last, r.describe())
}

// describe is what clusterctl says of the Cluster.
func (r *rig) describe() string {
	out, err := r.clusterctl("describe", "cluster", "lab", "-n", r.namespace, "--show-conditions", "all", "--show-machinesets", "--grouping=false", "--kubeconfig", r.Kubeconfig(r.t))
	if err != nil {
		return err.Error() + "\n" + out
	}
	return out
}

func (r *rig) clusterctl(args ...string) (string, error) {
	command := exec.CommandContext(r.t.Context(), r.Clusterctl(), args...)
	command.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+r.t.TempDir(), "GOPROXY=off")
	out, err := command.CombinedOutput()
	return string(out), err
}

func (r *rig) get(name string, o client.Object) bool {
	r.t.Helper()
	err := r.client.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	return err == nil
}

// untilAvailable waits until the Cluster is Available.
func (r *rig) untilAvailable(within time.Duration) {
	r.t.Helper()
	r.until("the Cluster is Available", within, func() (bool, string) {
		plane, cluster := r.plane(), &clusterv1.Cluster{}
		if !r.get("lab", cluster) {
			return false, "it is not there"
		}
		return conditions.IsTrue(cluster, clusterv1.ClusterAvailableCondition),
			fmt.Sprintf("%s; %s; %s", plane.Status.Installation.State, conditions.GetMessage(plane, clusterv1.AvailableCondition), conditions.GetMessage(cluster, clusterv1.ClusterAvailableCondition))
	})
}
