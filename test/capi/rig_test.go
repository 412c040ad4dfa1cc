// Package capi tests the providers of Cluster API on a real management cluster: an API server with the
// real core manager, the operators of a hub and of Metal3 played beside it, and machines that boot
// what they are given.
package capi

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/pkg/capi"
)

// speed is how much faster than life service and machines run.
const speed = 100

// managementCluster is the management cluster of all tests that do not need one of their own.
var managementCluster kubetest.SharedManagement

func TestMain(m *testing.M) { os.Exit(managementCluster.Run(m)) }

// rig is a namespace of a management cluster with all that plays there.
type rig struct {
	*kubetest.Management
	t         *testing.T
	namespace string
	clock     clock.Clock
	client    client.Client
	site      *management.Site
	workload  *kubetest.Cluster
}

// newRig starts a site with so many BareMetalHosts and an API server for a workload cluster, and the
// providers.
func newRig(t *testing.T, hosts int) *rig {
	t.Helper()
	m := managementCluster.Start(t)
	r := &rig{Management: m, t: t, namespace: m.Namespace(t), clock: clock.Scaled(speed), workload: kubetest.Start(t)}
	scheme, err := capi.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if r.client, err = client.New(m.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	w, err := r.NewWebhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Install(t.Context(), w, filepath.Join("..", "..", "pkg", "capi", "manifests", "crd")); err != nil {
		t.Fatal(err)
	}
	r.play()
	if err := management.MakeHosts(t.Context(), m.Config, r.namespace, "rack", hosts); err != nil {
		t.Fatal(err)
	}
	return r
}

// play starts everything that lives beside the API server, until the test's end.
func (r *rig) play() {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	var err error
	if r.site, err = management.Start(ctx, management.Config{
		Kube: r.Config, Namespace: r.namespace, Clock: r.clock, Seed: 1, Servers: []*rest.Config{r.workload.Config}, Logf: r.t.Logf,
	}); err != nil {
		stop()
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- capi.Run(ctx, r.Config, capi.Options{Namespace: r.namespace, Clock: r.clock, Log: funcr.New(r.log, funcr.Options{})})
	}()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Errorf("the providers: %v", err)
		}
		if err := r.site.Close(); err != nil {
			r.t.Errorf("the site: %v", err)
		}
	})
}

// log takes a line of the providers' log, but for those that say that something starts.
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
		if err := r.client.Create(r.t.Context(), u); err != nil {
			r.t.Fatalf("make %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// until waits for something to be so, and says at the end what it still is.
func (r *rig) until(what string, within time.Duration, ask func() (bool, string)) {
	r.t.Helper()
	last := ""
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		done, now := ask()
		if done {
			return
		}
		if now != last {
			r.t.Logf("%s: %s", what, now)
			last = now
		}
	}
	r.t.Fatalf("%s: not within %s; last: %s", what, within, last)
}

func (r *rig) get(name string, o client.Object) bool {
	r.t.Helper()
	err := r.client.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	return err == nil
}
