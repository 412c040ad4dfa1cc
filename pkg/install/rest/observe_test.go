package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// world is a small cluster behind a fake service.
type world struct {
	*fake
	mu       sync.Mutex
	cluster  map[string]any
	others   []map[string]any
	hosts    []map[string]any
	infraEnv []map[string]any
	events   []map[string]any
}

func newWorld(t *testing.T, hosts int) *world {
	w := &world{fake: newFake(t), cluster: clusterJSON(nil), infraEnv: []map[string]any{infraEnvJSON(nil)}}
	for n := range hosts {
		w.hosts = append(w.hosts, hostJSON(n, map[string]any{"inventory": inventoryText(n)}))
	}
	w.on("GET /v2/clusters", func(out http.ResponseWriter, _ *http.Request) {
		w.send(out, append(slices.Clone(w.others), w.cluster))
	})
	w.on("GET /v2/clusters/"+clusterID, func(out http.ResponseWriter, _ *http.Request) { w.send(out, w.cluster) })
	w.on("GET /v2/clusters/"+clusterID+"/hosts", func(out http.ResponseWriter, r *http.Request) {
		hosts := []map[string]any{}
		for _, h := range w.hosts {
			copied := map[string]any{}
			for k, v := range h {
				if k != "inventory" || r.URL.Query().Get("with-inventory") == "true" {
					copied[k] = v
				}
			}
			hosts = append(hosts, copied)
		}
		w.send(out, hosts)
	})
	w.on("GET /v2/clusters/"+clusterID+"/manifests", with(200, "[]"))
	w.on("GET /v2/infra-envs", func(out http.ResponseWriter, r *http.Request) {
		found := []map[string]any{}
		for _, e := range w.infraEnv {
			if id := r.URL.Query().Get("cluster_id"); id == "" || e["cluster_id"] == id {
				found = append(found, e)
			}
		}
		w.send(out, found)
	})
	w.on("GET /v2/events", w.listEvents)
	return w
}

func (w *world) send(out http.ResponseWriter, value any) {
	w.mu.Lock()
	data, err := json.Marshal(value)
	w.mu.Unlock()
	if err != nil {
		panic(err)
	}
	reply(out, 200, string(data))
}

func (w *world) listEvents(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	events := slices.Clone(w.events)
	w.mu.Unlock()
	query := r.URL.Query()
	events = slices.DeleteFunc(events, func(e map[string]any) bool {
		return !strings.Contains(e["message"].(string), query.Get("message")) || query.Get("cluster_level") != "" && e["host_id"] != nil
	})
	out.Header().Set(eventCount, strconv.Itoa(len(events)))
	if r.URL.Query().Get("order") == "descending" {
		slices.Reverse(events)
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	events = events[min(offset, len(events)):]
	w.send(out, append([]map[string]any{}, events[:min(limit, len(events))]...))
}

// change changes the world and logs an event.
func (w *world) change(name string, host int, do func()) {
	w.say(name, name, host, do)
}

// say is the same with a message, a moment later.
func (w *world) say(name, message string, host int, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.clock.Sleep(background(), time.Millisecond)
	do()
	event := map[string]any{"name": name, "severity": "info", "message": message, "cluster_id": clusterID, "event_time": w.clock.Now().Format("2006-01-02T15:04:05.000Z")}
	if host >= 0 {
		event["host_id"] = hostID(host)
	}
	w.events = append(w.events, event)
}

func lab() model.Query { return model.Query{Name: "lab", BaseDomain: "example.com", Run: "r1"} }

func observe(t *testing.T, p *Plane, query model.Query) *model.Observed {
	t.Helper()
	observed, err := p.Observe(t.Context(), query, nil)
	if err != nil {
		t.Fatal(err)
	}
	return observed
}

func paths(calls []call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.String())
	}
	slices.Sort(out)
	return out
}

