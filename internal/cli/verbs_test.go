package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestVerbsThatLook(t *testing.T) {
	tests := []struct {
		line string
		want string
	}{
		{"get clusters", "NAME    DOMAIN        STATE          %   HOSTS   VERSION\nlab     example.com   Blocked        -       2   4.20.3\nother   example.org   Installed   100%       0   -\n"},
		{"get cluster lab -o jsonpath={.state}", "Blocked"},
		{"get clusters -o name", "cluster/lab\ncluster/other\n"},
		{"get clusters -o jsonpath={.items[*].id}", "c1 c2"},
		{"get hosts", "NAME      ROLE            STATE     STAGE   %   CLUSTER\nnode-1    control-plane   Blocked   -       -   lab\nnode-10   control-plane   Blocked   -       -   lab\n"},
		{"get hosts lab", "NAME      ROLE            STATE     STAGE   %\nnode-1    control-plane   Blocked   -       -\nnode-10   control-plane   Blocked   -       -\n"},
		{"get hosts lab -o name", "host/node-1\nhost/node-10\n"},
		{"get infraenvs", "NAME   IMAGE     TYPE       EXPIRES   CLUSTER\nlab    Ready     full-iso   -         lab\npool   Pending   -          -         -\n"},
		{"get infraenv pool -o jsonpath={.image}", "Pending"},
		{"get infraenvs --cluster lab -o name", "infraenv/lab\n"},
		{"get validations lab", "OF        VALIDATION                       STATUS    MESSAGE\ncluster   all-hosts-are-ready-to-install   failure   two hosts are not ready\n" +
			"node-1    ntp-synced                       failure   Host couldn't synchronize\n                                                     with any NTP server\n" +
			"node-1    has-min-memory                   failure   The host has 8 GiB\n" +
			"node-10   ntp-synced                       failure   Host couldn't synchronize\n                                                     with any NTP server\n" +
			"node-10   has-min-memory                   failure   The host has 8 GiB\n"},
		{"get validations lab --all -o jsonpath={.items[1].id}", "connected"},
		{"get events lab", "TIME                   SEVERITY   MESSAGE\n2026-08-01T12:00:00Z   info       one\n2026-08-01T12:00:00Z   warning    two\n2026-08-01T12:00:00Z   info       three\n"},
		{"get events --host node-1 -o jsonpath={.items[0].props.a}", "1"},
		{"get events --infra-env pool -o name", "event/cluster_status_updated\nevent/host_status_updated\nevent/image_status_updated\n"},
		{"describe host node-1 -o jsonpath={.detail.disks[0].install}", "true"},
		{"describe host 52:54:00:00:00:10 -o name", "host/node-10\n"},
		{"describe cluster c1 -o jsonpath={.detail.manifests[0]}", "openshift/99-x.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got := run(t, lab(), "", strings.Fields(tt.line)...)
			if got.code != 0 || got.errors != "" {
				t.Errorf("code %d, stderr %q", got.code, got.errors)
			}
			check.Same(t, tt.want, got.out)
		})
	}
}

// TestDescribeTellsWhatIsInstalledOn once it is, and before that what will be.
func TestDescribeTellsWhatIsInstalledOn(t *testing.T) {
	service := lab()
	service.hosts[0].State, service.hosts[0].Progress.Stage = model.HostInstalling, "Rebooting"
	if got := run(t, service, "", "describe", "host", "node-1"); !strings.Contains(got.out, "/dev/sda 120 GB SSD (installed on)") {
		t.Errorf("describe host does not say what it is installed on:\n%s", got.out)
	}
}

