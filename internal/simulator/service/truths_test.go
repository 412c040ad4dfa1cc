package service

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

const nobody = "11111111-2222-4333-8444-555555555555"

// TestParametersComeFirst asks for things that are not there, with parameters
// that are wrong: the parameters are judged first, in the order of their names.
func TestParametersComeFirst(t *testing.T) {
	b := compact(t, 0)
	none := "/clusters/" + nobody
	host := "/infra-envs/" + nobody + "/hosts/" + nobody
	for _, tc := range []struct {
		method, path string
		body         any
		status       int
		reason       string
	}{
		{"GET", "/clusters/nope", nil, 400, `cluster_id in path must be of type uuid: "nope"`},
		{"GET", "/infra-envs?cluster_id=nope", nil, 400, `cluster_id in query must be of type uuid: "nope"`},
		{"GET", "/infra-envs/nope/hosts/nope", nil, 400, `host_id in path must be of type uuid: "nope"`},
		{"PATCH", "/clusters/nope", nil, 400, "clusterUpdateParams in body is required"},
		{"PUT", "/clusters/nope/progress", nil, 400, `cluster_id in path must be of type uuid: "nope"`},
		{"PATCH", none, nil, 400, "clusterUpdateParams in body is required"},
		{"PATCH", none, fields{}, 404, "Failed to get cluster " + nobody + ": record not found"},
		{"GET", none + "/downloads/files", nil, 400, "file_name in query is required"},
		{"GET", none + "/downloads/files?file_name=install-config.yaml", nil, 404, "record not found"},
		{"GET", none + "/downloads/files-presigned?file_name=install-config.yaml", nil, 400, "Failed to generate presigned URL: invalid backend"},
		{"GET", none + "/manifests", nil, 404, "Object Not Found"},
		{"PUT", none + "/monitored-operators", fields{}, 400, "empty operator name is not allowed"},
		{"POST", host + "/actions/bind", fields{}, 400, "cluster_id in body is required"},
		{"DELETE", host, nil, 500, "failed to get host " + nobody + " in infra_env " + nobody + ": record not found"},
		{"POST", "/clusters", fields{}, 400, "name in body is required"},
		{"POST", "/events", fields{"message": "x"}, 400, "event_time in body is required"},
		{"GET", none + "/hosts", nil, 200, ""},
		{"GET", none + "/monitored-operators", nil, 200, ""},
	} {
		if a := b.call(tc.method, tc.path, tc.body); a.status != tc.status || a.reason() != tc.reason {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, a.status, a.text)
		}
	}
}

// TestDeletedCluster looks at what stays of a cluster.
func TestDeletedCluster(t *testing.T) {
	b := compact(t, 2)
	b.pass(time.Minute)
	if text := b.must("GET", "/clusters/"+b.cluster+"?exclude-hosts=true", nil).text; !strings.Contains(text, `"hosts":null`) {
		t.Errorf("without hosts: %s", text)
	}
	b.must("DELETE", "/clusters/"+b.cluster, nil)
	r := httptest.NewRequest("GET", Base+"/v2/clusters/"+b.cluster, nil)
	r.Header.Set("get_unregistered_clusters", "true")
	w := httptest.NewRecorder()
	b.s.ServeHTTP(w, r)
	gone := answer{w.Code, w.Body.String(), w.Header()}.object()
	if hosts, _ := gone["hosts"].([]any); w.Code != 200 || gone["deleted_at"] == nil || len(hosts) != 2 {
		t.Errorf("%d %v", w.Code, gone)
	}
	b.answers("without the header", "GET", "/clusters/"+b.cluster, nil, 404)
	b.answers("a host at its infra-env", "POST", "/infra-envs/"+b.infraEnv+"/hosts", fields{"host_id": nobody}, 404)
	events := b.must("GET", "/events?cluster_id="+b.cluster, nil)
	if n := strings.Count(events.text, `"host_deregistered"`); n != 2 {
		t.Errorf("%d hosts deregistered", n)
	}
}

