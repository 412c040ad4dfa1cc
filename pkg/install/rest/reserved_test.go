package rest

import (
	"net/http"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const rackID = "33333333-3333-3333-3333-333333333333"

// rack has a pool beside the cluster's own InfraEnv, with hosts that are bound to no cluster, to this cluster and to
// another one.
func rack(t *testing.T) (*world, []map[string]any) {
	t.Helper()
	w := newWorld(t, 1)
	w.infraEnv = append(w.infraEnv, infraEnvJSON(map[string]any{"id": rackID, "name": "rack", "cluster_id": ""}))
	var pool []map[string]any
	for n, cluster := range []any{nil, nil, "99999999-9999-9999-9999-999999999999"} {
		pool = append(pool, hostJSON(n+1, map[string]any{"infra_env_id": rackID, "cluster_id": cluster, "status": "known-unbound", "inventory": inventoryText(n + 1)}))
	}
	w.on("GET /v2/infra-envs/"+rackID+"/hosts", func(out http.ResponseWriter, _ *http.Request) { w.send(out, pool) })
	return w, pool
}

// Hosts of a pool that are reserved are brought along, by whichever name of the pool, and no others
// of it; neither is its InfraEnv.
func TestReservedHosts(t *testing.T) {
	w, pool := rack(t)
	p, query := w.plane(t), lab()
	query.Agents = []string{"rack/" + hostID(1), rackID + "/" + hostID(3), "none/" + hostID(2)}
	o := observe(t, p, query)
	if len(o.InfraEnvs) != 1 || o.InfraEnvs[0].Name != "lab" || len(o.Hosts) != 2 || o.Hosts[0].Reserved != "" {
		t.Fatalf("InfraEnvs %+v, hosts %+v", o.InfraEnvs, o.Hosts)
	}
	if h := o.Hosts[1]; h.Reserved != query.Agents[0] || h.State != model.HostUnbound || !h.Inventory.Known || h.InfraEnvID != rackID {
		t.Errorf("reserved %+v", h)
	}
	if len(o.Elsewhere) != 1 || o.Elsewhere[0].Reserved != query.Agents[1] {
		t.Errorf("elsewhere %+v", o.Elsewhere)
	}
	w.took()
	for range 120 {
		_ = w.clock.Sleep(t.Context(), 5*time.Second)
		observe(t, p, query)
	}
	if n := len(w.took()); n > 10*12 {
		t.Errorf("%d requests in ten minutes in which nothing happened", n)
	}
	// Once it is the cluster's, its pool is not asked for any more.
	query.Agents = query.Agents[:1]
	observe(t, p, query)
	w.mu.Lock()
	pool[0]["cluster_id"], pool[0]["status"] = clusterID, "known"
	w.hosts = append(w.hosts, pool[0])
	w.mu.Unlock()
	w.change("host_bound", 1, func() {})
	_ = w.clock.Sleep(t.Context(), 16*time.Second)
	if o := observe(t, p, query); len(o.Hosts) != 2 || o.Hosts[1].Reserved != query.Agents[0] || o.Hosts[1].ClusterID != clusterID || len(o.Elsewhere) != 0 {
		t.Fatalf("hosts %+v, elsewhere %+v", o.Hosts, o.Elsewhere)
	}
	w.took()
	for range 60 {
		_ = w.clock.Sleep(t.Context(), 10*time.Second)
		observe(t, p, query)
	}
	for _, c := range w.took() {
		if c.String() == "GET /v2/infra-envs/"+rackID+"/hosts" {
			t.Error("the hosts of the pool are read on")
			break
		}
	}
}

// A reservation that is taken back is forgotten, and another one seen in the next look.
func TestReservationsChange(t *testing.T) {
	w, _ := rack(t)
	p, query := w.plane(t), lab()
	for _, id := range []string{hostID(1), hostID(2), ""} {
		query.Agents = nil
		if id != "" {
			query.Agents = []string{"rack/" + id}
		}
		o := observe(t, p, query)
		var got string
		for _, h := range o.Hosts {
			if h.Reserved != "" {
				got += h.ID
			}
		}
		if got != id || id == "" && len(o.Hosts) != 1 {
			t.Errorf("reserved %q, hosts %+v", id, o.Hosts)
		}
		_ = w.clock.Sleep(t.Context(), time.Second)
	}
}

// A reserved host is bound by its own InfraEnv, and nothing is written to it.
func TestBindReservedHost(t *testing.T) {
	w, _ := rack(t)
	bind := "/v2/infra-envs/" + rackID + "/hosts/" + hostID(1) + "/actions/bind"
	w.on("POST "+bind, with(200, "{}"))
	d := desired(t)
	d.Spec.Spec.Hosts[1].Match.Agent = "rack/" + hostID(1)
	p := w.plane(t)
	observe(t, p, d.Query())
	w.took()
	action := model.Action{Kind: model.BindHost, Target: hostID(1), InfraEnv: rackID, Name: "cp-1", Settings: model.Settings{"role": `"control-plane"`}}
	must.Do(t, p.Act(t.Context(), d, action))
	if calls := w.took(); len(calls) != 1 || calls[0].String() != "POST "+bind {
		t.Errorf("sent %v", calls)
	}
}