func TestDescribeTellsWhatMatters(t *testing.T) {
	for line, words := range map[string][]string{
		"describe cluster lab": {"lab", "c1", "Blocked (insufficient)", "node-1  control-plane  Blocked", "99-x.yaml", "all-hosts-are-ready-to-install"},
		"describe host node-1": {"h1", "control-plane", "16 GiB", "8 x86_64", "52:54:00:00:00:01  up  192.168.10.11/24", "/dev/sda 120 GB SSD (to be installed on)\n    /dev/disk/by-id/wwn-1\n    /dev/disk/by-path/pci-1\n", "not eligible: too small", "has-min-memory"},
	} {
		got := run(t, lab(), "", strings.Fields(line)...)
		for _, word := range words {
			if !strings.Contains(got.out, word) {
				t.Errorf("%s does not say %q:\n%s", line, word, got.out)
			}
		}
	}
}

// TestNoTokenInOutput holds every look at an InfraEnv to leaving its image's
// URL out, which may carry a token.
func TestNoTokenInOutput(t *testing.T) {
	for _, line := range []string{"get infraenvs -o json", "get infraenvs -o yaml", "describe cluster lab -o json", "get infraenvs -o wide"} {
		if got := run(t, lab(), "", strings.Fields(line)...); strings.Contains(got.out+got.errors, "secret-token") {
			t.Errorf("%s shows the image's URL", line)
		}
	}
}

func TestWhyGroupsByCause(t *testing.T) {
	got := run(t, lab(), "", "why", "lab")
	if got.code != 0 {
		t.Fatalf("code %d: %s", got.code, got.errors)
	}
	if strings.Count(got.out, "The host has 8 GiB") != 1 {
		t.Errorf("the memory of two hosts is not one cause:\n%s", got.out)
	}
	if strings.Contains(got.out, "two hosts are not ready\n") {
		t.Errorf("what follows from other failures is told as a cause:\n%s", got.out)
	}
	got = run(t, lab(), "", "why", "cluster", "lab", "-o", "json")
	var why struct {
		Blockers []struct{ Validations, Hosts []string }
	}
	must.Do(t, json.Unmarshal([]byte(got.out), &why))
	found := slices.ContainsFunc(why.Blockers, func(b struct{ Validations, Hosts []string }) bool {
		return slices.Contains(b.Validations, "has-min-memory") && slices.Equal(b.Hosts, []string{"node-1", "node-10"})
	})
	if !found {
		t.Errorf("no blocker names the check and both hosts:\n%s", got.out)
	}
	if got := run(t, lab(), "", "why", "host", "node-10"); got.code != 0 || !strings.Contains(got.out, "node-10 is Blocked") || strings.Contains(got.out, "node-1,") {
		t.Errorf("why host: %+v", got)
	}
}

func TestNamesAreWhole(t *testing.T) {
	if got := run(t, lab(), "", "describe", "host", "node-"); got.code != 5 || !strings.Contains(got.errors, "Next: oaictl get hosts") {
		t.Errorf("a part of a name found something: %+v", got)
	}
	twice := lab()
	twice.hosts[1].Hostname = "node-1"
	got := run(t, twice, "", "delete", "host", "node-1", "--yes")
	if got.code != 5 || !strings.Contains(got.errors, "h1, h10") || len(twice.calls) != 0 {
		t.Errorf("an ambiguous name: %+v, %v", got, twice.calls)
	}
}

func TestVerbsThatUndo(t *testing.T) {
	tests := []struct {
		line  string
		calls []string
		out   string
	}{
		{"cancel lab", []string{"cancel c1"}, "cluster lab cancelled\n"},
		{"cancel cluster lab", []string{"cancel c1"}, "cluster lab cancelled\n"},
		{"reset lab", []string{"reset c1"}, "cluster lab reset\n"},
		{"delete cluster lab", []string{"delete cluster c1", "delete infraenv e1"}, "cluster lab deleted\ninfraenv lab deleted\n"},
		{"delete clusters c2", []string{"delete cluster c2"}, "cluster other deleted\n"},
		{"delete infraenv pool", []string{"delete infraenv e2"}, "infraenv pool deleted\n"},
		{"delete host node-1", []string{"delete host e1 h1"}, "host node-1 deleted\n"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			words := strings.Fields(tt.line)
			for _, no := range []struct {
				name     string
				input    string
				terminal bool
				code     int
			}{{"nobody to ask", "y\n", false, 2}, {"no", "n\n", true, 1}, {"just enter", "\n", true, 1}, {"end of input", "", true, 1}} {
				service := lab()
				got := runIn(t.Context(), t, service, no.input, no.terminal, words...)
				if got.code != no.code || len(service.calls) != 0 || got.out != "" {
					t.Errorf("%s: code %d, calls %v, out %q", no.name, got.code, service.calls, got.out)
				}
			}
			for _, yes := range []outcome{
				runIn(t.Context(), t, lab(), "y\n", true, words...),
				runIn(t.Context(), t, lab(), "YES\n", true, words...),
			} {
				if yes.code != 0 || yes.out != tt.out {
					t.Errorf("asked: %+v", yes)
				}
			}
			service := lab()
			got := run(t, service, "", append(words, "--yes")...)
			if got.code != 0 || got.out != tt.out {
				t.Errorf("got %+v", got)
			}
			check.Same(t, tt.calls, service.calls)
		})
	}
}