// TestInfraEnvProxy changes the parts of a proxy one after the other.
func TestInfraEnvProxy(t *testing.T) {
	b := madeBench(t, nil)
	const one, two = "http://one.example.com:3128", "http://two.example.com:3128"
	for _, tc := range []struct{ asked, want fields }{
		{fields{"http_proxy": one, "no_proxy": "x.example.com"}, fields{"http_proxy": one, "no_proxy": "x.example.com"}},
		{fields{}, fields{"http_proxy": one, "no_proxy": "x.example.com"}},
		{fields{"http_proxy": two}, fields{"http_proxy": two, "no_proxy": "x.example.com"}},
		{fields{"https_proxy": two}, fields{"http_proxy": two, "no_proxy": "x.example.com"}}, // joined, it is the same
		{fields{"https_proxy": "https://three.example.com"}, fields{"http_proxy": two, "https_proxy": "https://three.example.com", "no_proxy": "x.example.com"}},
		{fields{"http_proxy": ""}, fields{"http_proxy": "", "https_proxy": "https://three.example.com", "no_proxy": "x.example.com"}},
		{fields{"no_proxy": ""}, fields{"http_proxy": "", "https_proxy": "https://three.example.com", "no_proxy": "x.example.com"}},
	} {
		got := b.must("PATCH", "/infra-envs/"+b.infraEnv, fields{"proxy": tc.asked}).object()["proxy"]
		if model.InString(got) != model.InString(tc.want) {
			t.Errorf("%v: %v", tc.asked, got)
		}
	}
}

// TestInfraEnvFields sets, empties and misspells fields of an infra-env.
func TestInfraEnvFields(t *testing.T) {
	b := madeBench(t, nil)
	path := "/infra-envs/" + b.infraEnv
	b.must("PATCH", path, fields{"ssh_authorized_key": sshKey, "additional_ntp_sources": "10.1.1.1", "network_discovery_delay_seconds": 0})
	kept := b.must("PATCH", path, fields{"ssh_authorized_key": "", "openshift_version": ""}).object()
	if kept["ssh_authorized_key"] != sshKey || kept["openshift_version"] != "4.21" || kept["network_discovery_delay_seconds"] != 0.0 {
		t.Errorf("kept %v", kept)
	}
	for _, tc := range []struct {
		asked  fields
		reason string
	}{
		{fields{"ntp_sources": "10.1.1.3"}, "ntp_sources and additional_ntp_sources are mutually exclusive"},
		{fields{"ssh_authorized_key": "nonsense"}, "SSH key is not valid"},
		{fields{"additional_trust_bundle": "nonsense"}, "invalid block"},
		{fields{"kernel_arguments": []fields{{"operation": "replace", "value": "p1"}}}, "Only kernel argument operation append is supported.  Got replace"},
		{fields{"proxy": fields{"http_proxy": "https://p.example.com:3128"}}, "Failed to validate HTTP Proxy: The URL scheme must be http and specified in the URL: 'https://p.example.com:3128'"},
		{fields{"rendezvous_ip": "192.168.127.10"}, "RendezvousIP is only supported for disconnected ISO infra-envs"},
		{fields{"network_discovery_delay_seconds": -1}, "network_discovery_delay_seconds in body should be greater than or equal to 0"},
		{fields{"cluster_id": b.cluster}, `parsing infraEnvUpdateParams body from "" failed, because json: unknown field "cluster_id"`},
	} {
		if a := b.call("PATCH", path, tc.asked); a.status != 400 || a.reason() != tc.reason {
			t.Errorf("%v: %d %s", tc.asked, a.status, a.text)
		}
	}
	b.must("PATCH", path, fields{"ntp_sources": "10.1.1.3", "additional_ntp_sources": ""})
}