// While nothing happens, at most twelve requests a minute are sent, for any number of hosts and any interval of looks.
func TestIdleBudget(t *testing.T) {
	for _, hosts := range []int{1, 5, 500} {
		for _, every := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second} {
			if hosts == 500 && every != 5*time.Second {
				continue // the budget does not depend on both
			}
			for _, status := range []string{"insufficient", "installing", "installed"} {
				t.Run(fmt.Sprintf("%d hosts every %s %s", hosts, every, status), func(t *testing.T) {
					w := newWorld(t, hosts)
					w.cluster["status"] = status
					p := w.plane(t)
					observe(t, p, lab())
					settle := w.clock.Now().Add(2 * time.Minute) // the beginning counts as something that happened
					for w.clock.Now().Before(settle) {
						observe(t, p, lab())
						_ = w.clock.Sleep(t.Context(), every)
					}
					w.took()
					const minutes = 20
					end := w.clock.Now().Add(minutes * time.Minute)
					for i := 0; w.clock.Now().Before(end); i++ {
						query := lab()
						query.Detail = i > 0 && i%int(10*time.Minute/every) == 0 // as the loop does
						observe(t, p, query)
						_ = w.clock.Sleep(t.Context(), every)
					}
					if n := len(w.took()); n > 12*minutes {
						t.Errorf("%d requests in %d minutes", n, minutes)
					}
				})
			}
		}
	}
}

// However much happens, the budget holds.
func TestBusyBudget(t *testing.T) {
	w := newWorld(t, 5)
	w.cluster["status"] = "installing"
	p := w.plane(t)
	for i := range 1800 { // half an hour in which something happens every second
		w.change("host_status_updated", i%5, func() {})
		w.change("cluster_status_updated", -1, func() {})
		observe(t, p, lab())
		_ = w.clock.Sleep(t.Context(), time.Second)
	}
	if n := len(w.took()); n > 30*12+100+10 {
		t.Errorf("%d requests in half an hour", n)
	}
}

// A change is seen by the next look, without reading what did not change.
func TestEventsLeadToReads(t *testing.T) {
	w := newWorld(t, 5)
	p := w.plane(t)
	first := observe(t, p, lab())
	if first.Cluster == nil || len(first.Hosts) != 5 || !first.Hosts[0].Inventory.Known || len(first.InfraEnvs) != 1 {
		t.Fatalf("first look: %+v", first)
	}
	if want := w.clock.Now(); !first.At.Equal(want) {
		t.Errorf("observed at %s, the service says %s", first.At, want)
	}
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	w.took()
	observe(t, p, lab())
	if got := paths(w.took()); !slices.Equal(got, []string{"GET /v2/events"}) {
		t.Errorf("nothing happened, but %v", got)
	}

	w.change("cluster_status_updated", -1, func() { w.cluster["status"] = "ready" })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); o.Cluster.State != model.ClusterReady {
		t.Errorf("the cluster is %s", o.Cluster.State)
	}
	if got := paths(w.took()); !slices.Equal(got, []string{"GET /v2/clusters/" + clusterID, "GET /v2/events"}) {
		t.Errorf("the cluster changed, and %v", got)
	}

	w.change("host_status_updated", 2, func() { w.hosts[2]["status"] = "insufficient" })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	o := observe(t, p, lab())
	if o.Hosts[2].State != model.HostBlocked || !o.Hosts[2].Inventory.Known || o.Hosts[2].Inventory.Interfaces[0].MAC != "52:54:00:00:00:02" {
		t.Errorf("the host is %+v", o.Hosts[2])
	}
	if got := paths(w.took()); !slices.Equal(got, []string{"GET /v2/clusters/" + clusterID + "/hosts", "GET /v2/events"}) {
		t.Errorf("a host changed, and %v", got)
	}
}

