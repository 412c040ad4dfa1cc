package service

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// send is a call with a body of a type.
func (b *bench) send(method, path, kind, body string) answer {
	b.t.Helper()
	r := httptest.NewRequest(method, Base+"/v2"+path, strings.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	b.s.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String(), w.Header()}
}

// TestLogsAreAForm sends logs as what they are not: JSON is read as a form without success, other types are not read.
func TestLogsAreAForm(t *testing.T) {
	b := compact(t, 0)
	path := "/clusters/" + b.cluster + "/logs"
	const noForm = `reading file "upfile" failed: request Content-Type isn't multipart/form-data`
	for _, tc := range []struct {
		query, kind, body string
		status            int
		reason            string
	}{
		{"?logs_type=controller", "application/json", "{}", 400, noForm},
		{"", "application/json", "{}", 400, "logs_type in query is required"},
		{"?logs_type=controller", "", "", 400, noForm},
		{"?logs_type=controller", "text/plain", "x", 415, `unsupported media type "text/plain", only [multipart/form-data application/json] are allowed`},
	} {
		if a := b.send("POST", path+tc.query, tc.kind, tc.body); a.status != tc.status || a.reason() != tc.reason {
			t.Errorf("%+v: %d %s", tc, a.status, a.text)
		}
	}
}

// TestAnswersAboutHosts asks about hosts what their state, or that they are not there, does not allow.
func TestAnswersAboutHosts(t *testing.T) {
	b := compact(t, 3)
	m := b.machines[0]
	says := func(what, method, path string, body any, status int, reason string) {
		t.Helper()
		if a := b.call(method, path, body); a.status != status || a.reason() != reason {
			t.Errorf("%s: %d %s, want %d %s", what, a.status, a.text, status, reason)
		}
	}
	none := "/hosts/" + nobody
	missing := "host " + nobody + " not found in infra env " + b.infraEnv
	says("Ignition of an unknown host", "GET", "/infra-envs/"+b.infraEnv+none+"/ignition", nil, 404, missing)
	says("its download", "GET", "/infra-env/"+b.infraEnv+none+"/downloads/ignition", nil, 404, missing)
	says("no stage before one", "PUT", m.path()+"/progress", fields{}, 200, "")
	says("an unknown stage", "PUT", m.path()+"/progress", fields{"current_stage": "Dancing"}, 400,
		"current_stage in body should be one of "+fmt.Sprint(model.AllStages()))
	b.install()
	m.poll()
	m.stage(model.StageStarting, "")
	says("no stage after one", "PUT", m.path()+"/progress", fields{}, 409,
		fmt.Sprintf("Stages  isn't available for host role master bootstrap %v", m.get()["bootstrap"] == true))
	says("nothing of a host in progress", "PATCH", m.path(), fields{}, 201, "")
	for _, one := range b.machines {
		one.walk(model.StageDone)
	}
	b.finalize()
	const frozen = "Host is in installed state, host can be updated only in one of [discovering known disconnected insufficient " +
		"pending-for-input installing-in-progress disconnected-unbound insufficient-unbound discovering-unbound known-unbound] states"
	says("nothing of an installed host", "PATCH", m.path(), fields{}, 409, frozen)
	says("no stage of an installed host", "PUT", m.path()+"/progress", fields{}, 409, "Can't set progress <> to host in status <installed>")
}