// TestEventCounts asks for events in every way that the counts depend on.
func TestEventCounts(t *testing.T) {
	b := compact(t, 3)
	b.pass(time.Minute)
	gone := b.machines[2]
	b.must("DELETE", gone.path(), nil)
	gone.silent = true
	all := "cluster_id=" + b.cluster
	ask := func(query string) answer { return b.must("GET", "/events?"+query, nil) }
	count := func(query string) string { return ask(query).header.Get("Event-Count") }
	for _, tc := range []struct{ name, left, right string }{
		{"the limit does not change the count", all + "&limit=0", all},
		{"no limit", all + "&limit=-1", all},
		{"the cluster goes before the infra-env", all + "&infra_env_id=" + b.infraEnv, all},
		{"of a repeated parameter the last counts", all + "&severities=info&severities=warning", all + "&severities=warning"},
		{"a list", all + "&severities=info,warning,error,critical", all},
		{"an unknown category is none", all + "&categories=nonsense", all + "&message=nothing-like-this"},
	} {
		if l, r := count(tc.left), count(tc.right); l != r {
			t.Errorf("%s: %s and %s", tc.name, l, r)
		}
	}
	if got := ask(all + "&limit=0").text; strings.TrimSpace(got) != "[]" {
		t.Errorf("limit 0: %s", got)
	}
	if a := ask("limit=3"); a.header.Get("Event-Count") != "0" || strings.TrimSpace(a.text) == "[]" {
		t.Errorf("without a scope: %s %s", a.header.Get("Event-Count"), a.text)
	}
	if a := ask("infra_env_id=" + b.infraEnv); a.header.Get("Severity-Count-Info") != "0" || a.header.Get("Event-Count") == "0" {
		t.Errorf("of an infra-env: %v", a.header)
	}
	if got := strings.TrimSpace(ask("host_id=" + gone.id).text); got != "[]" {
		t.Errorf("of a deleted host: %s", got)
	}
	if got := ask(all + "&host_ids=" + gone.id).text; !strings.Contains(got, "host_deregistered") {
		t.Errorf("of a deleted host in its cluster: %s", got)
	}
	if a := b.call("GET", "/events?"+all+"&severities=nonsense", nil); a.reason() != "severities.0 in query should be one of [info warning error critical]" {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// TestEventFilters reads events by all that narrows them down.
func TestEventFilters(t *testing.T) {
	b := installing(t, 4)
	gone := b.machines[3]
	b.must("DELETE", gone.path(), nil)
	gone.silent = true
	for _, m := range b.machines[:3] {
		m.stage(model.StageStarting, "")
		m.stage(model.StageInstalling, "")
		m.stage(model.StageWriting, "60%")
	}
	b.call("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.call("POST", "/clusters/"+b.cluster+"/actions/reset", nil)
	type told struct {
		Name, Message, Severity string
		Category                *string
		HostID                  string `json:"host_id"`
	}
	read := func(query string) (list []told, header http.Header) {
		t.Helper()
		a := b.must("GET", "/events?cluster_id="+b.cluster+query, nil)
		if err := json.Unmarshal([]byte(a.text), &list); err != nil {
			t.Fatal(err)
		}
		return list, a.header
	}
	all, counts := read("")
	one, other := b.machines[0].id, b.machines[1].id
	for _, tc := range []struct {
		query string
		holds func(told) bool
	}{
		{"&severities=warning", func(e told) bool { return e.Severity == severityWarning }},
		{"&severities=warning,info", func(e told) bool { return e.Severity == severityWarning || e.Severity == severityInfo }},
		{"&severities=info&severities=warning", func(e told) bool { return e.Severity == severityWarning }},
		{"&host_id=" + one, func(e told) bool { return e.HostID == one }},
		{"&host_ids=" + one + "," + other, func(e told) bool { return e.HostID == one || e.HostID == other }},
		{"&host_ids=" + one + "&host_ids=" + other, func(e told) bool { return e.HostID == other }},
		{"&deleted_hosts=true", func(e told) bool { return e.HostID == gone.id }},
		{"&deleted_hosts=false", func(told) bool { return true }},
		{"&cluster_level=true", func(e told) bool { return e.HostID == "" }},
		{"&cluster_level=false", func(told) bool { return true }},
		{"&cluster_level=true&deleted_hosts=true", func(e told) bool { return e.HostID == "" || e.HostID == gone.id }},
		{"&cluster_level=true&host_ids=" + one, func(e told) bool { return e.HostID == "" || e.HostID == one }},
		{"&message=%25", func(e told) bool { return strings.Contains(e.Message, "%") }},
		{"&message=_", func(e told) bool { return strings.Contains(e.Message, "_") }},
		{"&message=INSTALLATION", func(e told) bool { return strings.Contains(strings.ToLower(e.Message), "installation") }},
		{"&message=", func(told) bool { return true }},
		{"&categories=user", func(told) bool { return true }},
		{"&categories=", func(told) bool { return true }},
		{"&limit=-1", func(told) bool { return true }},
		{"&offset=-1", func(told) bool { return true }},
	} {
		var want []told
		for _, e := range all {
			if tc.holds(e) {
				want = append(want, e)
			}
		}
		got, header := read(tc.query)
		if len(want) == 0 || model.InString(got) != model.InString(want) {
			t.Errorf("%s: %d events, want %d of %d", tc.query, len(got), len(want), len(all))
		}
		if header.Get("Event-Count") != model.InString(len(want)) {
			t.Errorf("%s: Event-Count %s, want %d", tc.query, header.Get("Event-Count"), len(want))
		}
		if strings.Contains(tc.query, "severities") && header.Get("Severity-Count-Info") != counts.Get("Severity-Count-Info") {
			t.Errorf("%s: the severities change their counts", tc.query)
		}
	}
	measured, _ := read("&categories=metrics")
	both, _ := read("&categories=user,metrics")
	if len(measured) != 8 || measured[0].Message != "nic.virtual_interfaces" || len(both) != len(all)+len(measured) {
		t.Errorf("%d events of metrics, %d with those for users, of which there are %d", len(measured), len(both), len(all))
	}
	for _, e := range both {
		if e.Category != nil {
			t.Errorf("%s has the category %s", e.Name, *e.Category)
		}
	}
	for _, e := range measured {
		if e.Name != "" {
			t.Errorf("an event of metrics is called %s", e.Name)
		}
	}
	if !strings.Contains(all[0].Message, "registered") || !slices.ContainsFunc(all, func(e told) bool { return e.Message == "Host "+one+": Successfully registered" }) {
		t.Errorf("the first event is %q, and no host is called by its id", all[0].Message)
	}
	b.says("", "GET", "/events?order=nonsense", nil, 400, "order in query should be one of [ascending descending]")
	b.answers("", "GET", "/clusters/"+b.cluster+"/events", nil, 404)
}

// TestEventTexts installs and looks for what each event says.
func TestEventTexts(t *testing.T) {
	b := installing(t, 3)
	m := b.machines[1]
	for _, info := range []string{"", "20%", "60%"} {
		m.stage(model.StageStarting, "master")
		m.stage(model.StageInstalling, "master")
		m.stage(model.StageWriting, info)
	}
	text := b.must("GET", "/events?cluster_id="+b.cluster, nil).text
	for _, want := range []string{
		"validation 'belongs-to-majority-group' failed",
		"reached installation stage Writing image to disk: 20%",
		"reached installation stage Writing image to disk: 60%",
		"result: success. time: 5.00 seconds; size: 0.95 Megabytes; download rate: 60.00 MBps",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no event says %q", want)
		}
	}
}

// TestDeleteInstallingHost takes a control plane host out of a running
// installation: the cluster fails.
func TestDeleteInstallingHost(t *testing.T) {
	b := installing(t, 3)
	b.machines[2].silent = true
	b.must("DELETE", b.machines[2].path(), nil)
	b.pass(time.Minute)
	b.inState(model.ClusterError)
}

// TestHostsAddedToACluster goes through what may be done, and what not, to a
// cluster that is installed and to machines that are added to it.
func TestHostsAddedToACluster(t *testing.T) {
	b := compact(t, 3)
	path := "/clusters/" + b.cluster
	says := func(method, path string, body any, status int, reason string) {
		t.Helper()
		if a := b.call(method, path, body); a.status != status || !strings.HasPrefix(a.reason(), reason) {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, a.status, a.text, status, reason)
		}
	}
	notYet := "cannot transform cluster " + b.cluster + " to day2. Expected cluster status: installed, but cluster status is: "
	says("POST", path+"/actions/allow-add-hosts", nil, 400, notYet)
	b.install()
	b.walkAway(model.StageDone)
	b.finalize()
	old := b.machines[0]
	if a := old.register(); a.status != 409 || !strings.HasPrefix(a.reason(), "Host is trying to register after the cluster has already been installed.") {
		t.Errorf("an installed host boots the image: %d %s", a.status, a.text)
	}
	says("POST", old.path()+"/actions/reset", nil, 409, "method only allowed when adding hosts to an existing cluster")
	b.must("POST", path+"/actions/allow-add-hosts", nil)
	says("POST", path+"/actions/allow-add-hosts", nil, 400, notYet+model.ClusterAddingHosts)
	cl := b.get()
	if cl["kind"] != model.KindAddHosts || cl["status"] != model.ClusterAddingHosts || cl["status_info"] != "Cluster is installed" || cl["api_vip_dns_name"] != "10.0.0.100" {
		t.Errorf("%v %v %q %v", cl["kind"], cl["status"], cl["status_info"], cl["api_vip_dns_name"])
	}
	if got := old.get(); got["kind"] != model.KindHost || got["status"] != model.HostInstalled {
		t.Errorf("an old host is %v %v", got["kind"], got["status"])
	}
	says("POST", path+"/actions/install", nil, 409, "Cluster is not ready for installation, Cluster is installed validation_info=")
	says("POST", path+"/actions/cancel", nil, 409, "no condition found to run transition")
	says("POST", path+"/actions/reset", nil, 409, "no condition found to run transition")
	b.must("PATCH", path, fields{"name": "renamed"})

	b.infraEnv = b.must("POST", "/infra-envs", fields{"name": "day2", "pull_secret": pullSecret, "cluster_id": b.cluster}).object()["id"].(string)
	m := b.boot()
	b.pass(40 * time.Second)
	for role, stages := range map[string]string{
		model.RoleMaster:  `["Starting installation","Installing","Writing image to disk","Copying registry data to disk","Rebooting"]`,
		model.RoleArbiter: `["Starting installation","Installing","Writing image to disk","Copying registry data to disk","Rebooting"]`,
		model.RoleAuto:    `[]`,
		model.RoleWorker:  `["Starting installation","Installing","Writing image to disk","Waiting for control plane","Rebooting"]`,
	} {
		if got := model.InString(b.must("PATCH", m.path(), fields{"host_role": role}).object()["progress_stages"]); got != stages {
			t.Errorf("%s has the stages %s", role, got)
		}
	}
	b.must("PATCH", m.path(), fields{"host_role": model.RoleWorker, "host_name": "added"})
	if a := b.must("POST", m.path()+"/actions/install", nil); a.status != 202 || a.object()["status"] != model.HostInstalling {
		t.Errorf("%d %v", a.status, a.object()["status"])
	}
	says("POST", m.path()+"/actions/install", nil, 409, "cannot install host in state installing")
	m.poll()
	m.stage(model.StageStarting, "")
	m.stage(model.StageFailed, "no disk")
	b.pass(10 * time.Second)
	if got := m.state(); got != model.HostError || b.status() != model.ClusterAddingHosts {
		t.Errorf("a host that failed is %s, the cluster %s", got, b.status())
	}
	if a := b.must("POST", m.path()+"/actions/reset", nil); a.status != 200 || a.object()["status"] != model.HostResettingPending {
		t.Errorf("reset: %d %s", a.status, a.text)
	}
	if got := m.get(); got["requested_hostname"] != "added" || len(got["progress_stages"].([]any)) != 5 {
		t.Errorf("after its reset: %v %v", got["requested_hostname"], got["progress_stages"])
	}
}

// TestImportedCluster has nothing but what it was imported with.
func TestImportedCluster(t *testing.T) {
	b := newBench(t, nil)
	asked := fields{"name": "imported", "openshift_cluster_id": nobody, "api_vip_dnsname": "api.imported.example.com"}
	first := b.must("POST", "/clusters/import", asked).object()
	b.must("POST", "/clusters/import", asked) // a name need not be the only one
	cl := b.must("GET", "/clusters/"+first["id"].(string), nil).object()
	for _, field := range []string{"ocp_release_image", "total_host_count", "enabled_host_count", "ready_host_count", "pull_secret_set", "feature_usage"} {
		if v := cl[field]; v != nil && v != false {
			t.Errorf("%s is %v", field, v)
		}
	}
	b.must("POST", "/infra-envs", fields{"name": "ie", "pull_secret": pullSecret, "cluster_id": first["id"]})
	delete(asked, "api_vip_dnsname")
	b.says("", "POST", "/clusters/import", asked, 400, "api_vip_dnsname in body is required")
}

// TestFailureOfAControlPlaneHost fails all others with it, but only the culprit
// says what happened.
func TestFailureOfAControlPlaneHost(t *testing.T) {
	b := installing(t, 3)
	culprit := slices.IndexFunc(b.machines, func(m *machine) bool { return m.get()["bootstrap"] == nil })
	for i, m := range b.machines {
		if i != culprit {
			m.walk(model.StageDone)
			continue
		}
		m.stage(model.StageStarting, "")
		m.stage(model.StageFailed, "disk on fire")
	}
	b.pass(time.Minute)
	if got := b.get(); got["status"] != model.ClusterError || got["status_info"] != "cluster has hosts in error" {
		t.Errorf("%v %v", got["status"], got["status_info"])
	}
	for i, m := range b.machines {
		want := "Host is part of a cluster that failed to install"
		if i == culprit {
			want = "Failed - disk on fire"
		}
		if got := m.get(); got["status"] != model.HostError || got["status_info"] != want {
			t.Errorf("%s: %v %q", m.name, got["status"], got["status_info"])
		}
	}
	path := "/clusters/" + b.cluster
	for _, tc := range []struct {
		method, path string
		status       int
	}{{"POST", "/actions/install", 409}, {"PATCH", "", 409}, {"GET", "/credentials", 409}, {"POST", "/actions/cancel", 202}} {
		if a := b.call(tc.method, path+tc.path, fields{}); a.status != tc.status {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, a.status, a.text)
		}
	}
}