// A cluster becomes ready a monitor's tick after its last host: a look every
// second sees it within that second.
func TestReadyIsSeenAtOnce(t *testing.T) {
	w := newWorld(t, 5)
	p := w.plane(t)
	for range 600 { // a long quiet time before
		observe(t, p, lab())
		_ = w.clock.Sleep(t.Context(), time.Second)
	}
	w.change("host_status_updated", 4, func() {})
	for range 10 { // an idle probe comes by, and what follows is observed closely
		_ = w.clock.Sleep(t.Context(), time.Second)
		observe(t, p, lab())
	}
	for range 4 {
		_ = w.clock.Sleep(t.Context(), time.Second)
		observe(t, p, lab())
	}
	w.change("cluster_status_updated", -1, func() { w.cluster["status"] = "ready" })
	_ = w.clock.Sleep(t.Context(), time.Second)
	if o := observe(t, p, lab()); o.Cluster.State != model.ClusterReady {
		t.Errorf("a second later the cluster is still %s", o.Cluster.State)
	}
}

// What comes without an event is seen within a minute, half of one while an
// install runs.
func TestRefreshWithoutEvents(t *testing.T) {
	for status, within := range map[string]time.Duration{"ready": time.Minute, "installing": 30 * time.Second} {
		w := newWorld(t, 1)
		w.cluster["status"] = status
		p := w.plane(t)
		observe(t, p, lab())
		w.mu.Lock()
		w.hosts[0]["progress"] = map[string]any{"current_stage": "Writing image to disk", "progress_info": "45%"}
		w.mu.Unlock()
		began := w.clock.Now()
		for observe(t, p, lab()).Hosts[0].Progress.Info != "45%" {
			_ = w.clock.Sleep(t.Context(), 5*time.Second)
			if took := w.clock.Now().Sub(began); took > within+5*time.Second {
				t.Fatalf("%s: not seen after %s", status, took)
			}
		}
	}
}

// Five hundred hosts are not read one by one, nor all for one, nor with their
// inventories again and again.
func TestManyHosts(t *testing.T) {
	w := newWorld(t, 500)
	p := w.plane(t)
	o := observe(t, p, lab())
	if len(o.Hosts) != 500 || !o.Hosts[499].Inventory.Known {
		t.Fatalf("%d hosts", len(o.Hosts))
	}
	if n := len(w.took()); n > 10 {
		t.Errorf("%d requests for the first look", n)
	}
	w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts/"+hostID(7), func(out http.ResponseWriter, _ *http.Request) { w.send(out, w.hosts[7]) })
	w.change("host_status_updated", 7, func() { w.hosts[7]["status"] = "insufficient" })
	_ = w.clock.Sleep(t.Context(), 20*time.Second)
	if o := observe(t, p, lab()); o.Hosts[7].State != model.HostBlocked {
		t.Errorf("host 7 is %s", o.Hosts[7].State)
	}
	if got := paths(w.took()); len(got) != 2 || got[1] != "GET /v2/infra-envs/"+infraEnvID+"/hosts/"+hostID(7) {
		t.Errorf("got %v", got)
	}
	for n := range 100 {
		w.change("host_status_updated", n, func() {})
	}
	_ = w.clock.Sleep(t.Context(), 20*time.Second)
	observe(t, p, lab())
	for _, c := range w.took() {
		if strings.Contains(c.query, "with-inventory=true") {
			t.Errorf("inventories were read again: %s?%s", c, c.query)
		}
	}
}

