package rest

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
)

// Hosts of a pool are seen before and after they are bound.
func TestPool(t *testing.T) {
	w := newWorld(t, 0)
	w.infraEnv = []map[string]any{infraEnvJSON(map[string]any{"cluster_id": ""}), infraEnvJSON(map[string]any{"cluster_id": "", "name": "lab-west", "id": clusterID})}
	pool := []map[string]any{hostJSON(0, map[string]any{"status": "known-unbound", "cluster_id": nil, "inventory": inventoryText(0)})}
	w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts", func(out http.ResponseWriter, _ *http.Request) { w.send(out, pool) })
	p := w.plane(t)
	o := observe(t, p, lab())
	if len(o.InfraEnvs) != 1 || len(o.Hosts) != 1 || o.Hosts[0].State != install.HostUnbound || o.Hosts[0].Status != "known-unbound" || !o.Hosts[0].Inventory.Known {
		t.Fatalf("got %+v and %+v", o.InfraEnvs, o.Hosts)
	}
	bind := "/v2/infra-envs/" + infraEnvID + "/hosts/" + hostID(0) + "/actions/bind"
	w.on("POST "+bind, func(out http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		pool[0]["cluster_id"], pool[0]["status"] = clusterID, "binding"
		w.hosts = pool
		w.mu.Unlock()
		reply(out, 200, "{}")
	})
	w.took()
	err := p.Act(t.Context(), desired(t), install.Action{Kind: install.BindHost, Target: hostID(0), InfraEnv: infraEnvID, Name: "cp-0", Scope: install.HostScope("cp-0")})
	if err != nil {
		t.Fatal(err)
	}
	if calls := w.took(); len(calls) != 1 || calls[0].body != `{"cluster_id":"`+clusterID+`"}`+"\n" {
		t.Errorf("got %v", calls)
	}
	if o := observe(t, p, lab()); len(o.Hosts) != 1 || o.Hosts[0].State != install.HostBinding || !o.Hosts[0].Inventory.Known {
		t.Errorf("after binding: %+v", o.Hosts)
	}
	w.took()
	for range 120 {
		_ = w.clock.Sleep(t.Context(), 5*time.Second)
		observe(t, p, lab())
	}
	if n := len(w.took()); n > 10*12 {
		t.Errorf("%d requests in ten minutes in which nothing happened", n)
	}
	pool = append(pool, hostJSON(1, map[string]any{"status": "known-unbound", "cluster_id": nil, "inventory": inventoryText(1)}))
	w.change("host_registration_succeeded", 1, func() {})
	_ = w.clock.Sleep(t.Context(), 16*time.Second)
	if o := observe(t, p, lab()); len(o.Hosts) != 2 {
		t.Errorf("a host that came to the pool is not seen: %+v", o.Hosts)
	}
}

// Hosts of a pool that another cluster has are shown apart, with its name.
func TestPoolOfSeveralClusters(t *testing.T) {
	const other = "99999999-9999-9999-9999-999999999999"
	w := newWorld(t, 0)
	w.others = []map[string]any{clusterJSON(map[string]any{"id": other, "name": "prod"})}
	w.infraEnv = []map[string]any{infraEnvJSON(map[string]any{"cluster_id": "", "name": "rack-7"})}
	host := func(n int, cluster any) map[string]any {
		return hostJSON(n, map[string]any{"cluster_id": cluster, "inventory": inventoryText(n)})
	}
	pool := []map[string]any{host(0, nil), host(2, other), host(1, other), host(3, clusterID), host(4, hostID(9))}
	w.hosts = pool[3:4]
	w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts", func(out http.ResponseWriter, _ *http.Request) { w.send(out, pool) })
	query := lab()
	query.InfraEnv = "rack-7"
	o := observe(t, w.plane(t), query)
	got := [][2]string{}
	for _, h := range o.Elsewhere {
		got = append(got, [2]string{h.ID, h.ClusterName})
		if !h.Inventory.Known {
			t.Errorf("%s cannot be recognised", h.ID)
		}
	}
	if want := [][2]string{{hostID(1), "prod"}, {hostID(2), "prod"}, {hostID(4), ""}}; !slices.Equal(got, want) {
		t.Errorf("elsewhere %v, want %v", got, want)
	}
	if len(o.Hosts) != 2 {
		t.Errorf("hosts %+v", o.Hosts)
	}
}
