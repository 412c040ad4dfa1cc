package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service"
)

// These tests hold the two halves of the simulator against each other, over HTTP
// within a bubble where time passes at once.

// site is a service with machines, and a person's view of it.
type site struct {
	t        *testing.T
	ctx      context.Context
	client   *http.Client
	cluster  string
	infraEnv string
	mu       sync.Mutex
	log      []string
	started  time.Time
	group    sync.WaitGroup
	fleetErr error
}

const baseURL = "http://service.example.com/api/assisted-install/v2"

type seenHost struct {
	ID         string `json:"id"`
	Name       string `json:"requested_hostname"`
	Status     string `json:"status"`
	StatusInfo string `json:"status_info"`
	Role       string `json:"role"`
	Progress   struct {
		Stage string `json:"current_stage"`
	} `json:"progress"`
	Validations string `json:"validations_info"`
}

type seenCluster struct {
	Status      string     `json:"status"`
	StatusInfo  string     `json:"status_info"`
	Hosts       []seenHost `json:"hosts"`
	Logs        string     `json:"logs_info"`
	Validations string     `json:"validations_info"`
}

// inSite runs do at a site with a cluster of so many control plane nodes. The
// script is the name of an example, or rules about hosts.
func inSite(t *testing.T, controlPlanes int, script string, do func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		trouble, err := scenario.Load("../../../examples/scenarios/" + script + ".yaml")
		if strings.Contains(script, ":") {
			trouble, err = scenario.Parse("test.yaml", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nspec:\n  hosts:\n"+script))
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Hour)
		svc := service.New(service.Config{Clock: clock.Real(), Seed: 1, Scenario: trouble, PublicURL: func() string { return "http://service.example.com" }})
		client, closeService := host.Serve(ctx, svc)
		s := &site{t: t, ctx: ctx, client: client, started: time.Now()}
		s.group.Go(func() { _ = svc.Run(ctx) })
		defer func() {
			stop()
			closeService()
			s.group.Wait()
			if t.Failed() || testing.Verbose() {
				for _, line := range s.log {
					t.Log(line)
				}
			}
		}()
		s.create(controlPlanes)
		s.boot(0, max(controlPlanes, 1), trouble, host.Day1)
		do(s)
	})
}

func (s *site) logf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%8s %s", time.Since(s.started).Round(time.Second), fmt.Sprintf(format, args...)))
}

