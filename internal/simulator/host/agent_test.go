package host

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

func testClock() clock.Clock { return clock.Real() }

func parse(t *testing.T, hosts string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nspec:\n  hosts:\n"+hosts))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAgentStopsWhereTheServiceRefuses(t *testing.T) {
	for _, tc := range []struct {
		code     int
		attempts int // within an hour
		stops    bool
	}{
		{401, 1, true}, {403, 1, true}, {404, 1, true}, {409, 1, true}, {500, 50, false}, {503, 50, false},
	} {
		fake := newFake(t, 1, 1)
		attempts := 0
		fake.refuse = func(method, path string) int {
			if method == http.MethodPost && strings.HasSuffix(path, "/hosts") {
				attempts++
				return tc.code
			}
			return 0
		}
		out := play(t, fake, machines(t, 1), "", time.Hour)
		if attempts < tc.attempts || tc.stops && attempts > 1 || tc.stops != (out.err == nil) {
			t.Errorf("HTTP %d: %d attempts, ended with %v", tc.code, attempts, out.err)
		}
	}
}

func TestAgentFreezesWhenItsHostIsGone(t *testing.T) {
	fake := newFake(t, 3, 3)
	polls := 0
	fake.refuse = func(method, path string) int {
		if method == http.MethodGet && strings.HasSuffix(path, "/instructions") {
			if polls++; polls > 5 {
				return 404
			}
		}
		return 0
	}
	out := play(t, fake, machines(t, 1), "", time.Hour)
	if out.err != nil || polls != 6 {
		t.Errorf("polled %d times, ended with %v", polls, out.err)
	}
}

func TestAgentRegistersAgainAfterExit(t *testing.T) {
	fake := newFake(t, 3, 3)
	list := machines(t, 1)
	done := false
	fake.refuse = func(string, string) int {
		if h := fake.hosts[list[0].UUID]; h != nil && h.polls == 5 && !done {
			h.action, done = "exit", true
		}
		return 0
	}
	play(t, fake, list, "", 20*time.Minute)
	h := fake.hosts[list[0].UUID]
	if h.registrations != 2 {
		t.Errorf("registered %d times", h.registrations)
	}
	if n := len(h.replies[models.StepTypeInventory]); n != 2 {
		t.Errorf("a fresh agent sends its inventory again: %d", n)
	}
}