// A new host's inventory is read once it is there, and again after the machine
// was away.
func TestInventoriesOfNewHosts(t *testing.T) {
	w := newWorld(t, 0)
	p := w.plane(t)
	observe(t, p, lab())
	w.change("host_registration_succeeded", 0, func() { w.hosts = append(w.hosts, hostJSON(0, map[string]any{"status": "discovering"})) })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); len(o.Hosts) != 1 || o.Hosts[0].Inventory.Known {
		t.Fatalf("hosts %+v", o.Hosts)
	}
	one := "GET /v2/infra-envs/" + infraEnvID + "/hosts/" + hostID(0)
	w.on(one, func(out http.ResponseWriter, _ *http.Request) { w.send(out, w.hosts[0]) })
	w.change("host_status_updated", 0, func() { w.hosts[0]["status"], w.hosts[0]["inventory"] = "known", inventoryText(0) })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); !o.Hosts[0].Inventory.Known {
		t.Errorf("no inventory of a host that is known: %v", paths(w.took()))
	}
	w.change("host_status_updated", 0, func() { w.hosts[0]["status"] = "disconnected" })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); o.Hosts[0].State != model.HostDisconnected || !o.Hosts[0].Inventory.Known {
		t.Errorf("host %+v", o.Hosts[0])
	}
	w.change("host_status_updated", 0, func() { w.hosts[0]["status"], w.hosts[0]["inventory"] = "known", inventoryText(9) })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); o.Hosts[0].Inventory.Hostname != "host-9" {
		t.Errorf("the old inventory stands: %+v", o.Hosts[0].Inventory)
	}
	w.change("host_deregistered", 0, func() { w.hosts = nil })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); len(o.Hosts) != 0 {
		t.Errorf("a deleted host stands: %+v", o.Hosts)
	}
}

// The list of a cluster's hosts leaves out a hostname that was not set by a user; every other answer shows the
// machine's own. The name is the same, no matter which answer was read last.
func TestNameByMachine(t *testing.T) {
	w := newWorld(t, 1)
	delete(w.hosts[0], "requested_hostname")
	w.on("GET /v2/infra-envs/"+infraEnvID+"/hosts/"+hostID(0), func(out http.ResponseWriter, _ *http.Request) {
		w.send(out, hostJSON(0, map[string]any{"inventory": inventoryText(0)}))
	})
	p := w.plane(t)
	name := func(when string) {
		t.Helper()
		host := observe(t, p, lab()).Hosts[0]
		if got := host.Settings[model.SettingHostname].Text(); got != "host-0" {
			t.Errorf("%s: the name is %q", when, got)
		}
	}
	name("with the inventory, from the list")
	w.change("host_status_updated", 0, func() { w.hosts[0]["status"] = "disconnected" })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	name("without the inventory, from the list")
	w.change("host_status_updated", 0, func() { w.hosts[0]["status"] = "known" })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	name("from the host itself")
	w.change("host_updated", 0, func() { w.hosts[0]["requested_hostname"] = "given" })
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if got := observe(t, p, lab()).Hosts[0].Settings[model.SettingHostname].Text(); got != "given" {
		t.Errorf("the name that was given is %q", got)
	}
}

// Which cluster belongs to oaictl: the oldest that oaictl made, and an untagged one only by its id.
func TestOwnership(t *testing.T) {
	const (
		second = "33333333-3333-3333-3333-333333333333"
		third  = "44444444-4444-4444-4444-444444444444"
	)
	older := clusterJSON(map[string]any{"id": second, "created_at": "2030-05-01T10:00:00Z", "tags": "oaictl,oaictl_run_r0"})
	untagged := clusterJSON(map[string]any{"id": third, "created_at": "2030-05-01T09:00:00Z", "tags": ""})
	elsewhere := clusterJSON(map[string]any{"id": third, "base_dns_domain": "example.org"})
	for name, test := range map[string]struct {
		others []map[string]any
		tags   string
		adopt  string
		want   string
		rest   []string // id, owned, run, empty
	}{
		"own":              {nil, "oaictl,oaictl_run_r1", "", clusterID, nil},
		"untagged":         {nil, "blue", "", "", []string{clusterID + " false  false"}},
		"adopted":          {nil, "", clusterID, clusterID, nil},
		"adopted instead":  {[]map[string]any{older}, "", clusterID, clusterID, []string{second + " true r0 false"}},
		"not there":        {nil, "oaictl", second, "", []string{clusterID + " true  false"}},
		"older wins":       {[]map[string]any{older}, "oaictl,oaictl_run_r1", "", second, []string{clusterID + " true r1 true"}},
		"foreign is older": {[]map[string]any{untagged}, "oaictl", "", clusterID, []string{third + " false  false"}},
		"other domain":     {[]map[string]any{elsewhere}, "oaictl", "", clusterID, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.infraEnv = nil
			w.cluster["tags"] = test.tags
			w.others = test.others
			for _, o := range test.others {
				id := o["id"].(string)
				w.json("GET /v2/clusters/"+id, 200, o)
				w.json("GET /v2/clusters/"+id+"/hosts", 200, []any{})
				w.json("GET /v2/clusters/"+id+"/manifests", 200, []any{})
			}
			query := lab()
			query.Adopt = test.adopt
			o := observe(t, w.plane(t), query)
			got := ""
			if o.Cluster != nil {
				got = o.Cluster.ID
			}
			var rest []string
			for _, other := range o.Others {
				rest = append(rest, fmt.Sprintf("%s %v %s %v", other.ID, other.Owned, other.Run, other.Empty))
			}
			if got != test.want || !slices.Equal(rest, test.rest) {
				t.Errorf("got %s and %v, want %s and %v", got, rest, test.want, test.rest)
			}
		})
	}
}