// boot switches on machines from to (not included) of the site's image.
func (s *site) boot(from, to int, trouble *scenario.Scenario, day host.BootDay) {
	var list []host.Machine
	for i := from; i < to; i++ {
		m, err := host.NewMachine(1, i, host.Network{})
		if err != nil {
			s.t.Fatal(err)
		}
		m.Name = fmt.Sprintf("cp-%d", i)
		if i >= 3 {
			m.Name = fmt.Sprintf("worker-%d", i-3)
		}
		m.Hostname = m.Name
		list = append(list, m)
	}
	infraEnv := s.infraEnv
	s.group.Go(func() {
		err := host.Run(s.ctx, host.Config{
			ServiceURL: "http://service.example.com", HTTPClient: s.client, InfraEnvID: infraEnv, Machines: list,
			Clock: clock.Real(), Seed: 1, Scenario: trouble, Boot: day, Logf: s.logf,
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fleetErr = err
	})
}

const pullSecret = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA==","email":"a@example.com"},"quay.io":{"auth":"dXNlcjpwYXNzd29yZA==","email":"a@example.com"}}}`

func (s *site) create(controlPlanes int) {
	body := map[string]any{
		"name": "c", "base_dns_domain": "example.com", "openshift_version": "4.20", "pull_secret": pullSecret,
		"control_plane_count": controlPlanes,
	}
	if controlPlanes > 1 {
		body["api_vips"] = []any{map[string]any{"ip": "192.168.127.100"}}
		body["ingress_vips"] = []any{map[string]any{"ip": "192.168.127.101"}}
	}
	var made struct{ ID string }
	s.call(http.MethodPost, "/clusters", body, &made)
	s.cluster = made.ID
	s.image("4.20")
}

func (s *site) image(version string) {
	var made struct{ ID string }
	s.call(http.MethodPost, "/infra-envs", map[string]any{
		"name": "c", "pull_secret": pullSecret, "cluster_id": s.cluster, "openshift_version": version, "cpu_architecture": "x86_64",
	}, &made)
	s.infraEnv = made.ID
}

func (s *site) call(method, path string, in, out any) {
	s.t.Helper()
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			s.t.Fatal(err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(s.ctx, method, baseURL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		s.t.Fatalf("%s %s: HTTP %d: %s", method, path, resp.StatusCode, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) look() seenCluster {
	s.t.Helper()
	var c seenCluster
	s.call(http.MethodGet, "/clusters/"+s.cluster, nil, &c)
	return c
}

// until looks at the cluster until ok, and fails after the limit.
func (s *site) until(what string, limit time.Duration, ok func(seenCluster) bool) seenCluster {
	s.t.Helper()
	end := time.Now().Add(limit)
	for {
		c := s.look()
		if ok(c) {
			s.logf("person: %s", what)
			return c
		}
		if time.Now().After(end) {
			s.t.Fatalf("no %s after %s: cluster %s: %s\n%s\nhosts: %s", what, limit, c.Status, c.StatusInfo, failing(c.Validations), c.hosts())
		}
		time.Sleep(5 * time.Second)
	}
}

func (c seenCluster) hosts() string {
	var text strings.Builder
	for _, h := range c.Hosts {
		fmt.Fprintf(&text, "\n  %s %s %s %s %s %s", h.Name, h.Role, h.Status, h.Progress.Stage, h.StatusInfo, failing(h.Validations))
	}
	return text.String()
}

// failing lists the validations that do not succeed.
func failing(validations string) string {
	var all map[string][]struct{ ID, Status, Message string }
	_ = json.Unmarshal([]byte(validations), &all)
	var list []string
	for _, category := range all {
		for _, v := range category {
			if !strings.HasPrefix(v.Status, "success") && v.Status != "disabled" {
				list = append(list, v.ID+"="+v.Status)
			}
		}
	}
	return strings.Join(list, " ")
}

func status(want string) func(seenCluster) bool {
	return func(c seenCluster) bool { return c.Status == want }
}

func (s *site) install() {
	s.until("ready", 30*time.Minute, status("ready"))
	s.call(http.MethodPost, "/clusters/"+s.cluster+"/actions/install", nil, nil)
}

func (c seenCluster) host(name string) seenHost {
	for _, h := range c.Hosts {
		if h.Name == name {
			return h
		}
	}
	return seenHost{}
}

func TestBothHalvesInstall(t *testing.T) {
	for _, controlPlanes := range []int{1, 3} {
		t.Run(fmt.Sprint(controlPlanes), func(t *testing.T) {
			inSite(t, controlPlanes, "  - {match: {name: nobody}, do: fail}\n", func(s *site) {
				s.install()
				s.until("installed", 3*time.Hour, status("installed"))
				if took := time.Since(s.started); took < 40*time.Minute || took > 65*time.Minute {
					s.t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestBothHalvesWithWorkersAndDayTwo(t *testing.T) {
	inSite(t, 3, "  - {match: {name: nobody}, do: fail}\n", func(s *site) {
		s.boot(3, 5, nil, host.Day1)
		s.until("five hosts", 30*time.Minute, func(c seenCluster) bool { return len(c.Hosts) == 5 })
		s.install()
		c := s.until("installed", 3*time.Hour, status("installed"))
		if strings.Count(c.hosts(), " installed Done") != 5 {
			s.t.Errorf("hosts: %s", c.hosts())
		}
		s.call(http.MethodPost, "/clusters/"+s.cluster+"/actions/allow-add-hosts", nil, nil)
		s.image("4.20")
		s.boot(5, 6, nil, host.Day2)
		c = s.until("sixth host known", time.Hour, func(c seenCluster) bool { return c.host("worker-2").Status == "known" })
		s.call(http.MethodPost, "/infra-envs/"+s.infraEnv+"/hosts/"+c.host("worker-2").ID+"/actions/install", nil, nil)
		s.until("sixth host added", 2*time.Hour, func(c seenCluster) bool { return c.host("worker-2").Status == "added-to-existing-cluster" })
	})
}

func TestBothHalvesInTrouble(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		check        func(s *site)
	}{
		{"disk too small", "disk-too-small", func(s *site) {
			s.until("bad disk", time.Hour, func(c seenCluster) bool {
				return strings.Contains(failing(c.host("cp-1").Validations), "has-min-valid-disks=failure")
			})
		}},
		{"wrong network", "wrong-network", func(s *site) {
			s.until("wrong network", time.Hour, func(c seenCluster) bool {
				return strings.Contains(failing(c.host("cp-2").Validations), "belongs-to-machine-cidr=failure")
			})
		}},
		{"duplicate hostname", "duplicate-hostname", func(s *site) {
			s.until("same name twice", time.Hour, func(c seenCluster) bool {
				return strings.Contains(failing(c.host("cp-0").Validations), "hostname-unique=failure")
			})
		}},
		{"DNS answers for every name", "dns-wildcard", func(s *site) {
			s.until("wildcard", time.Hour, func(c seenCluster) bool {
				return strings.Contains(failing(c.host("cp-1").Validations), "dns-wildcard-not-configured=failure")
			})
		}},
		{"clock", "no-ntp", func(s *site) {
			s.until("wrong time", time.Hour, func(c seenCluster) bool {
				f := failing(c.host("cp-2").Validations)
				return strings.Contains(f, "time-synced-between-host-and-service=failure") && strings.Contains(f, "ntp-synced=failure")
			})
		}},
		{"agent stops", "agent-stops", func(s *site) {
			s.until("disconnected", time.Hour, func(c seenCluster) bool { return c.host("cp-1").Status == "disconnected" })
		}},
		{"slow disk", "slow-disk", func(s *site) {
			s.install()
			s.until("slow disk", time.Hour, func(c seenCluster) bool {
				return strings.Contains(failing(c.host("cp-1").Validations), "sufficient-installation-disk-speed=failure")
			})
		}},
		{"image", "image-pull-failure", func(s *site) {
			s.install()
			s.until("no image", time.Hour, func(c seenCluster) bool {
				return strings.Contains(failing(c.host("cp-1").Validations), "container-images-available=failure")
			})
		}},
		{"control plane fails, then reset", "control-plane-lost", func(s *site) {
			s.install()
			c := s.until("error", 2*time.Hour, status("error"))
			if h := c.host("cp-1"); h.Status != "error" || !strings.Contains(h.StatusInfo, "input/output error") {
				s.t.Errorf("host %+v", h)
			}
			s.call(http.MethodPost, "/clusters/"+s.cluster+"/actions/reset", nil, nil)
			s.until("reset", time.Hour, status("insufficient"))
			s.install()
			s.until("installed", 3*time.Hour, status("installed"))
		}},
		{"power off", "  - {match: {name: cp-1}, at: {stage: Writing image to disk}, do: power-off}\n", func(s *site) {
			s.install()
			s.until("error", 3*time.Hour, status("error"))
		}},
		{"boots the ISO again", "boots-iso-again", func(s *site) {
			s.install()
			s.until("pending user", 2*time.Hour, status("installing-pending-user-action"))
			s.until("installed", 3*time.Hour, status("installed"))
		}},
		{"host never boots", "host-never-boots", func(s *site) {
			time.Sleep(time.Hour)
			if c := s.look(); len(c.Hosts) != 2 || c.Status == "ready" {
				s.t.Errorf("cluster %s with %s", c.Status, c.hosts())
			}
		}},
		{"worker lost", "worker-lost", func(s *site) {
			trouble, err := scenario.Load("../../../examples/scenarios/worker-lost.yaml")
			if err != nil {
				s.t.Fatal(err)
			}
			s.boot(3, 6, trouble, host.Day1)
			c := s.until("six hosts", time.Hour, func(c seenCluster) bool {
				return len(c.Hosts) == 6 && !slices.ContainsFunc(c.Hosts, func(h seenHost) bool { return h.Name == h.ID })
			})
			for _, h := range c.Hosts {
				role := "worker"
				if strings.HasPrefix(h.Name, "cp-") {
					role = "master"
				}
				s.call(http.MethodPatch, "/infra-envs/"+s.infraEnv+"/hosts/"+h.ID, map[string]any{"host_role": role}, nil)
			}
			s.install()
			c = s.until("installed", 4*time.Hour, status("installed"))
			if h := c.host("worker-1"); h.Status != "error" || !strings.Contains(c.StatusInfo, "workers") {
				s.t.Errorf("cluster %s, host %+v", c.StatusInfo, h)
			}
		}},
		{"stalled node", "  - {match: {name: cp-1}, at: {stage: Configuring}, do: stall}\n", func(s *site) {
			s.install()
			// The bootstrap host waits for cp-1, and its time is over first.
			c := s.until("stage timed out", 4*time.Hour, func(c seenCluster) bool { return c.host("cp-2").Status == "error" })
			if info := c.host("cp-2").StatusInfo; !strings.Contains(info, "Waiting for control plane took longer than expected 1h0m0s") {
				s.t.Errorf("cp-2 says %q", info)
			}
			s.until("error", time.Minute, status("error"))
		}},
		{"operators", "operators-time-out", func(s *site) {
			s.install()
			s.until("finalizing", 4*time.Hour, status("finalizing"))
			time.Sleep(5*time.Hour - time.Minute)
			if c := s.look(); c.Status != "finalizing" {
				s.t.Errorf("too early: %s: %s", c.Status, c.StatusInfo)
			}
			c := s.until("error", 5*time.Minute, status("error"))
			if c.StatusInfo != "Cluster installation timeout while finalizing" {
				s.t.Errorf("the cluster says %q", c.StatusInfo)
			}
			s.until("controller's logs", time.Hour, func(c seenCluster) bool { return c.Logs == "completed" })
		}},
		{"stranger", "unknown-host-appears", func(s *site) {
			s.until("four hosts", time.Hour, func(c seenCluster) bool { return len(c.Hosts) == 4 && c.host("stranger").Status == "known" })
		}},
		{"cancel and reset", "  - {match: {name: nobody}, do: fail}\n", func(s *site) {
			s.install()
			s.until("writing", time.Hour, func(c seenCluster) bool { return c.host("cp-1").Progress.Stage == "Writing image to disk" })
			s.call(http.MethodPost, "/clusters/"+s.cluster+"/actions/cancel", nil, nil)
			s.until("cancelled", time.Hour, status("cancelled"))
			s.call(http.MethodPost, "/clusters/"+s.cluster+"/actions/reset", nil, nil)
			s.install()
			s.until("installed", 3*time.Hour, status("installed"))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) { inSite(t, 3, tc.script, tc.check) })
	}
}