func TestAgentAnswersEveryStep(t *testing.T) {
	list := machines(t, 2)
	other := list[1].NICs[0]
	for _, tc := range []struct {
		stepType models.StepType
		arg      string
		want     string // part of the output
		exitCode int64
	}{
		{models.StepTypeInventory, list[0].UUID, `"hostname":"host-0"`, 0},
		{models.StepTypeConnectivityCheck, `[{"host_id":"x","nics":[{"name":"eth0","mac":"` + other.MAC + `","ip_addresses":["` + other.Addresses[0].Addr().String() + `"]}]}]`,
			`"l2_connectivity":[{"outgoing_ip_address":"192.168.127.10","outgoing_nic":"eth0","remote_ip_address":"192.168.127.11","remote_mac":"` + other.MAC + `","successful":true}]`, 0},
		{models.StepTypeConnectivityCheck, `[{"host_id":"x","nics":[{"name":"e","mac":"m","ip_addresses":["10.9.8.7/24"]}]}]`, `"l2_connectivity":[],"l3_connectivity":[{"average_rtt_ms":1.2,"outgoing_nic":"eth0","remote_ip_address":"10.9.8.7","successful":true`, 0},
		{models.StepTypeConnectivityCheck, `{`, ``, 1},
		{models.StepTypeFreeNetworkAddresses, `["192.168.127.0/24"]`, `"free_addresses":["192.168.127.0","192.168.127.2","192.168.127.3","192.168.127.4","192.168.127.5","192.168.127.6","192.168.127.7","192.168.127.8","192.168.127.9","192.168.127.12"`, 0},
		{models.StepTypeFreeNetworkAddresses, `["10.0.0.0/30"]`, `"free_addresses":["10.0.0.0","10.0.0.1","10.0.0.2","10.0.0.3"]`, 0},
		{models.StepTypeFreeNetworkAddresses, `["nowhere"]`, ``, 1},
		{models.StepTypeNtpSynchronizer, `{"ntp_source":"a.example.com,b.example.com"}`, `[{"source_name":"a.example.com","source_state":"synced"},{"source_name":"b.example.com","source_state":"combined"}]`, 0},
		{models.StepTypeDomainResolution, `{"domains":[{"domain_name":"api.c.example.com"}]}`, `"domain_name":"api.c.example.com","ipv4_addresses":["192.168.127.100"]`, 0},
		{models.StepTypeDomainResolution, `{"domains":[{"domain_name":"validateNoWildcardDNS.c.example.com."}]}`, `"ipv4_addresses":[],"ipv6_addresses":[]`, 0},
		{models.StepTypeVerifyVips, `[{"vip":"192.168.127.101","vip_type":"api"},{"vip":"192.168.127.11","vip_type":"ingress"}]`,
			`[{"vip":"192.168.127.101","vip_type":"api","verification":"succeeded"},{"vip":"192.168.127.11","vip_type":"ingress","verification":"failed"}]`, 0},
		{models.StepTypeDhcpLeaseAllocate, `{}`, `"api_vip_address":"192.168.127.100"`, 0},
		{models.StepTypeInstallationDiskSpeedCheck, `{"path":"/dev/sda"}`, `"path":"/dev/sda"`, 0},
		{models.StepTypeContainerImageAvailability, `{"images":["a"]}`, `"result":"success"`, 0},
		{models.StepTypeContainerImageAvailability, ``, ``, 1},
		{models.StepTypeAPIVipConnectivityCheck, `{"url":"http://192.168.127.100:22624/config/worker"}`, `"is_success":true`, 0},
		{models.StepTypeTangConnectivityCheck, `{"tang_servers":"[{\"url\":\"http://tang.example.com\",\"thumbprint\":\"x\"}]"}`, `"tang_url":"http://tang.example.com"`, 0},
		{models.StepTypeUpgradeAgent, `{"agent_image":"quay.io/x/agent:2"}`, `{"agent_image":"quay.io/x/agent:2","result":"success"}`, 0},
		{models.StepTypeStopInstallation, ``, ``, 0},
		{"execute", ``, ``, 0},
		{"download-boot-artifacts", ``, ``, 0},
		{"a-step-of-next-year", ``, ``, 0},
	} {
		f, err := New(Config{ServiceURL: "http://s.example.com", Clock: testClock(), InfraEnvID: fakeInfraEnv, Machines: list, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := f.lives[0].answer(&models.Step{StepType: tc.stepType, Args: []string{tc.arg}})
		if got.ExitCode != tc.exitCode || !strings.Contains(got.Output, tc.want) {
			t.Errorf("%s %s: exit code %d, output %s %s", tc.stepType, tc.arg, got.ExitCode, got.Output, got.Error)
		}
		if tc.exitCode == 0 && got.Output != "" && !json.Valid([]byte(got.Output)) {
			t.Errorf("%s: output is no JSON: %s", tc.stepType, got.Output)
		}
		if tc.exitCode != 0 && got.Error == "" {
			t.Errorf("%s: fails without saying why", tc.stepType)
		}
	}
}

func TestUpgradedAgentRegistersWithItsNewVersion(t *testing.T) {
	fake := newFake(t, 3, 3)
	list := machines(t, 1)
	fake.refuse = func(string, string) int {
		if h := fake.hosts[list[0].UUID]; h != nil {
			h.extra = nil
			if h.registrations == 1 && h.polls == 2 {
				h.extra = []*models.Step{{StepType: models.StepTypeUpgradeAgent, StepID: "u", Args: []string{`{"agent_image":"quay.io/x/agent:2"}`}}}
			}
		}
		return 0
	}
	play(t, fake, list, "", 20*time.Minute)
	h := fake.hosts[list[0].UUID]
	if h.registrations != 2 || fake.version != "quay.io/x/agent:2" {
		t.Errorf("%d registrations, the last with %q", h.registrations, fake.version)
	}
}

func TestDay2MachinesWaitForTheirCluster(t *testing.T) {
	fake := newFake(t, 3, 1)
	fake.status = "installed"
	fake.refuse = func(string, string) int {
		if fake.calls["GET clusters/C"] == 10 {
			fake.status, fake.kind = "adding-hosts", "AddHostsCluster"
		}
		if fake.status != "adding-hosts" && len(fake.hosts) > 0 {
			t.Error("registered before the cluster took hosts")
		}
		return 0
	}
	fake.day2 = true
	list := machines(t, 1)
	out := play(t, fake, list, "", 5*time.Hour)
	h := fake.hosts[list[0].UUID]
	if h == nil || h.status != "added-to-existing-cluster" || out.err != nil {
		t.Fatalf("host %+v, ended with %v", h, out.err)
	}
	want := []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWritingImageToDisk, models.HostStageRebooting}
	if diff := cmp.Diff(want, h.stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func TestMachinesSendTheirToken(t *testing.T) {
	f, err := New(Config{
		ServiceURL: "http://s.example.com/api/assisted-install/", Clock: testClock(), InfraEnvID: fakeInfraEnv, Token: "abc",
		HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("X-Secret-Key") != "abc" || r.URL.Path != "/api/assisted-install/v2/x" {
				t.Errorf("request %s with %v", r.URL, r.Header)
			}
			return nil, http.ErrHandlerTimeout
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.api.get(t.Context(), "/v2/x", nil); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("error %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func TestNewRefusesWhatCannotWork(t *testing.T) {
	good := Config{ServiceURL: "http://s.example.com", Clock: testClock(), InfraEnvID: fakeInfraEnv, Machines: machines(t, 1)}
	for name, spoil := range map[string]func(*Config){
		"no clock":        func(c *Config) { c.Clock = nil },
		"no host":         func(c *Config) { c.ServiceURL = "localhost" },
		"odd boot":        func(c *Config) { c.Boot = "day3" },
		"a machine twice": func(c *Config) { c.Machines = append(machines(t, 1), c.Machines...) },
		"no infra-env":    func(c *Config) { c.InfraEnvID = "" },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestFiveHundredMachinesAreCheap(t *testing.T) {
	fake := newFake(t, 3, 501)
	play(t, fake, machines(t, 500), "", 20*time.Minute)
	if len(fake.hosts) != 500 {
		t.Fatalf("%d hosts", len(fake.hosts))
	}
	replies := fake.calls["POST infra-envs/IE/hosts/H/instructions"]
	if replies > 500*6 {
		t.Errorf("%d replies, as if nobody remembered what was said", replies)
	}
	if lists := fake.calls["GET infra-envs/IE/hosts"]; lists > 12 {
		t.Errorf("%d lists of all hosts in 20 minutes", lists)
	}
}
