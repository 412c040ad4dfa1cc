package csr_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// BenchmarkJudge has 100 hosts, 100 pending requests of theirs, every other one a serving
// request, and 5,000 that were approved: before the hosts rebooted, as most are, or since,
// so that each has to be looked into.
func BenchmarkJudge(b *testing.B) {
	for name, made := range map[string]time.Time{"old": rebooted().Add(-time.Hour), "recent": rebooted().Add(time.Minute)} {
		b.Run(name, func(b *testing.B) {
			requests, world := crowd(b, made)
			for b.Loop() {
				approved := 0
				for _, v := range csr.Judge(requests, world, now()) {
					if v.Decision == model.RequestApprove {
						approved++
					}
				}
				if approved != 100 {
					b.Fatalf("%d are approved", approved)
				}
			}
		})
	}
}

// crowd is what BenchmarkJudge judges; the answered requests are of other names.
func crowd(b *testing.B, made time.Time) ([]model.CertificateRequest, csr.Cluster) {
	b.Helper()
	world, key := csr.Cluster{VIPs: cluster().VIPs, Networks: cluster().Networks}, newKey(b)
	var requests []model.CertificateRequest
	old := encode(b, key, template("system:node:w-gone.racks.example.com", nil))
	for i := range 5000 {
		r := clientRequest(fmt.Sprint("csr-old-", i), old)
		r.Created = made
		requests = append(requests, approved(r))
	}
	for i := range 100 {
		name := fmt.Sprintf("w-%d.racks.example.com", i)
		addresses := []string{fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("2001:db8::1:%d", i)}
		world.Hosts = append(world.Hosts, csr.Host{Name: name, Hostname: name, Addresses: addrs(addresses...), Named: true, Installed: true, Rebooted: rebooted()})
		if i%2 == 0 {
			requests = append(requests, clientRequest("csr-"+name, encode(b, key, template("system:node:"+name, nil))))
			continue
		}
		world.Nodes = append(world.Nodes, csr.Node{Name: name, Created: rebooted().Add(time.Minute), Addresses: addrs(addresses[0])})
		requests = append(requests, servingRequest("csr-"+name, name, encode(b, key, template("system:node:"+name, []string{name}, addresses...))))
	}
	return requests, world
}