// TestAllocationOfVIPs is refused where an architecture is looked at: one that the request names, or an infra-env's.
func TestAllocationOfVIPs(t *testing.T) {
	b := newBench(t, nil)
	const refused = "cannot use VIP Automatic Allocation because it's not compatible with the x86_64 architecture on version 4.21.28 of OpenShift"
	asked := fields{"name": "c", "openshift_version": "4.21", "pull_secret": pullSecret, "vip_dhcp_allocation": true}
	id := b.must("POST", "/clusters", asked).object()["id"].(string)
	asked["cpu_architecture"] = "x86_64"
	b.says("with an architecture", "POST", "/clusters", asked, 400, refused)
	b.says("an infra-env", "POST", "/infra-envs", fields{"name": "ie", "pull_secret": pullSecret, "cluster_id": id}, 400, refused)
	delete(asked, "vip_dhcp_allocation")
	asked["name"] = "d"
	id = b.must("POST", "/clusters", asked).object()["id"].(string)
	b.must("PATCH", "/clusters/"+id, fields{"vip_dhcp_allocation": true})
	b.must("PATCH", "/clusters/"+id, fields{"vip_dhcp_allocation": false})
	b.must("POST", "/infra-envs", fields{"name": "ie", "pull_secret": pullSecret, "cluster_id": id})
	b.says("with an infra-env", "PATCH", "/clusters/"+id, fields{"vip_dhcp_allocation": true}, 400, refused)
}

// TestEventsOfAReset: each event of a reset comes after the state that it names, and no event asks for a reboot of a machine.
func TestEventsOfAReset(t *testing.T) {
	b := installing(t, 3)
	b.must("POST", "/clusters/"+b.cluster+"/actions/cancel", nil)
	before := len(b.names())
	b.must("POST", "/clusters/"+b.cluster+"/actions/reset", nil)
	want := []string{"cluster_status_updated", "cluster_installation_reset"}
	for range b.machines {
		want = append(want, "host_status_updated", "host_installation_reset")
	}
	if got := b.names()[before:]; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// names are those of all events of the cluster, the oldest first.
func (b *bench) names() []string {
	b.t.Helper()
	var events []struct{ Name string }
	if err := json.Unmarshal([]byte(b.must("GET", "/events?order=ascending&cluster_id="+b.cluster, nil).text), &events); err != nil {
		b.t.Fatal(err)
	}
	names := make([]string, 0, len(events))
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}

// TestStepsOfAddedHosts asks a host that is to be added for its inventory first, and last once it is ready; its Ignition
// is made by the call that installs it.
func TestStepsOfAddedHosts(t *testing.T) {
	b := newBench(t, nil)
	imported := b.must("POST", "/clusters/import", fields{"name": "imported", "openshift_cluster_id": nobody, "api_vip_dnsname": "api.imported.example.com"}).object()
	b.cluster = imported["id"].(string)
	b.infraEnv = b.must("POST", "/infra-envs", fields{"name": "ie", "pull_secret": pullSecret, "cluster_id": b.cluster}).object()["id"].(string)
	m := b.boot()
	steps := func() string {
		var next instructions
		if err := json.Unmarshal([]byte(b.must("GET", m.path()+"/instructions", nil).text), &next); err != nil {
			t.Fatal(err)
		}
		kinds := []string{}
		for _, s := range next.Instructions {
			kinds = append(kinds, string(s.StepType))
		}
		return strings.Join(kinds, " ")
	}
	said := map[string]string{}
	for range 8 {
		state := m.state()
		if said[state] == "" {
			said[state] = steps()
		}
		b.pass(10 * time.Second)
	}
	for state, want := range map[string]string{
		model.HostDiscovering:  "inventory ntp-synchronizer domain-resolution",
		model.HostInsufficient: "inventory api-vip-connectivity-check ntp-synchronizer domain-resolution",
		model.HostKnown:        "api-vip-connectivity-check inventory ntp-synchronizer domain-resolution",
	} {
		if got, seen := said[state]; seen && got != want || !seen && state != model.HostInsufficient {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	name := model.RoleWorker + "-" + m.id + ".ign"
	b.says("before its install call", "GET", m.path()+"/ignition", nil, 500, "object "+b.cluster+"/"+name+" was not found")
	b.must("POST", m.path()+"/actions/install", nil)
	if a := b.must("GET", "/infra-env/"+b.infraEnv+"/hosts/"+m.id+"/downloads/ignition", nil); !strings.Contains(a.header.Get("Content-Disposition"), name) {
		t.Errorf("%v", a.header)
	}
}
