//go:build e2e

package hub

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// fleet is many clusters with static networks, each in a namespace of its own.
func fleet(b *testing.B, round, clusters, hosts int) []*spec.Cluster {
	b.Helper()
	shared := "../../examples/shared"
	out := make([]*spec.Cluster, 0, clusters)
	for n := range clusters {
		var text strings.Builder
		fmt.Fprintf(&text, `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: fleet-%d-%d}
spec:
  baseDomain: example.com
  openshift: {version: "4.20"}
  pullSecret: {file: %s/pull-secret.json}
  sshKeys: [{file: %s/id_ed25519.pub}]
  topology: {controlPlane: 3, workers: %d}
  network:
    machine: [192.168.127.0/24]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    defaults: {gateway: 192.168.127.1, dns: [192.168.127.1]}
  hosts:
`, round, n, shared, shared, hosts-3)
		for h := range hosts {
			role := "control-plane"
			if h >= 3 {
				role = "worker"
			}
			fmt.Fprintf(&text, "  - {name: node-%d, role: %s, match: {mac: \"52:54:00:%02x:%02x:%02x\"}, net: {ip: 192.168.127.%d/24}}\n", h, role, n/256, n%256, h, 10+h)
		}
		cluster, err := spec.Parse(b.Context(), "cluster.yaml", []byte(text.String()), spec.OSEnv())
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, cluster)
	}
	return out
}

// BenchmarkApply100Clusters renders and applies 100 clusters of five hosts each in
// one run, with one connection, on an API server and etcd on the same machine.
func BenchmarkApply100Clusters(b *testing.B) {
	const clusters, hosts, atOnce = 100, 5, 8
	server := server.Start(b)
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		b.Fatal(err)
	}
	x := &site{client: client}
	fixture.OfferReleases(b, x.client)
	for round := 0; b.Loop(); round++ {
		b.StopTimer()
		specs := fleet(b, round, clusters, hosts)
		b.StartTimer()
		var mu sync.Mutex
		calls, writes := 0, 0
		plane, err := hubplane.New(hubplane.Config{Kube: server.Config, Log: func(c install.Call) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			if c.Writes() {
				writes++
			}
		}})
		if err != nil {
			b.Fatal(err)
		}
		var running sync.WaitGroup
		queue := make(chan *spec.Cluster)
		for range atOnce {
			running.Go(func() {
				for cluster := range queue {
					_, err := install.New(plane, install.Config{Clock: clock.Real()}).Detach(b.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "run-1"}})
					if err != nil {
						b.Errorf("%s: %v (next: %s)", cluster.Metadata.Name, err, model.FaultOf(err).Next)
					}
				}
			})
		}
		for _, cluster := range specs {
			queue <- cluster
		}
		close(queue)
		running.Wait()
		b.ReportMetric(float64(calls)/clusters/hosts, "calls/host")
		b.ReportMetric(float64(writes)/clusters/hosts, "writes/host")
		b.StopTimer()
		made, err := client.Resource(hubapi.Resource(hubapi.KindNMStateConfig)).List(b.Context(), metav1.ListOptions{LabelSelector: hubapi.LabelCluster})
		if err != nil || len(made.Items) < clusters*hosts {
			b.Errorf("%d NMStateConfigs are there: %v", len(made.Items), err)
		}
		plane.Close()
		for _, cluster := range specs { // emptied while the next ones are made; none is read again
			if err := client.Resource(hubapi.Resource(hubapi.KindNamespace)).Delete(b.Context(), cluster.Metadata.Name, metav1.DeleteOptions{}); err != nil {
				b.Error(err)
			}
		}
		b.StartTimer()
	}
}
