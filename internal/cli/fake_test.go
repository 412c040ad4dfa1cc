package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// fake is a service that holds what a test gives it.
type fake struct {
	asked     model.Query // by the last look
	mu        sync.Mutex
	clusters  []model.Cluster
	infraEnvs []model.InfraEnv
	hosts     []model.Host
	machines  []machinecause.Machine
	events    []install.ServiceEvent
	// looks are what Observe returns, one after the other; the last one stays.
	looks []*model.Observed
	left  int      // objects that a deletion finds
	calls []string // changes, in their order
	image string
	fails error // what Observe returns instead
	// refuses are what changes and downloads return instead, by what note has of them.
	refuses     map[string]error
	kubeconfigs map[string][]byte // by the cluster's id, in place of a word
	// parts cuts the image's download after so many bytes each time.
	part int
}

func (f *fake) note(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

func (f *fake) Observe(_ context.Context, query model.Query, _ *model.Observed) (*model.Observed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = query
	if f.fails != nil {
		return nil, f.fails
	}
	if len(f.looks) > 0 {
		now := f.looks[0]
		if len(f.looks) > 1 {
			f.looks = f.looks[1:]
		}
		return now, nil
	}
	o := &model.Observed{At: noon(), Hosts: f.hosts}
	for i := range f.clusters {
		if c := &f.clusters[i]; c.ID == query.ID || (query.ID == "" && c.Name == query.Name && c.Owned) {
			o.Cluster = c
		} else if c.Name == query.Name {
			o.Others = append(o.Others, c.ClusterRef)
		}
	}
	for _, env := range f.infraEnvs {
		if o.Cluster != nil && (env.ClusterID == o.Cluster.ID || env.ClusterID == "") {
			o.InfraEnvs = append(o.InfraEnvs, env)
		}
	}
	return o, nil
}

func (f *fake) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	f.note("act " + string(a.Kind))
	return f.refuses["act "+string(a.Kind)]
}

func (f *fake) Credential(_ context.Context, id, name string) ([]byte, error) {
	if text := f.kubeconfigs[id]; text != nil && name == model.KubeconfigFile {
		return text, nil
	}
	if err := f.refuses[name+" of "+id]; err != nil {
		return nil, err
	}
	return []byte(name + " of " + id + "\n"), nil
}

func (f *fake) Logs(_ context.Context, cluster, host string, out io.Writer) error {
	_, err := io.WriteString(out, "logs of "+cluster+" "+host)
	return err
}

func (f *fake) Machines(context.Context) ([]machinecause.Machine, error) { return f.machines, nil }

func (f *fake) ListClusters(context.Context) ([]model.Cluster, error) { return f.clusters, nil }

func (f *fake) ListInfraEnvs(_ context.Context, cluster string) ([]model.InfraEnv, error) {
	var out []model.InfraEnv
	for _, env := range f.infraEnvs {
		if cluster == "" || env.ClusterID == cluster {
			env.Owned = false // only an observation says it
			out = append(out, env)
		}
	}
	return out, nil
}

func (f *fake) ListHosts(_ context.Context, infraEnv string) ([]model.Host, error) {
	var out []model.Host
	for _, host := range f.hosts {
		if host.InfraEnvID == infraEnv {
			out = append(out, host)
		}
	}
	return out, nil
}

func (f *fake) ClusterByNameOrID(_ context.Context, text string) (model.ClusterRef, error) {
	for _, c := range f.clusters {
		if c.Name == text || c.ID == text {
			return c.ClusterRef, nil
		}
	}
	return model.ClusterRef{}, app.NotFound("find cluster", text, "the service has none of that name or id", "{get clusters}")
}

func (f *fake) InfraEnvByNameOrID(_ context.Context, text string) (model.InfraEnv, error) {
	for _, env := range f.infraEnvs {
		if env.Name == text || env.ID == text {
			return env, nil
		}
	}
	return model.InfraEnv{}, app.NotFound("find InfraEnv", text, "the service has none of that name or id", "oaictl get infraenvs")
}

