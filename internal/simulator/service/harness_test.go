package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

const (
	pullSecret = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA=="},"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}`
	sshKey     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ demo@example.com"
)

// bench is a service on a clock that the test moves, spoken to as over HTTP.
type bench struct {
	t        *testing.T
	clock    *handClock
	s        *Service
	cluster  string
	infraEnv string
	machines []*machine
}

func newBench(t *testing.T, sc *scenario.Scenario) *bench {
	t.Helper()
	clock := &handClock{at: time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)}
	return &bench{t: t, clock: clock, s: New(Config{Clock: clock, Seed: 7, Scenario: sc})}
}

// madeBench is a bench with a cluster and its infra-env.
func madeBench(t *testing.T, extra fields) *bench {
	t.Helper()
	b := newBench(t, nil)
	b.make(extra)
	return b
}

// compact is a bench with a cluster of n machines, which have registered.
func compact(t *testing.T, n int) *bench {
	t.Helper()
	b := newBench(t, nil)
	b.compact(n)
	return b
}

// ready is a bench with a cluster of n machines that can be installed.
func ready(t *testing.T, n int) *bench {
	t.Helper()
	b := compact(t, n)
	b.until(model.ClusterReady)
	return b
}

// installing is a bench with a cluster of n machines that are being installed.
func installing(t *testing.T, n int) *bench {
	t.Helper()
	b := compact(t, n)
	b.install()
	return b
}

// answer is what came back.
type answer struct {
	status int
	text   string
	header http.Header
}

// reason is the message of a refusal in either shape.
func (a answer) reason() string {
	var both struct{ Reason, Message string }
	_ = json.Unmarshal([]byte(a.text), &both) // an answer without either has none
	return both.Reason + both.Message
}

// object is the answer as a JSON object.
func (a answer) object() map[string]any {
	var o map[string]any
	_ = json.Unmarshal([]byte(a.text), &o) // the caller sees that it is empty
	return o
}

func (b *bench) call(method, path string, body any) answer {
	b.t.Helper()
	var text []byte
	switch v := body.(type) {
	case nil:
	case string:
		text = []byte(v)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			b.t.Fatal(err)
		}
		text = data
	}
	r := httptest.NewRequest(method, Base+"/v2"+path, bytes.NewReader(text))
	w := httptest.NewRecorder()
	b.s.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String(), w.Header()}
}

// must is call for what has to succeed.
func (b *bench) must(method, path string, body any) answer {
	b.t.Helper()
	a := b.call(method, path, body)
	if a.status >= 300 {
		b.t.Fatalf("%s %s: %d %s", method, path, a.status, a.text)
	}
	return a
}

// says makes a call that is to be answered with a status and, where it is a refusal, a reason.
func (b *bench) says(what, method, path string, body any, status int, reason string) {
	b.t.Helper()
	if a := b.call(method, path, body); a.status != status || a.reason() != reason {
		b.t.Errorf("%s: %d %s, want %d %s", cmp.Or(what, method+" "+path), a.status, a.text, status, reason)
	}
}

// answers makes a call that is to be answered with a status, and for any reason.
func (b *bench) answers(what, method, path string, body any, status int) {
	b.t.Helper()
	if a := b.call(method, path, body); a.status != status {
		b.t.Errorf("%s: %d %s, want %d", cmp.Or(what, method+" "+path), a.status, a.text, status)
	}
}

type fields map[string]any

// make registers a cluster and its infra-env.
func (b *bench) make(extra fields) {
	b.t.Helper()
	params := fields{"name": "c", "base_dns_domain": "example.com", "openshift_version": "4.21", "pull_secret": pullSecret, "ssh_public_key": sshKey}
	for k, v := range extra {
		params[k] = v
	}
	b.cluster = b.must("POST", "/clusters", params).object()["id"].(string)
	b.infraEnv = b.must("POST", "/infra-envs", fields{"name": "ie", "pull_secret": pullSecret, "cluster_id": b.cluster, "openshift_version": "4.21"}).object()["id"].(string)
}

// compact registers a cluster with virtual addresses and n machines.
func (b *bench) compact(n int) {
	b.t.Helper()
	b.make(fields{"api_vips": []fields{{"ip": "10.0.0.100"}}, "ingress_vips": []fields{{"ip": "10.0.0.101"}}})
	for range n {
		b.boot()
	}
}

// machine is an agent that answers what it is asked.
type machine struct {
	b        *bench
	id, name string
	index    int
	infraEnv string
	silent   bool
	diskMs   int
	badDisk  bool // its speed cannot be measured
	badImage bool
	noPull   bool // it does not answer whether it could pull
	pulls    int  // steps to pull images received
	cpus     int
	installs int // install steps received
	unclean  func(inventory map[string]any)
	sees     func(models.Step) // is shown every step; may be nil
	unsynced bool
}

// boot adds a machine and registers it.
func (b *bench) boot() *machine {
	b.t.Helper()
	i := len(b.machines)
	m := &machine{b: b, index: i, name: fmt.Sprintf("host-%d", i), infraEnv: b.infraEnv, diskMs: 5, cpus: 16,
		id: fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)}
	b.machines = append(b.machines, m)
	m.register()
	return m
}

func (m *machine) path() string { return "/infra-envs/" + m.infraEnv + "/hosts/" + m.id }

func (m *machine) register() answer {
	m.b.t.Helper()
	return m.b.call("POST", "/infra-envs/"+m.infraEnv+"/hosts", fields{"host_id": m.id, "discovery_agent_version": versions.AgentImage})
}

func (m *machine) address() string { return fmt.Sprintf("10.0.0.%d", 10+m.index) }
func (m *machine) mac() string     { return fmt.Sprintf("52:54:00:00:00:%02x", m.index) }

func (m *machine) inventory() string {
	inv := fields{
		"hostname": m.name, "cpu": fields{"architecture": "x86_64", "count": m.cpus, "flags": []string{"vmx"}},
		"memory": fields{"physical_bytes": 32 << 30, "usable_bytes": 32 << 30},
		"disks": []fields{
			{"id": "/dev/disk/by-id/a", "name": "sda", "path": "/dev/sda", "drive_type": "HDD", "size_bytes": 120_000_000_000, "model": "DISK", "serial": "S1"},
			{"id": "/dev/disk/by-id/b", "name": "sdb", "path": "/dev/sdb", "drive_type": "SSD", "size_bytes": 480_000_000_000},
			{"id": "/dev/disk/by-id/c", "name": "sdc", "path": "/dev/sdc", "drive_type": "SSD", "size_bytes": 20_000_000_000},
		},
		"interfaces":    []fields{{"name": "eth0", "mac_address": m.mac(), "ipv4_addresses": []string{m.address() + "/24"}, "ipv6_addresses": []string{}}},
		"routes":        []fields{{"interface": "eth0", "destination": "0.0.0.0", "gateway": "10.0.0.1", "family": 2}},
		"system_vendor": fields{"manufacturer": "Acme", "product_name": "Box"}, "tpm_version": "2.0",
	}
	if m.unclean != nil {
		m.unclean(inv)
	}
	return model.InString(inv)
}

// poll asks once what to do and does it.
func (m *machine) poll() {
	m.b.t.Helper()
	if m.silent {
		return
	}
	a := m.b.call("GET", fmt.Sprintf("%s/instructions?timestamp=%d", m.path(), m.b.clock.at.Unix()), nil)
	var next instructions
	if a.status != 200 || json.Unmarshal([]byte(a.text), &next) != nil {
		return
	}
	for _, s := range next.Instructions {
		if s.StepType == steps.StepInstall {
			m.installs++
		}
		if m.sees != nil {
			m.sees(s)
		}
		if s.StepType == steps.StepDiskSpeed && m.badDisk {
			m.b.call("POST", m.path()+"/instructions", fields{"step_id": s.StepID, "step_type": s.StepType, "exit_code": 1, "error": "input/output error"})
			continue
		}
		output := m.output(s)
		if output == "" {
			continue
		}
		m.b.call("POST", m.path()+"/instructions", fields{"step_id": s.StepID, "step_type": s.StepType, "exit_code": 0, "output": output})
	}
	if next.PostAction == "exit" {
		m.register()
	}
}

func (m *machine) output(s models.Step) string {
	switch s.StepType {
	case steps.StepInventory:
		return m.inventory()
	case steps.StepNTP:
		if m.unsynced {
			return `{"ntp_sources":[{"source_name":"clock","source_state":"unreachable"}]}`
		}
		return `{"ntp_sources":[{"source_name":"clock","source_state":"synced"}]}`
	case steps.StepDomains:
		var asked models.DomainResolutionRequest
		_ = json.Unmarshal([]byte(s.Args[0]), &asked) // the service's own encoding
		var r models.DomainResolutionResponse
		for _, d := range asked.Domains {
			one := &models.DomainResolutionResponseDomain{DomainName: d.DomainName}
			if !strings.HasPrefix(*d.DomainName, "validateNoWildcardDNS") {
				one.IPV4Addresses = []strfmt.IPv4{"10.0.0.100"}
			}
			r.Resolutions = append(r.Resolutions, one)
		}
		return model.InString(r)
	case steps.StepVips:
		return strings.ReplaceAll(s.Args[0], `"}`, `","verification":"succeeded"}`)
	case steps.StepDiskSpeed:
		return fmt.Sprintf(`{"io_sync_duration":%d,"path":"/dev/disk/by-id/a"}`, m.diskMs)
	case steps.StepAPIVip:
		return `{"is_success":true,"ignition":"{}","url":"http://x"}`
	}
	return m.measured(s)
}

func (m *machine) measured(s models.Step) string {
	switch s.StepType {
	case steps.StepConnectivity:
		var peers models.ConnectivityCheckParams
		_ = json.Unmarshal([]byte(s.Args[0]), &peers) // the service's own encoding
		var r models.ConnectivityReport
		for _, p := range peers {
			remote := &models.ConnectivityRemoteHost{HostID: p.HostID}
			for _, n := range p.Nics {
				for _, ip := range n.IPAddresses {
					remote.L2Connectivity = append(remote.L2Connectivity, &models.L2Connectivity{OutgoingIPAddress: m.address(), OutgoingNic: "eth0", RemoteIPAddress: ip, RemoteMac: n.Mac.String(), Successful: true})
					remote.L3Connectivity = append(remote.L3Connectivity, &models.L3Connectivity{AverageRTTMs: 0.3, OutgoingNic: "eth0", RemoteIPAddress: ip, Successful: true})
					remote.MtuReport = append(remote.MtuReport, &models.MtuReport{MtuSuccessful: true, OutgoingNic: "eth0", RemoteIPAddress: ip})
				}
			}
			r.RemoteHosts = append(r.RemoteHosts, remote)
		}
		return model.InString(r)
	case steps.StepImages:
		var asked struct{ Images []string }
		_ = json.Unmarshal([]byte(s.Args[0]), &asked) // the service's own encoding
		var results []models.ContainerImageAvailability
		m.pulls++
		if m.noPull {
			return ""
		}
		for _, image := range asked.Images {
			result := "success"
			if m.badImage {
				result = "failure"
			}
			results = append(results, models.ContainerImageAvailability{Name: image, Result: models.ContainerImageAvailabilityResult(result), Time: 5, SizeBytes: 1e6, DownloadRate: 60})
		}
		return model.InString(fields{"images": results})
	}
	return ""
}

// pass lets time go by: everybody polls and the monitor ticks, every ten seconds.
func (b *bench) pass(span time.Duration) {
	b.t.Helper()
	for end := b.clock.at.Add(span); b.clock.at.Before(end); {
		b.clock.at = b.clock.at.Add(10 * time.Second)
		for _, m := range b.machines {
			m.poll()
		}
		b.s.tick()
	}
}

// until passes time until the cluster is in the state.
func (b *bench) until(state string) {
	b.t.Helper()
	for range 60 {
		if b.status() == state {
			return
		}
		b.pass(10 * time.Second)
	}
	b.t.Fatalf("the cluster is %s, not %s: %s", b.status(), state, b.get()["validations_info"])
}

func (b *bench) get() map[string]any { return b.must("GET", "/clusters/"+b.cluster, nil).object() }
func (b *bench) status() string      { return b.get()["status"].(string) }

func (m *machine) get() map[string]any {
	m.b.t.Helper()
	return m.b.must("GET", m.path(), nil).object()
}

func (b *bench) inState(state string) {
	b.t.Helper()
	if got := b.status(); got != state {
		b.t.Errorf("the cluster is %s, want %s", got, state)
	}
}

func (m *machine) inState(state string) {
	m.b.t.Helper()
	if got := m.state(); got != state {
		m.b.t.Errorf("%s is %s, want %s", m.name, got, state)
	}
}

func (m *machine) state() string { return m.get()["status"].(string) }

// stage reports a stage and tells the answer.
func (m *machine) stage(name, info string) answer {
	m.b.t.Helper()
	return m.b.call("PUT", m.path()+"/progress", fields{"current_stage": name, "progress_info": info})
}

// walk goes through the stages of the machine's role, up to and including last.
func (m *machine) walk(last string) {
	m.b.t.Helper()
	from := m.progressed()
	for _, s := range m.get()["progress_stages"].([]any) {
		name := s.(string)
		if name == model.StageCopying {
			continue
		}
		if from != "" {
			if name == from {
				from = ""
			}
			continue
		}
		if a := m.stage(name, ""); a.status != 200 {
			m.b.t.Fatalf("%s: %s: %d %s", m.name, name, a.status, a.text)
		}
		if name == last {
			return
		}
	}
}

// walk has all machines go through the stages of their roles, up to and including last.
func (b *bench) walk(last string) {
	b.t.Helper()
	for _, m := range b.machines {
		m.walk(last)
	}
}

// walkAway is walk for machines of which nothing more is heard.
func (b *bench) walkAway(last string) {
	b.t.Helper()
	for _, m := range b.machines {
		m.walk(last)
		m.silent = true
	}
}

func (m *machine) progressed() string {
	p, _ := m.get()["progress"].(map[string]any)
	stage, _ := p["current_stage"].(string)
	return stage
}

// install starts the installation and brings it to where machines install.
func (b *bench) install() {
	b.t.Helper()
	b.until(model.ClusterReady)
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.until(model.ClusterInstalling)
	b.pass(20 * time.Second)
}

// finalize does the controller's part.
func (b *bench) finalize() {
	b.t.Helper()
	b.until(model.ClusterFinalizing)
	path := "/clusters/" + b.cluster
	b.must("PUT", path+"/progress", fields{"finalizing_stage": model.FinalizingOperator})
	b.must("PUT", path+"/monitored-operators", fields{"name": "console", "status": "available", "version": "4.21.28"})
	b.must("POST", path+"/uploads/ingress-cert", model.InString("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
	b.must("PUT", path+"/progress", fields{"finalizing_stage": model.FinalizingDone})
	b.must("POST", path+"/actions/complete-installation", fields{"is_success": true})
	b.until(model.ClusterInstalled)
}
