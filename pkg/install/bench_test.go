package install_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// decideBound is how long a decision on 500 hosts may take: a tick of the loop
// must cost nothing beside the requests that feed it.
const decideBound = 5 * time.Millisecond

// BenchmarkDecide500 decides on 500 hosts in every phase of an install: where
// each of them differs from the file, where their failing checks are explained,
// where the install may start, and while it runs.
func BenchmarkDecide500(b *testing.B) {
	for _, phase := range []model.ClusterState{model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady, model.ClusterInstalling} {
		b.Run(string(phase), func(b *testing.B) {
			w := crowd(500, phase)
			if phase == model.ClusterBlocked {
				w.fail("ntp-synced", "has-min-memory", "belongs-to-machine-cidr")
			}
			if len(w.observed.Hosts) != 500 || w.observed.Cluster.State != phase {
				b.Fatalf("%d hosts, cluster %s", len(w.observed.Hosts), w.observed.Cluster.State)
			}
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				observed := w.observed
				began := time.Now()
				install.Decide(w.desired, &observed, model.Memory{}, observed.At)
				took = append(took, time.Since(began))
			}
			// The median: others may want the processor now and then.
			slices.Sort(took)
			median := took[len(took)/2]
			b.ReportMetric(float64(median)/float64(time.Millisecond), "median-ms")
			if median > decideBound {
				b.Errorf("a decision takes %s; the bound is %s", median, decideBound)
			}
		})
	}
}

// crowd is the model of a cluster of n hosts at the beginning of a phase.
func crowd(n int, phase model.ClusterState) *world {
	c := sample(3, n-3)
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		host.Match.MAC = fmt.Sprintf("52:54:00:%02x:%02x:%02x", i>>16, i>>8&0xff, i&0xff)
		host.Labels = map[string]string{"rack": fmt.Sprint(i / 20)}
		host.Disk.Hints = spec.DiskHints{DeviceName: "/dev/nvme0n1"}
	}
	w := newWorld(&model.Desired{Spec: c})
	for range 20 {
		o := &w.observed
		switch {
		case len(o.Hosts) == n && (phase == model.ClusterDiscovering || phase == model.ClusterBlocked):
			o.Cluster.State = phase // and no host is set up yet
			return w
		case len(o.Hosts) == n && o.Cluster.State == phase:
			return w
		}
		for _, a := range w.decide().Actions {
			_ = w.apply(a)
		}
		w.pass()
		for i := range o.Hosts {
			o.Hosts[i].Validations = checks(40)
			o.Hosts[i].Progress = model.HostProgress{Stage: "Writing image to disk", Since: o.At, Stages: []string{"Starting installation", "Writing image to disk", "Done"}}
		}
	}
	return w
}

// fail has some checks fail on every host.
func (w *world) fail(ids ...string) {
	for i := range w.observed.Hosts {
		h := &w.observed.Hosts[i]
		h.State = model.HostBlocked
		for _, id := range ids {
			h.Validations = append(h.Validations, model.Validation{ID: id, Category: "network", Status: "failure", Message: "not so on " + h.ID})
		}
	}
}

// checks are validations as a service makes them of every host.
func checks(n int) []model.Validation {
	var list []model.Validation
	for i := range n {
		list = append(list, model.Validation{ID: fmt.Sprintf("check-%d", i), Category: "hardware", Status: "success", Message: "as it should be"})
	}
	return list
}