// Events gives two a page, so that paging is needed.
func (f *fake) Events(_ context.Context, _ install.EventFilter, offset int) (install.EventPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := min(offset+2, len(f.events))
	return install.EventPage{Events: f.events[min(offset, end):end], Total: len(f.events)}, nil
}

func (f *fake) CancelInstall(_ context.Context, id string) error {
	f.note("cancel " + id)
	if err := f.refuses["cancel "+id]; err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.clusters {
		switch c := &f.clusters[i]; {
		case c.ID == id && c.Status == "preparing-for-installation":
			c.Status = "ready"
		case c.ID == id:
			c.Status = "cancelled"
		}
	}
	return nil
}

func (f *fake) ResetInstall(_ context.Context, id string) error {
	f.note("reset " + id)
	return f.refuses["reset "+id]
}

func (f *fake) DeleteCluster(_ context.Context, id string, options install.DeleteOptions) error {
	if options.ReturnToPool {
		f.note("return cluster " + id)
		return nil
	}
	f.note("delete cluster " + id)
	for range f.left {
		options.Found()
	}
	return nil
}

func (f *fake) MayDelete(model.ClusterRef) error { return nil }

func (f *fake) ClusterLeft(ctx context.Context, text string) (model.ClusterRef, error) {
	return model.ClusterRef{}, app.NotFound("find cluster", text, "the service has none of that name or id", "{get clusters}")
}

func (f *fake) CheckRelease(context.Context, *spec.Cluster) error { return nil }

func (f *fake) Follow() {}

func (f *fake) Close() {}

func (f *fake) DeleteInfraEnv(_ context.Context, id string, _ install.DeleteOptions) error {
	f.note("delete infraenv " + id)
	return f.refuses["delete infraenv"]
}

func (f *fake) DeleteHost(_ context.Context, env, id string, options install.DeleteOptions) error {
	if options.RemoveNode {
		f.note("remove host " + env + " " + id)
		return nil
	}
	f.note("delete host " + env + " " + id)
	return nil
}

func (f *fake) DownloadIgnition(_ context.Context, cluster, file string, out io.Writer) error {
	_, err := io.WriteString(out, file+" of "+cluster)
	return err
}

func (f *fake) DownloadInfraEnvFile(_ context.Context, env, file string, out io.Writer) error {
	_, err := io.WriteString(out, file+" of "+env)
	return err
}

func (f *fake) DownloadISOURL(_ context.Context, env string) (string, time.Time, error) {
	return "http://images/" + env, time.Time{}, nil
}

func (f *fake) OpenISO(_ context.Context, _ string, offset int64) (io.ReadCloser, int64, error) {
	f.note("open image")
	rest := f.image[offset:]
	size := int64(len(f.image))
	if f.part > 0 && len(rest) > f.part {
		return io.NopCloser(io.MultiReader(strings.NewReader(rest[:f.part]), broken{})), size, nil
	}
	return io.NopCloser(strings.NewReader(rest)), size, nil
}

// broken is a connection that breaks.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

func (f *fake) ReleaseCluster(_ context.Context, id string) error {
	f.note("release " + id)
	return nil
}

func (f *fake) HostIgnition(_ context.Context, _, host string) (string, error) {
	return "ignition of " + host, nil
}

func (f *fake) Manifests(context.Context, string, bool) ([]install.Manifest, error) {
	return []install.Manifest{{Folder: "openshift", Name: "99-x.yaml"}, {Folder: "..", Name: "../../evil"}}, nil
}