// An InfraEnv with hosts stays; the hosts are named with the commands that
// delete them.
func TestDeleteInfraEnvWithHosts(t *testing.T) {
	service := lab()
	service.refuses = map[string]error{"delete infraenv": &model.Fault{Code: model.CodeFailure, Op: "delete InfraEnv", On: "e1", Status: 400, Err: errors.New("2 hosts are still associated (400)")}}
	got := run(t, service, "", "delete", "infraenv", "lab", "--yes")
	want := "oaictl: delete InfraEnv lab: it still has 2 hosts: node-1, node-10\nNext: oaictl delete host node-1; oaictl delete host node-10\n"
	if got.code != 1 || got.errors != want {
		t.Errorf("%+v", got)
	}
}

func TestDownloads(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	service := lab()
	service.part = 700
	service.hosts[1].Hostname = "../../evil"
	for _, tt := range []struct {
		line  string
		files map[string]string
	}{
		{"logs lab", map[string]string{"lab-logs.tar": "logs of c1 "}},
		{"logs host h10", map[string]string{".._.._evil-logs.tar": "logs of c1 h10"}},
		{"download ignition --host h10", map[string]string{".._.._evil.ign": "ignition of h10"}},
		{"logs host node-1 --to one.tar", map[string]string{"one.tar": "logs of c1 h1"}},
		{"download kubeconfig lab", map[string]string{"lab/auth/kubeconfig": "kubeconfig of c1\n"}},
		{"download kubeconfig lab --no-ingress --dir x", map[string]string{"x/lab/auth/kubeconfig-noingress": "kubeconfig-noingress of c1\n"}},
		{"download ignition lab", map[string]string{"lab/ignition/bootstrap.ign": "bootstrap.ign of c1", "lab/ignition/master.ign": "master.ign of c1", "lab/ignition/worker.ign": "worker.ign of c1", "lab/ignition/arbiter.ign": "arbiter.ign of c1"}},
		{"download ignition --host node-1", map[string]string{"node-1.ign": "ignition of h1"}},
		{"download ignition --discovery pool", map[string]string{"pool-discovery.ign": "discovery.ign of e2"}},
		{"download manifests lab", map[string]string{"lab/manifests/openshift/99-x.yaml": "openshift/99-x.yaml", "lab/manifests/_../.._.._evil": "../../../evil"}},
		{"download iso lab", map[string]string{"lab.iso": service.image}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			got := run(t, service, "", append(strings.Fields(tt.line), "-o", "name")...)
			if got.code != 0 {
				t.Fatalf("code %d: %s", got.code, got.errors)
			}
			names := strings.Fields(got.out)
			for name, want := range tt.files {
				if !slices.Contains(names, filepath.FromSlash(name)) {
					t.Errorf("%s is not named: %v", name, names)
				}
				content := must.Get(os.ReadFile(name))(t)
				if string(content) != want {
					t.Errorf("%s holds %d bytes: %.60q", name, len(content), content)
				}
				if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v (%v)", name, info.Mode(), err)
				}
			}
			if len(names) != len(tt.files) {
				t.Errorf("files %v", names)
			}
		})
	}
	if got := run(t, service, "", "logs", "lab", "--to", "-"); got.out != "logs of c1 " || got.code != 0 {
		t.Errorf("to standard output: %+v", got)
	}
	if got := run(t, service, "", "download", "iso", "lab", "--url"); got.out != "http://images/e1\n" {
		t.Errorf("the image's address: %+v", got)
	}
}