// An exact query knows a cluster by the mark of its owner alone. Its name, its id, its age and the tag of oaictl prove nothing.
func TestExactly(t *testing.T) {
	const second, missing = "33333333-3333-3333-3333-333333333333", "55555555-5555-5555-5555-555555555555"
	other := clusterJSON(map[string]any{"id": second, "created_at": "2030-05-01T10:00:00Z", "tags": "oaictl,oaictl_run_r0"})
	for name, test := range map[string]struct {
		tags, run, former, adopt, want string
		unproven                       bool
	}{
		"its mark":                        {tags: "oaictl,oaictl_run_capi_1", run: "capi_1", want: clusterID},
		"its mark before a user's tags":   {tags: "oaictl,oaictl_run_capi_1,oaictl_run_capi_2", run: "capi_1", want: clusterID},
		"a mark among a user's tags":      {tags: "oaictl,oaictl_run_capi_1,oaictl_run_capi_2", run: "capi_2"},
		"its former mark":                 {tags: "oaictl,oaictl_run_r1", run: "capi_1", former: "r1", want: clusterID},
		"another owner's mark":            {tags: "oaictl,oaictl_run_capi_1", run: "capi_2"},
		"the id without the mark":         {tags: "oaictl,oaictl_run_capi_1", run: "capi_2", adopt: clusterID, unproven: true},
		"the id of a cluster of a person": {tags: "oaictl,oaictl_run_0123456789ab", run: "capi_2", adopt: clusterID, unproven: true},
		"the id of an untagged cluster":   {tags: "blue", run: "capi_2", adopt: clusterID, unproven: true},
		"no mark":                         {tags: "oaictl"},
		"an id that is not there":         {tags: "oaictl,oaictl_run_capi_2", run: "capi_1", adopt: missing},
		"its mark, with another id noted": {tags: "oaictl,oaictl_run_capi_1", run: "capi_1", adopt: missing, want: clusterID},
		"without the tag of oaictl":       {tags: "oaictl_run_capi_1", run: "capi_1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.infraEnv, w.cluster["tags"], w.others = nil, test.tags, []map[string]any{other}
			query := lab()
			query.Exact, query.Run, query.FormerRun, query.Adopt = true, test.run, test.former, test.adopt
			o := observe(t, w.plane(t), query)
			got := ""
			if o.Cluster != nil {
				got = o.Cluster.ID
			}
			if got != test.want || o.Unproven != test.unproven || len(o.Others) > 0 {
				t.Errorf("got %q beside %v, unproven %v, want %q and %v", got, o.Others, o.Unproven, test.want, test.unproven)
			}
		})
	}
}