func (f *fake) DownloadManifest(_ context.Context, _, folder, name string, out io.Writer) error {
	_, err := io.WriteString(out, folder+"/"+name)
	return err
}

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// lab is a service with one cluster of ours, one of another owner, and hosts.
func lab() *fake {
	ref := model.ClusterRef{ID: "c1", Name: "lab", BaseDomain: "example.com", Status: "insufficient", Created: noon().Add(-time.Hour), Owned: true, Hosts: 2}
	check := model.Validation{ID: "ntp-synced", Category: "network", Status: "failure", Message: "Host couldn't synchronize with any NTP server"}
	machine := func(id, name, mac string) model.Host {
		return model.Host{
			ID: id, InfraEnvID: "e1", ClusterID: "c1", Hostname: name, State: model.HostBlocked, Status: "insufficient", StatusInfo: "cannot be installed",
			Since: noon().Add(-5 * time.Minute), Role: spec.Auto, Suggested: spec.ControlPlane, Validations: []model.Validation{
				{ID: "connected", Category: "hardware", Status: "success"}, check,
				{ID: "has-min-memory", Category: "hardware", Status: "failure", Message: "The host has 8 GiB"},
			},
			Inventory: model.Inventory{
				Known: true, Serial: "S-" + id, CPUs: 8, MemoryBytes: 16 << 30, Arch: "x86_64",
				Interfaces: []model.Interface{{Name: "eth0", MAC: mac, Addresses: []string{"192.168.10.11/24"}, Up: true}},
				Disks:      []model.Disk{{ID: "d1", Path: "/dev/sda", ByID: "/dev/disk/by-id/wwn-1", ByPath: "/dev/disk/by-path/pci-1", SizeBytes: 120e9, Type: "SSD", Eligible: true}, {ID: "d2", Path: "/dev/sdb", SizeBytes: 1e9, Reasons: []string{"too small"}}},
			},
			Disk: "d1", Progress: model.HostProgress{Stages: []string{"Rebooting"}},
		}
	}
	return &fake{
		clusters: []model.Cluster{
			{ClusterRef: ref, State: model.ClusterBlocked, StatusInfo: "not ready", Version: "4.20.3", Manifests: map[string]string{"openshift/99-x.yaml": ""},
				Validations: []model.Validation{{ID: "all-hosts-are-ready-to-install", Category: "hosts-data", Status: "failure", Message: "two hosts are not ready"}}},
			{ClusterRef: model.ClusterRef{ID: "c2", Name: "other", BaseDomain: "example.org", Status: "installed"}, State: model.ClusterInstalled, Progress: model.ClusterProgress{Percent: 100}},
		},
		infraEnvs: []model.InfraEnv{
			{ID: "e1", Name: "lab", ClusterID: "c1", Owned: true, Image: model.Image{State: model.ImageReady, Type: "full-iso", URL: "http://images/secret-token"}},
			{ID: "e2", Name: "pool", Image: model.Image{State: model.ImagePending}},
		},
		hosts: []model.Host{machine("h1", "node-1", "52:54:00:00:00:01"), machine("h10", "node-10", "52:54:00:00:00:10")},
		events: []install.ServiceEvent{
			{Time: noon(), Name: "cluster_status_updated", Severity: "info", Message: "one", ClusterID: "c1", Props: `{"a":1}`},
			{Time: noon(), Name: "host_status_updated", Severity: "warning", Message: "two", HostID: "h1"},
			{Time: noon(), Name: "image_status_updated", Severity: "info", Message: "three"},
		},
		image: strings.Repeat("iso", 1000),
	}
}

// frozen is a clock that stands still, and on which sleeps return at once.
type frozen struct {
	mu  sync.Mutex
	now time.Time
}

func (c *frozen) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *frozen) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return nil
}

func (c *frozen) Wall(d time.Duration) time.Duration { return d }

var _ clock.Clock = (*frozen)(nil)

// outcome is what a command leaves behind.
type outcome struct {
	code        int
	out, errors string
}

// run runs a command line against a service, in process.
func run(t *testing.T, service install.Backend, input string, arguments ...string) outcome {
	t.Helper()
	return runIn(t.Context(), t, service, input, false, arguments...)
}

func runIn(ctx context.Context, t *testing.T, service install.Backend, input string, terminal bool, arguments ...string) outcome {
	t.Helper()
	var out, problems strings.Builder
	io := streams.Streams{In: strings.NewReader(input), Out: &out, Err: &problems, InTTY: terminal, ErrTTY: terminal}
	a := app.New(app.Identify(append([]string{"oaictl"}, arguments...)), io, streams.Env{"OAICTL_SERVICE_URL": "http://fake", "TERM": "dumb"})
	a.Clock = &frozen{now: noon()}
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
	code := execute(ctx, a)
	return outcome{code, out.String(), problems.String()}
}
