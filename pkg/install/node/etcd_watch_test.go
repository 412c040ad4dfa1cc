//go:build e2e

package node_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
)

// etcdReads are the calls so far that read an object of etcd, and those that watch one.
func (s *stage) etcdReads() (reads, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		switch {
		case !strings.Contains(c.URL, "etcd"):
		case c.Method == "WATCH":
			watches++
		default:
			reads++
		}
	}
	return reads, watches
}

// TestWatchesEtcd: with WatchEtcd a watch shows a member that dies or goes, without reading again and again. Without it
// there is no watch.
func TestWatchesEtcd(t *testing.T) {
	s := newStage(t, nil)
	plane := s.plane()
	observed, err := s.Observe(t.Context(), model.Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	look := func(asks bool) *model.Spoke {
		t.Helper()
		if err := s.clock.Sleep(t.Context(), 15*time.Second); err != nil { // until what is polled is old
			t.Fatal(err)
		}
		seen, err := plane.Observe(t.Context(), s.desired(func(d *model.Desired) { d.Options.WatchEtcd = asks }), observed)
		if err != nil || seen.Trouble != "" {
			t.Fatalf("%v, %+v", err, seen)
		}
		return seen
	}
	if seen := look(false); seen.Etcd != nil {
		t.Errorf("nobody has asked for %+v", seen.Etcd)
	}
	if reads, watches := s.etcdReads(); reads+watches > 0 {
		t.Errorf("%d reads and %d watches of etcd for nobody", reads, watches)
	}
	if seen := look(true); seen.Etcd == nil || seen.Etcd.Trouble != "" || len(seen.Etcd.Members) != 3 || seen.Etcd.Desired != 3 {
		t.Fatalf("etcd is %+v", seen.Etcd)
	}
	s.await(t, func() bool { _, watches := s.etcdReads(); return watches == 2 })
	before, _ := s.etcdReads()
	for range 3 {
		look(true)
	}
	if reads, _ := s.etcdReads(); reads != before {
		t.Errorf("etcd was read %d times more though it is watched", reads-before)
	}
	s.spoke.PowerOff("cp-1")
	s.changes(t, plane, func() bool { return slices.Equal(look(true).Etcd.Unhealthy, []string{"cp-1"}) })
	if gone, err := s.spoke.RemoveMember(t.Context(), "cp-1"); !gone || err != nil {
		t.Fatalf("%v, %v", gone, err)
	}
	s.changes(t, plane, func() bool {
		etcd := look(true).Etcd
		return len(etcd.Members) == 2 && len(etcd.Unhealthy) == 0 && etcd.Trouble == ""
	})
	lost := netip.MustParseAddr("192.168.127.11")
	if seen := look(true); seen.MemberOf([]netip.Addr{lost}) != nil {
		t.Errorf("%s is still a member of %+v", lost, seen.Etcd.Members)
	}
}

// await waits for something to be so.
func (s *stage) await(t *testing.T, is func() bool) {
	t.Helper()
	for range 400 {
		if is() {
			return
		}
		if err := s.clock.Sleep(t.Context(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it never came")
}

// changes follows what a plane tells of, until something is so.
func (s *stage) changes(t *testing.T, plane *node.Plane, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		changed := plane.Changed()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("no change was told of that shows it")
		}
	}
}