// TestAnswersWithoutACluster: an answer that is JSON, but not a cluster, is named as such, with what to check.
func TestAnswersWithoutACluster(t *testing.T) {
	for answer, want := range map[string]string{
		"null": "the answer is null", "{}": "it has no id or status", `{"id":"` + clusterID + `"}`: "it has no id or status",
		"[]": "not what the service sends", `"text"`: "not what the service sends",
	} {
		t.Run(answer, func(t *testing.T) {
			w := newWorld(t, 0)
			w.on("GET /v2/clusters/"+clusterID, with(200, answer))
			_, err := w.plane(t).Observe(t.Context(), lab(), nil)
			if err == nil || !strings.HasPrefix(err.Error(), "read cluster "+clusterID+": ") || !strings.Contains(err.Error(), want) || model.FaultOf(err).Next == "" {
				t.Errorf("%v (next: %q), want %q", err, model.FaultOf(err).Next, want)
			}
		})
	}
}

// TestOwnersOfOneName: two owners have clusters of the same name, and look by the same plane. Each sees its own.
func TestOwnersOfOneName(t *testing.T) {
	const second = "33333333-3333-3333-3333-333333333333"
	w := newWorld(t, 0)
	w.cluster["tags"] = "oaictl,oaictl_run_capi_1"
	other := clusterJSON(map[string]any{"id": second, "tags": "oaictl,oaictl_run_capi_2"})
	w.others = []map[string]any{other}
	w.json("GET /v2/clusters/"+second, 200, other)
	w.json("GET /v2/clusters/"+second+"/hosts", 200, []any{})
	w.json("GET /v2/clusters/"+second+"/manifests", 200, []any{})
	p := w.plane(t)
	for run, want := range map[string]string{"capi_1": clusterID, "capi_2": second, "capi_3": ""} {
		query := lab()
		query.Exact, query.Run = true, run
		got := ""
		if o := observe(t, p, query); o.Cluster != nil {
			got = o.Cluster.ID
		}
		if got != want {
			t.Errorf("the owner %s sees %q, want %q", run, got, want)
		}
	}
}

// TestNamesOfInfraEnvsProveNothing: an exact query shows no InfraEnv that only has the name of the cluster, neither a pool of
// another owner nor what a deleted cluster of that name has left.
func TestNamesOfInfraEnvsProveNothing(t *testing.T) {
	const deleted = "66666666-6666-6666-6666-666666666666"
	for name, env := range map[string]map[string]any{
		"a pool":                   infraEnvJSON(map[string]any{"cluster_id": nil}),
		"one of a deleted cluster": infraEnvJSON(map[string]any{"cluster_id": deleted}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.infraEnv = []map[string]any{env}
			w.cluster["tags"] = "oaictl,oaictl_run_capi_1"
			w.on("GET /v2/clusters/"+deleted, with(404, `{"code":"404","reason":"cluster not found"}`))
			w.json("GET /v2/infra-envs/"+infraEnvID+"/hosts", 200, []any{})
			query := lab()
			query.Exact, query.Run = true, "capi_1"
			if o := observe(t, w.plane(t), query); len(o.InfraEnvs) > 0 || len(o.Orphans) > 0 {
				t.Errorf("InfraEnvs %+v, orphans %+v", o.InfraEnvs, o.Orphans)
			}
		})
	}
}

// TestKeptClusterIsNotTakenByName: a run of the command line does not take a cluster of controllers for its own.
func TestKeptClusterIsNotTakenByName(t *testing.T) {
	w := newWorld(t, 0)
	w.cluster["tags"] = "oaictl,oaictl_run_capi_1"
	if o := observe(t, w.plane(t), lab()); o.Cluster != nil || len(o.Others) != 1 || !o.Others[0].IsKept() {
		t.Errorf("it is taken for %+v, beside %+v", o.Cluster, o.Others)
	}
}

// Without a cluster there is no error; one that is deleted meanwhile is gone.
func TestNoCluster(t *testing.T) {
	w := newWorld(t, 1)
	p := w.plane(t)
	if o := observe(t, p, model.Query{ID: "55555555-5555-5555-5555-555555555555"}); o.Cluster != nil {
		t.Error("a cluster out of nothing")
	}
	if o := observe(t, p, lab()); o.Cluster == nil {
		t.Fatal("no cluster")
	}
	w.on("GET /v2/clusters", with(200, "[]"))
	w.on("GET /v2/clusters/"+clusterID, with(404, `{"code":"404","reason":"cluster not found"}`))
	w.on("GET /v2/events", with(200, "[]"))
	query := lab()
	query.ID = clusterID
	_ = w.clock.Sleep(t.Context(), 2*time.Minute)
	if o := observe(t, p, query); o.Cluster != nil || len(o.Hosts) != 0 {
		t.Errorf("a deleted cluster stands: %+v", o.Cluster)
	}
}

