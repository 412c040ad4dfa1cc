package install_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// decideBound is how long a decision on 500 hosts may take: a tick of the loop
// must cost nothing beside the requests that feed it.
const decideBound = 5 * time.Millisecond

// BenchmarkDecide500 decides on 500 hosts before the install, where settings
// are compared and machines are matched, and in the middle of it.
func BenchmarkDecide500(b *testing.B) {
	for name, advance := range map[string]int{"ready": 4, "installing": 8} {
		b.Run(name, func(b *testing.B) {
			w := crowd(500)
			for range advance {
				for _, a := range w.decide().Actions {
					if err := w.apply(a); err != nil {
						b.Fatal(err)
					}
				}
				w.pass()
			}
			if len(w.observed.Hosts) != 500 {
				b.Fatalf("%d hosts", len(w.observed.Hosts))
			}
			b.ReportAllocs()
			for b.Loop() {
				observed := w.observed
				install.Decide(w.desired, &observed, observed.At)
			}
			if each := b.Elapsed() / time.Duration(b.N); each > decideBound {
				b.Errorf("a decision takes %s; the bound is %s", each, decideBound)
			}
		})
	}
}

// crowd is the model of a cluster of n hosts.
func crowd(n int) *world {
	c := sample(3, n-3)
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		host.Match.MAC = fmt.Sprintf("52:54:00:%02x:%02x:%02x", i>>16, i>>8&0xff, i&0xff)
		host.Labels = map[string]string{"rack": fmt.Sprint(i / 20)}
		host.Disk.Hints = spec.DiskHints{DeviceName: "/dev/nvme0n1"}
	}
	w := newWorld(&install.Desired{Spec: c})
	for range 3 {
		for _, a := range w.decide().Actions {
			_ = w.apply(a)
		}
		w.pass()
	}
	for i := range w.observed.Hosts {
		w.observed.Hosts[i].Validations = validations(40)
	}
	return w
}

// validations are checks as a service makes them of every host.
func validations(n int) []install.Validation {
	var list []install.Validation
	for i := range n {
		list = append(list, install.Validation{ID: fmt.Sprintf("check-%d", i), Category: "hardware", Status: "success", Message: "as it should be"})
	}
	return list
}