// TestDownloadGivesUp ends a download that makes no progress, and leaves no
// half file.
func TestDownloadGivesUp(t *testing.T) {
	t.Chdir(t.TempDir())
	stuck := &stuckImage{lab()}
	got := run(t, stuck, "", "download", "iso", "lab")
	if got.code != 1 || !strings.Contains(got.errors, "connection reset by peer") {
		t.Errorf("got %+v", got)
	}
	if left, _ := filepath.Glob("*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, _ := filepath.Glob(".*"); slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, "iso") }) {
		t.Errorf("left behind: %v", left)
	}
}

func TestWait(t *testing.T) {
	at := func(state model.ClusterState, hosts ...model.HostState) *model.Observed {
		o := &model.Observed{At: noon(), Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "c1", Name: "lab", BaseDomain: "example.com", Status: "as is"}, State: state, StatusInfo: "as it is"}}
		for i, host := range hosts {
			o.Hosts = append(o.Hosts, model.Host{ID: string(rune('a' + i)), Hostname: "node-" + string(rune('a'+i)), State: host, Role: spec.ControlPlane})
		}
		return o
	}
	degraded := at(model.ClusterInstalled)
	degraded.Cluster.Operators = []model.Operator{{Name: "console", Status: "failed"}}
	held := at(model.ClusterReady)
	held.Cluster.Hold, held.Cluster.Unhold = "argocd", "kubectl patch agentclusterinstall -n lab lab"
	tests := []struct {
		name  string
		until string
		looks []*model.Observed
		code  int
		says  string
	}{
		{"held", "installed", []*model.Observed{held}, 9, "waiting for argocd, who holds the installation, to let it start; everything else is ready\n         Next: kubectl patch agentclusterinstall -n lab lab\n"},
		{"held, for ready", "ready", []*model.Observed{held}, 0, ""},
		{"held, and let go", "installed", []*model.Observed{held, at(model.ClusterInstalling), at(model.ClusterInstalled)}, 0, "argocd"},
		{"installed", "installed", []*model.Observed{at(model.ClusterInstalling), at(model.ClusterFinalizing), at(model.ClusterInstalled)}, 0, "cluster is Finalizing"},
		{"adding hosts is installed", "installed", []*model.Observed{at(model.ClusterAddingHosts)}, 0, ""},
		{"degraded", "installed", []*model.Observed{degraded}, 10, "console"},
		{"degraded, for ready", "ready", []*model.Observed{degraded}, 0, ""},
		{"failed", "installed", []*model.Observed{at(model.ClusterInstalling), at(model.ClusterFailed)}, 7, "Next: oaictl why lab"},
		{"cancelled", "ready", []*model.Observed{at(model.ClusterCancelled)}, 7, "Next: oaictl reset cluster lab"},
		{"unknown", "ready", []*model.Observed{at(model.ClusterUnknown)}, 1, "does not know"},
		{"ready", "ready", []*model.Observed{at(model.ClusterDiscovering), at(model.ClusterReady)}, 0, ""},
		{"further than ready", "ready", []*model.Observed{at(model.ClusterInstalling)}, 0, ""},
		{"enough hosts", "hosts=2", []*model.Observed{at(model.ClusterDiscovering, model.HostReady), at(model.ClusterDiscovering, model.HostReady, model.HostDiscovering, model.HostBlocked)}, 0, "node-b is Discovering"},
		{"a host that is gone does not count", "hosts=2", []*model.Observed{at(model.ClusterDiscovering, model.HostReady, model.HostDisconnected)}, 8, "not done after 10m0s, node-b does not answer"},
		{"timed out", "installed", []*model.Observed{at(model.ClusterBlocked)}, 8, "Next: oaictl wait cluster"},
		{"timed out, with what is waited for", "installed", []*model.Observed{at(model.ClusterPreparing)}, 8, "not done after 10m0s, waiting for the service to prepare"},
		{"needs a person", "installed", []*model.Observed{at(model.ClusterNeedsUser)}, 9, "as it is"},
		{"deleted meanwhile", "installed", []*model.Observed{at(model.ClusterReady), {At: noon()}}, 5, "deleted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service := lab()
			service.looks = tt.looks
			got := run(t, service, "", "wait", "cluster", "lab", "--for", tt.until, "--timeout", "10m", "--user-timeout", "5m", "--poll-interval", "1m")
			if got.code != tt.code || !strings.Contains(got.errors, tt.says) {
				t.Errorf("code %d, want %d and %q:\n%s", got.code, tt.code, tt.says, got.errors)
			}
			if len(service.calls) != 0 {
				t.Errorf("a wait changed something: %v", service.calls)
			}
		})
	}
}

