// Package capi tests the providers of Cluster API on a real management cluster: an API server with the
// real core manager, the operators of a hub and of Metal3 played beside it, and machines that boot
// what they are given.
package capi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/simulator"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/metal3"
	"github.com/oaictl/oaictl/pkg/capi"
	"github.com/oaictl/oaictl/test/fixture"
)

// speed is how much faster than life service and machines run.
const speed = 100

// management is the management cluster of all tests that do not need one of their own.
var management kubetest.SharedManagement

func TestMain(m *testing.M) { os.Exit(management.Run(m)) }

// rig is a namespace of a management cluster with all that plays there.
type rig struct {
	*kubetest.Management
	t         *testing.T
	namespace string
	clock     clock.Clock
	client    client.Client
	hardware  *metal3.Hardware
	service   *simulator.Simulator
}

func newRig(t *testing.T) *rig {
	t.Helper()
	m := management.Start(t)
	r := &rig{Management: m, t: t, namespace: m.Namespace(t), clock: clock.Scaled(speed)}
	scheme, err := capi.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if r.client, err = client.New(m.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	r.installKinds()
	d, err := dynamic.NewForConfig(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	fixture.OfferReleases(t, d)
	r.play()
	return r
}

// installKinds has the API server know the kinds of the providers and of Metal3.
func (r *rig) installKinds() {
	r.t.Helper()
	w, err := r.NewWebhooks(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	crds := os.Getenv("OAICTL_CRDS")
	if crds == "" {
		crds = filepath.Join("..", "..", "pkg", "capi", "manifests", "crd")
	}
	if err := r.Install(r.t.Context(), w, crds, filepath.Join("..", "crds", "metal3")); err != nil {
		r.t.Fatal(err)
	}
}

// play starts everything that lives beside the API server, until the test's end.
func (r *rig) play() {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	var err error
	if r.service, err = simulator.Start(ctx, simulator.Config{Clock: r.clock, Seed: 1, KubeAPI: true}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		stop()
		running.Wait()
		if err := r.service.Close(); err != nil {
			r.t.Errorf("the simulator: %v", err)
		}
	})
	if r.hardware, err = metal3.NewHardware(metal3.HardwareConfig{ServiceURL: r.service.URL(), Clock: r.clock, Seed: 1, Logf: r.logf("machines")}); err != nil {
		r.t.Fatal(err)
	}
	ctrllog.SetLogger(funcr.New(func(prefix, args string) {}, funcr.Options{}))
	start := func(name string, run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				r.t.Errorf("%s: %v", name, err)
			}
		})
	}
	start("machines", r.hardware.Run)
	start("metal3", func(ctx context.Context) error {
		return metal3.Run(ctx, metal3.Config{Kube: r.Config, Namespace: r.namespace, Hardware: r.hardware, Clock: r.clock, Logf: r.logf("metal3")})
	})
	start("hub", func(ctx context.Context) error {
		return hubsim.Run(ctx, hubsim.Config{Kube: r.Config, Namespace: r.namespace, Service: r.service.URL(), Clock: r.clock, Logf: r.logf("hub")})
	})
	start("providers", func(ctx context.Context) error {
		return capi.Run(ctx, r.Config, capi.Options{
			Namespace: r.namespace, Clock: r.clock,
			Log: funcr.New(func(prefix, args string) { r.t.Logf("providers: %s %s", prefix, args) }, funcr.Options{Verbosity: 0}),
		})
	})
}

func (r *rig) logf(who string) func(string, ...any) {
	return func(format string, args ...any) { r.t.Logf(who+": "+format, args...) }
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

// bareMetalHosts makes so many, each with a machine behind it.
func (r *rig) bareMetalHosts(count int) {
	r.t.Helper()
	var texts []string
	for i := range count {
		texts = append(texts, fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: bmc-%[1]d}
stringData: {username: admin, password: secret}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: rack-%[1]d}
spec:
  online: false
  bootMACAddress: 52:54:00:00:10:%02[1]x
  bmc: {address: redfish://127.0.0.1/%[1]d, credentialsName: bmc-%[1]d}`, i))
	}
	r.apply(strings.Join(texts, "\n---\n"))
}

var _ = clusterv1.ClusterNameLabel
