package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestHostInThePlaceOfAnother: a host that is written in the place of another one is a machine of its
// own, which boots, and is the same one each time.
func TestHostInThePlaceOfAnother(t *testing.T) {
	load := func() *spec.Cluster {
		c, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", "ha-workers", "cluster.yaml"), spec.OSEnv())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	type record map[string]any
	var records []record
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = record{"status": "adding-hosts"}
		if strings.HasSuffix(r.URL.Path, "/hosts") {
			answer = records
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer service.Close()
	boots := func(c *spec.Cluster) []host.Machine {
		config := &BootConfig{ServiceURL: service.URL, Cluster: c, Seed: 7, Day: host.Day2}
		machines, err := config.machines()
		if err != nil {
			t.Fatal(err)
		}
		_, boot, err := config.dayTwo(t.Context(), []infraEnv{{ID: "env", Name: c.Metadata.Name, ClusterID: "cluster"}}, machines)
		if err != nil {
			t.Fatal(err)
		}
		return boot
	}
	old := load()
	before := boots(old)
	for i, m := range before {
		status, stage := "installed", "Done"
		if i == 0 {
			status, stage = "installing-in-progress", "Rebooting"
		}
		records = append(records, record{"id": m.UUID, "status": status, "requested_hostname": m.Hostname,
			"progress": record{"current_stage": stage}})
	}
	if got := boots(old); len(got) != 0 {
		t.Fatalf("%d machines of the cluster boot again", len(got))
	}
	changed := load()
	replaced := changed.Spec.Hosts[1]
	fresh := spec.Host{Name: "fresh", Hostname: "fresh", Role: replaced.Role}
	changed.Spec.Hosts[1] = fresh
	got := boots(changed)
	if len(got) != 1 || got[0].Name != "fresh" {
		t.Fatalf("%d machines boot: %+v", len(got), got)
	}
	for _, m := range before {
		shared := slices.ContainsFunc(m.Addresses(), func(a netip.Addr) bool { return slices.Contains(got[0].Addresses(), a) })
		if m.UUID == got[0].UUID || m.NICs[0].MAC == got[0].NICs[0].MAC || shared {
			t.Errorf("it is also the machine of %s", m.Name)
		}
	}
	if again := boots(changed); len(again) != 1 || again[0].UUID != got[0].UUID {
		t.Errorf("the next time it is another machine: %+v", again)
	}
	records = append(records, record{"id": got[0].UUID, "status": "added-to-existing-cluster", "requested_hostname": "fresh"})
	if again := boots(changed); len(again) != 0 {
		t.Errorf("it boots once more: %+v", again)
	}
	records = slices.Delete(records, 1, 2) // the old one is gone from the service
	if again := boots(changed); len(again) != 0 {
		t.Errorf("it boots once more, without the old one: %+v", again)
	}
}
