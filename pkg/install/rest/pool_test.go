package rest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Hosts of a pool are seen before and after they are bound.
func TestPool(t *testing.T) {
	w := newWorld(t, 0)
	w.infraEnv = []map[string]any{infraEnvJSON(map[string]any{"cluster_id": ""}), infraEnvJSON(map[string]any{"cluster_id": "", "name": "lab-west", "id": clusterID})}
	pool := []map[string]any{hostJSON(0, map[string]any{"status": "known-unbound", "cluster_id": nil, "inventory": inventoryText(0)})}
	w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts", func(out http.ResponseWriter, _ *http.Request) { w.send(out, pool) })
	p := w.plane(t)
	o := observe(t, p, lab())
	if len(o.InfraEnvs) != 1 || len(o.Hosts) != 1 || o.Hosts[0].State != model.HostUnbound || o.Hosts[0].Status != "known-unbound" || !o.Hosts[0].Inventory.Known {
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
	err := p.Act(t.Context(), desired(t), model.Action{Kind: model.BindHost, Target: hostID(0), InfraEnv: infraEnvID, Name: "cp-0", Scope: model.ScopeHost.Of("cp-0")})
	if err != nil {
		t.Fatal(err)
	}
	if calls := w.took(); len(calls) != 1 || calls[0].body != `{"cluster_id":"`+clusterID+`"}`+"\n" {
		t.Errorf("got %v", calls)
	}
	if o := observe(t, p, lab()); len(o.Hosts) != 1 || o.Hosts[0].State != model.HostBinding || !o.Hosts[0].Inventory.Known {
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

// What happens to a pool between two looks shows in the next one, also between the first two. A caller that sets the
// interval of looks learns it at each look.
func TestPoolChangesBetweenLooks(t *testing.T) {
	w := newWorld(t, 0)
	w.infraEnv = []map[string]any{infraEnvJSON(map[string]any{"cluster_id": "", "name": "rack-7"})}
	pool := []map[string]any{hostJSON(0, map[string]any{"status": "known-unbound", "cluster_id": nil, "inventory": inventoryText(0)})}
	w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts", func(out http.ResponseWriter, _ *http.Request) { w.send(out, pool) })
	p, query := w.plane(t), lab()
	query.InfraEnv, query.Poll = "rack-7", time.Second
	for n := range 3 {
		if o := observe(t, p, query); len(o.Hosts) != n+1 {
			t.Fatalf("look %d: %d hosts", n, len(o.Hosts))
		}
		w.change("host_registration_succeeded", n+1, func() {
			pool = append(pool, hostJSON(n+1, map[string]any{"status": "known-unbound", "cluster_id": nil, "inventory": inventoryText(n + 1)}))
		})
		_ = w.clock.Sleep(t.Context(), time.Second)
	}
	query.Poll = 0
	_ = w.clock.Sleep(t.Context(), 2*soonTime)
	observe(t, p, query)
	_ = w.clock.Sleep(t.Context(), 2*soonTime)
	observe(t, p, query)
	w.change("host_registration_succeeded", 4, func() {
		pool = append(pool, hostJSON(4, map[string]any{"status": "known-unbound", "cluster_id": nil, "inventory": inventoryText(4)}))
	})
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, query); len(o.Hosts) != 5 {
		t.Errorf("%d hosts ten seconds after the last came", len(o.Hosts))
	}
}

// A caller that sets the interval of looks learns at each look what has happened.
func TestPollIntervalIsKept(t *testing.T) {
	w := newWorld(t, 3)
	p, query := w.plane(t, func(c *Config) { c.PollsPerMinute = 1 }), lab()
	query.Poll = 500 * time.Millisecond
	observe(t, p, query)
	for n := range 200 {
		status := []string{"insufficient", "ready"}[n%2]
		w.change("cluster_status_updated", -1, func() { w.cluster["status"] = status })
		_ = w.clock.Sleep(t.Context(), query.Poll)
		if o := observe(t, p, query); o.Cluster.Status != status {
			t.Fatalf("look %d: the cluster is %s, not %s", n, o.Cluster.Status, status)
		}
	}
}

// A poll costs what it must: the question what has happened, and the part that it
// happened to.
func TestRequestsOfAPoll(t *testing.T) {
	w := newWorld(t, 3)
	p, query := w.plane(t), lab()
	query.Poll = 500 * time.Millisecond
	observe(t, p, query)
	for name, test := range map[string]struct {
		happens func(n int)
		most    int // requests of twenty polls
	}{
		"nothing": {func(int) {}, 20},
		"something to a host": {func(n int) {
			w.change("host_status_updated", n%3, func() { w.hosts[n%3]["status_info"] = time.Duration(n).String() })
		}, 40},
		"something to the cluster": {func(n int) {
			w.change("cluster_validation_fixed", -1, func() { w.cluster["status_info"] = time.Duration(n).String() })
		}, 40},
	} {
		observe(t, p, query)
		w.took()
		for n := range 20 {
			test.happens(n)
			_ = w.clock.Sleep(t.Context(), query.Poll)
			observe(t, p, query)
		}
		const refresh = 2 // cluster and hosts, which are read now and then in any case
		if calls := w.took(); len(calls) > test.most+refresh {
			t.Errorf("%s: %d requests in twenty polls: %v", name, len(calls), paths(calls))
		}
	}
}

// The list of a cluster's hosts has no stages: they are read elsewhere, once, when
// hosts are being installed.
func TestStagesAreReadOnce(t *testing.T) {
	for _, hosts := range []int{3, 8} {
		w := newWorld(t, hosts)
		stages := []string{"Starting installation", "Rebooting", "Done"}
		full := make([]map[string]any, hosts)
		for n := range hosts {
			full[n] = hostJSON(n, map[string]any{"role": "master", "status": "preparing-for-installation", "progress_stages": stages, "inventory": inventoryText(n)})
			w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts/"+hostID(n), func(out http.ResponseWriter, _ *http.Request) { w.send(out, full[n]) })
		}
		w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts", func(out http.ResponseWriter, _ *http.Request) { w.send(out, full) })
		p := w.plane(t)
		observe(t, p, lab())
		w.change("cluster_status_updated", -1, func() {
			w.cluster["status"] = "preparing-for-installation"
			for _, h := range w.hosts {
				h["role"], h["status"] = "master", "preparing-for-installation"
			}
		})
		asked := 0
		for range 5 {
			w.took()
			w.change("host_status_updated", 0, func() {})
			_ = w.clock.Sleep(t.Context(), 20*time.Second)
			o := observe(t, p, lab())
			for _, c := range w.took() {
				if strings.HasPrefix(c.path, "/v2/infra-envs/") {
					asked++
				}
			}
			for _, h := range o.Hosts {
				if !slices.Equal(h.Progress.Stages, stages) {
					t.Fatalf("of %d: %s has the stages %q", hosts, h.ID, h.Progress.Stages)
				}
			}
		}
		if want := map[int]int{3: 3, 8: 1}[hosts]; asked != want {
			t.Errorf("of %d: asked %d times", hosts, asked)
		}
	}
}

// A host goes back to its pool by being unbound.
func TestReturnHost(t *testing.T) {
	w := newWorld(t, 0)
	unbind := "/v2/infra-envs/" + infraEnvID + "/hosts/" + hostID(0) + "/actions/unbind"
	w.on("POST "+unbind, func(out http.ResponseWriter, _ *http.Request) { reply(out, 200, "{}") })
	err := w.plane(t).Act(t.Context(), desired(t), model.Action{Kind: model.ReturnHost, Target: hostID(0), InfraEnv: infraEnvID, Name: "w-0", Scope: model.ScopeNode.Of("w-0")})
	if calls := w.took(); err != nil || len(calls) != 1 || !strings.HasSuffix(calls[0].path, unbind) {
		t.Errorf("%v: %v", calls, err)
	}
}