func TestWatchEndsBySignal(t *testing.T) {
	for code, by := range map[int]*install.Interrupt{
		130: {Signal: "interrupt", Code: model.CodeInterrupted}, 143: {Signal: "terminated", Code: model.CodeTerminated},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		service := lab()
		service.looks = []*model.Observed{{At: noon(), Cluster: &service.clusters[0]}}
		stop(by)
		for _, line := range []string{"wait cluster lab --for installed", "get events lab -w"} {
			if got := runIn(ctx, t, service, "", false, strings.Fields(line)...); got.code != code {
				t.Errorf("%s ends with %d, want %d:\n%s", line, got.code, code, got.errors)
			}
		}
	}
}

// stuckImage is a service whose images never arrive.
type stuckImage struct{ *fake }

func (s *stuckImage) OpenISO(context.Context, string, int64) (io.ReadCloser, int64, error) {
	return io.NopCloser(broken{}), 3000, nil
}

func TestAge(t *testing.T) {
	a := app.New(app.Identify(nil), streams.Streams{OutTTY: true}, nil)
	a.Clock = &frozen{now: noon()}
	at := noon().Add(-3 * time.Minute)
	check.Equal(t, a.FormatTime(&at), "3m ago", "on a terminal")
}

// TestHostOfSeveralClusters: a name that hosts of several clusters have is one host of
// the cluster that is named, or that the file describes.
func TestHostOfSeveralClusters(t *testing.T) {
	here(t)
	several := func() *fake {
		service := lab()
		service.infraEnvs = append(service.infraEnvs, model.InfraEnv{ID: "e3", Name: "other", ClusterID: "c2"})
		namesake := service.hosts[0]
		namesake.ID, namesake.InfraEnvID, namesake.ClusterID = "h3", "e3", "c2"
		service.hosts = append(service.hosts, namesake)
		service.looks = []*model.Observed{{At: noon(), Cluster: &service.clusters[0], Hosts: service.hosts[:2]}}
		return service
	}
	for _, line := range []string{"logs host node-1 --to -", "describe host node-1", "why host node-1", "delete host node-1 --yes"} {
		if got := run(t, several(), "", strings.Fields(line)...); got.code != 5 || !strings.Contains(got.errors, "there are several: h1, h3") || !strings.Contains(got.errors, "--cluster") {
			t.Errorf("%s: %+v", line, got)
		}
		for _, in := range []string{" --cluster lab", " -f cluster.yaml"} {
			service := several()
			if got := run(t, service, "", strings.Fields(line+in)...); got.code != 0 || strings.Contains(got.out+strings.Join(service.calls, ""), "h3") {
				t.Errorf("%s: %+v, %v", line+in, got, service.calls)
			}
		}
	}
	for _, line := range []string{"logs lab --cluster lab", "logs host", "logs host node-1 --cluster lab -f cluster.yaml"} {
		if got := run(t, several(), "", strings.Fields(line)...); got.code != 2 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