// When the service does not answer, the last observation comes back and says so; a
// refusal is an error.
func TestStale(t *testing.T) {
	w := newWorld(t, 1)
	p := w.plane(t)
	if _, err := w.plane(t, func(c *Config) { c.URL = "http://127.0.0.1:1" }).Observe(t.Context(), lab(), nil); err == nil {
		t.Error("no error though there is no observation")
	}
	observe(t, p, lab())
	answers := w.answers
	w.answers = map[string]http.HandlerFunc{"GET /v2/events": with(503, "down")}
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	o := observe(t, p, lab())
	if !strings.Contains(o.Stale, "503") || o.Cluster == nil || len(o.Hosts) != 1 || o.At.Before(w.clock.Now().Add(-2*time.Second)) {
		t.Errorf("stale %q, cluster %v, at %s", o.Stale, o.Cluster, o.At)
	}
	w.answers = answers
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if o := observe(t, p, lab()); o.Stale != "" {
		t.Errorf("still stale: %s", o.Stale)
	}
	w.answers = map[string]http.HandlerFunc{"GET /v2/events": with(401, "")}
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	if _, err := p.Observe(t.Context(), lab(), nil); model.FaultOf(err).Code != model.CodeAuth {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Observe(ctx, lab(), nil); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// A service whose event log cannot be read is polled plainly.
func TestWithoutEventLog(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"no header": with(200, "[]"), "no operation": with(404, ""), "refused": with(400, "")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.on("GET /v2/events", answer)
			p := w.plane(t)
			observe(t, p, lab())
			w.mu.Lock()
			w.cluster["status"] = "ready"
			w.mu.Unlock()
			_ = w.clock.Sleep(t.Context(), 10*time.Second)
			if o := observe(t, p, lab()); o.Cluster.State != model.ClusterReady {
				t.Errorf("the cluster is %s", o.Cluster.State)
			}
		})
	}
}

// Manifests are listed, and their contents read only for detail.
func TestManifests(t *testing.T) {
	w := newWorld(t, 0)
	w.json("GET /v2/clusters/"+clusterID+"/manifests", 200, []map[string]string{{"file_name": "50-x.yaml", "folder": "openshift", "manifest_source": "user"}})
	w.on("GET /v2/clusters/"+clusterID+"/manifests/files", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = out.Write([]byte("a: b\n"))
	})
	p := w.plane(t)
	if o := observe(t, p, lab()); o.Cluster.Manifests["openshift/50-x.yaml"] != "" || len(o.Cluster.Manifests) != 1 {
		t.Errorf("got %v", o.Cluster.Manifests)
	}
	query := lab()
	query.Detail = true
	if o := observe(t, p, query); o.Cluster.Manifests["openshift/50-x.yaml"] != model.Digest([]byte("a: b\n")) {
		t.Errorf("got %v", o.Cluster.Manifests)
	}
}

// States that oaictl does not know keep the service's word.
func TestStates(t *testing.T) {
	w := newWorld(t, 1)
	w.cluster["status"], w.hosts[0]["status"] = "levitating", "glowing"
	o := observe(t, w.plane(t), lab())
	if o.Cluster.State != model.ClusterUnknown || o.Cluster.Status != "levitating" || o.Hosts[0].State != model.HostUnknown || o.Hosts[0].Status != "glowing" {
		t.Errorf("got %s %s, %s %s", o.Cluster.State, o.Cluster.Status, o.Hosts[0].State, o.Hosts[0].Status)
	}
}
