//go:build linux

package installer

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/go-openapi/swag"
	"github.com/openshift/assisted-service/models"
	"github.com/vincent-petithory/dataurl"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	clusterID = "11111111-1111-4111-8111-111111111111"
	infraID   = "22222222-2222-4222-8222-222222222222"
	hostID    = "33333333-3333-4333-8333-333333333333"
	secret    = "s3cret-pull-token"
)

// flags are those that the service gives, with changes.
func flags(role string, count int, more ...string) []string {
	return append([]string{
		"--role", role, "--infra-env-id", infraID, "--cluster-id", clusterID, "--host-id", hostID, "--boot-device", "/dev/vda",
		"--url", "http://192.0.2.1:8090", "--controller-image", "quay.io/x/controller:latest", "--agent-image", "quay.io/x/agent:latest",
		"--control-plane-count", fmt.Sprint(count), "--mco-image", "quay.io/x/mco@sha256:" + strings.Repeat("a", 64),
		"--must-gather-image", "quay.io/x/mg:1", "--openshift-version", "4.20.1",
		"--installer-args", `["--append-karg","ip=52-54-00-00-00-11:dhcp"]`,
	}, more...)
}

func environment(name string) string {
	if name == "PULL_SECRET_TOKEN" {
		return secret
	}
	return ""
}

func parse(t testing.TB, args ...string) Config {
	t.Helper()
	return must.Get(Parse(args, environment, io.Discard))(t)
}

// world is a machine with its disks, the service, and the cluster that is made.
type world struct {
	t     testing.TB
	files hostfile.Files
	mu    sync.Mutex
	log   strings.Builder

	// The service.
	cluster *models.Cluster
	host    *models.Host
	others  []*models.Host
	posts   []post
	calls   []string
	refuse  func(stage models.HostStage, info string) error
	hostErr error
	slow    time.Duration // how long a post takes

	// The machine.
	recorder *machine.Recorder
	reply    func(machine.Command) (machine.Result, error)
	hostname string
	states   map[string][]string // of units, one a look; the last stays
	// bootkubeHangs means that bootkube fails again and again.
	bootkubeHangs bool
	disks         map[string]blockdevice.Identity
	disksDone     []string
	writing       func(ctx context.Context, image Image) error
	cleaning      error
	formatErr     error
	clearErr      error
	files0        map[string]string

	// The cluster.
	nodes      func() []kube.Node
	arbiters   func() []kube.Node
	events     func() []kube.Event
	configs    map[string]bool
	config     string // the install-config
	invoker    string
	untaints   []string
	untaintErr error
	pods       []kube.Pod
	uploadErr  error
	served     []byte // by the machine-config-server
	kubeErr    error
}

type post struct {
	host  string
	stage models.HostStage
	info  string
}

const bootID = "d6f4a2c2-0000-4000-8000-000000000000\n"

func ignitionFile(path, content string) string {
	file, err := json.Marshal(map[string]any{
		"path": path, "mode": 420, "contents": map[string]string{"source": dataurl.EncodeBytes([]byte(content))},
	})
	if err != nil {
		panic(err)
	}
	return string(file)
}

func ignitionOf(files ...string) string {
	return `{"ignition":{"version":"3.2.0"},"storage":{"files":[` + strings.Join(files, ",") + `]}}`
}

const installConfig = "baseDomain: example.com\nmetadata:\n  name: demo\ncontrolPlane:\n  replicas: 3\n"

func clusterConfigFile(config string) string {
	manifest := "apiVersion: v1\nkind: ConfigMap\ndata:\n  install-config: |\n"
	for line := range strings.Lines(config) {
		manifest += "    " + line
	}
	return ignitionFile("/opt/openshift/manifests/cluster-config.yaml", manifest)
}

const pointer = `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"http://api-int:22624/config/master"}]}},` +
	`"storage":{"files":[{"path":"/etc/host","overwrite":true,"contents":{"source":"data:,host"}}]}}`

func encapsulated() string {
	return ignitionOf(ignitionFile("/etc/ignition-machine-config-encapsulated.json",
		`{"spec":{"osImageURL":"quay.io/x/os@sha256:b","kernelArguments":["systemd.unified_cgroup_hierarchy=1"]}}`))
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, files: hostfile.Files{Root: t.TempDir()}, hostname: "node-0", config: installConfig, invoker: "assisted-service",
		states: map[string][]string{
			"bootkube.service": {"active"}, "progress.service": {"activating", "active", "inactive"},
			"node-image-pull.service": {"activating", "active"}, "node-image-overlay.service": {"inactive", "active"},
		},
		disks: map[string]blockdevice.Identity{
			"/dev/vda": {Path: "/dev/vda", Number: "252:0", Size: 120 << 30, Serial: "S1"},
			"/dev/vdb": {Path: "/dev/vdb", Number: "252:16", Size: 10 << 30},
		},
		configs: map[string]bool{"rendered-master-1": true},
		served:  []byte(encapsulated()),
		cluster: &models.Cluster{
			ID: new(strfmt.UUID(clusterID)), Name: "demo", BaseDNSDomain: "example.com", Kind: swag.String(models.ClusterKindCluster),
		},
		host: &models.Host{
			ID: new(strfmt.UUID(hostID)), Role: models.HostRoleMaster, Progress: &models.HostProgressInfo{},
			Inventory: `{"hostname":"node-0","disks":[{"path":"/dev/vda","serial":"S1"},{"path":"/dev/vdb"}]}`,
		},
	}
	for n, role := range []models.HostRole{models.HostRoleMaster, models.HostRoleMaster, models.HostRoleArbiter, models.HostRoleWorker} {
		id := strfmt.UUID(fmt.Sprintf("44444444-4444-4444-8444-44444444444%d", n+1))
		w.others = append(w.others, &models.Host{
			ID: &id, Role: role, Progress: &models.HostProgressInfo{}, RequestedHostname: fmt.Sprintf("node-%d", n+1),
			Inventory: fmt.Sprintf(`{"interfaces":[{"ipv4_addresses":["192.0.2.%d/24"]}]}`, n+11),
		})
	}
	w.nodes = func() []kube.Node {
		return []kube.Node{w.node("node-1", true), w.node("node-2", true)}
	}
	w.arbiters = func() []kube.Node { return []kube.Node{nodeOf("node-3", "arbiter", true, "", "")} }
	w.events = func() []kube.Event { return []kube.Event{eventOf(readyEvent, "1", "")} }
	w.put("/usr/bin/oc", "")
	w.put(kubeconfigPath, "kubeconfig")
	w.put(bootIDPath, bootID)
	w.put("/proc/cmdline", "BOOT_IMAGE=x ignition.platform.id=metal coreos.live.rootfs_url=y\n")
	w.put(masterIgnition, ignitionOf(ignitionFile("/etc/ignition-machine-config-encapsulated.json",
		`{"spec":{"osImageURL":"quay.io/x/os@sha256:b"}}`)))
	w.recorder = &machine.Recorder{Reply: w.answer}
	return w
}

// node is a node of the cluster.
func (w *world) node(name string, ready bool) kube.Node {
	return nodeOf(name, "master", ready, "rendered-master-1", "rendered-master-1")
}

func nodeOf(name, role string, ready bool, current, desired string) kube.Node {
	n := kube.Node{Meta: kube.Meta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/" + role: ""}}}
	if current != "" {
		n.Annotations = map[string]string{currentConfig: current, desiredConfig: desired}
	}
	if ready {
		n.Status.Conditions = []kube.Condition{{Type: "Ready", Status: "True"}}
	}
	return n
}

func eventOf(name, uid, message string) kube.Event {
	return kube.Event{Meta: kube.Meta{Name: name, UID: uid}, Message: message}
}

// put writes a file of the machine.
func (w *world) put(path, content string) {
	w.t.Helper()
	path = w.files.Path(path)
	must.Do(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(w.t, os.WriteFile(path, []byte(content), 0o600))
}

func (w *world) installer(c Config) *Installer {
	return New(c, Deps{
		Service: w, Disks: worldDisks{w}, BootOrder: worldDisks{w}, Logs: PodmanLogs{Config: c, Runner: w.recorder}, Fetcher: worldFetcher{w},
		Kube: func([]byte) (Kube, error) { return w, nil }, Runner: w.recorder, Files: w.files,
		Hostname: func() (string, error) { return w.hostname, nil }, Architecture: "amd64",
		Clock: clock.Real(), Log: slog.New(slog.NewTextHandler(lockedWriter{w}, nil)),
	})
}

// lockedWriter writes the log.
type lockedWriter struct{ *world }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// answer plays the programs.
func (w *world) answer(c machine.Command) (machine.Result, error) {
	if w.reply != nil {
		if result, err := w.reply(c); err != nil || result.Stdout != nil || result.Code != 0 {
			return result, err
		}
	}
	text := c.String()
	switch {
	case strings.HasPrefix(text, "systemctl show -P ActiveState "):
		return machine.Result{Stdout: []byte(w.state(c.Args[len(c.Args)-1]) + "\n")}, nil
	case c.Name == "ssh-keygen":
		w.put(sshKey+".pub", "ssh-rsa AAAAB3Nz core@node\n")
	case c.Name == "lsblk":
		return machine.Result{Stdout: []byte(lsblkOutput)}, nil
	case c.Name == "rsync":
		return machine.Result{Stdout: []byte("     1.00G  40%  100.00MB/s    0:00:10\r     2.00G 100%  100.00MB/s    0:00:20\n")}, nil
	}
	return machine.Result{}, nil
}

const lsblkOutput = `{"blockdevices":[{"path":"/dev/vda","size":128849018880,"partlabel":null,"children":[
 {"path":"/dev/vda1","size":1048576,"partlabel":"BIOS-BOOT"},{"path":"/dev/vda2","size":133169152,"partlabel":"EFI-SYSTEM"},
 {"path":"/dev/vda3","size":402653184,"partlabel":"boot"},{"path":"/dev/vda4","size":2684354560,"partlabel":"root"}]}]}`

func (w *world) state(unit string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if unit == "bootkube.service" && w.bootkubeHangs {
		return "failed"
	}
	states := w.states[unit]
	state := states[0]
	if len(states) > 1 {
		w.states[unit] = states[1:]
	} else if unit == "bootkube.service" {
		w.mu.Unlock()
		w.put(bootkubeDone, "")
		w.mu.Lock()
	}
	return state
}

// Progress implements Service.
func (w *world) Progress(ctx context.Context, infraEnv, host strfmt.UUID, stage models.HostStage, info string) error {
	if w.slow > 0 {
		if err := clock.Real().Sleep(ctx, w.slow); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if infraEnv != infraID {
		return errors.New("unknown infrastructure environment")
	}
	if w.refuse != nil {
		if err := w.refuse(stage, info); err != nil {
			return err
		}
	}
	w.posts = append(w.posts, post{string(host), stage, info})
	for _, h := range append(w.others, w.host) {
		if *h.ID == host {
			h.Progress.CurrentStage = stage
		}
	}
	return nil
}

// Cluster implements Service.
func (w *world) Cluster(_ context.Context, _ strfmt.UUID, withHosts bool) (*models.Cluster, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := *w.cluster
	if withHosts {
		for _, h := range append(w.others, w.host) {
			one := *h
			progress := *h.Progress
			one.Progress = &progress
			c.Hosts = append(c.Hosts, &one)
		}
	}
	return &c, nil
}

// Host implements Service.
func (w *world) Host(context.Context, strfmt.UUID, strfmt.UUID) (*models.Host, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hostErr != nil {
		return nil, w.hostErr
	}
	one := *w.host
	progress := *w.host.Progress
	one.Progress = &progress
	return &one, nil
}

func (w *world) call(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
}

// ClusterFile implements Service.
func (w *world) ClusterFile(_ context.Context, _ strfmt.UUID, name string) ([]byte, error) {
	w.call("GET %s", name)
	if content, given := w.files0[name]; given {
		return []byte(content), nil
	}
	return []byte(ignitionOf(
		ignitionFile("/root/.docker/config.json", `{"auths":{}}`), ignitionFile("/opt/openshift/assisted-install-bootstrap", ""),
		clusterConfigFile(w.config))), nil
}

// HostIgnition implements Service.
func (w *world) HostIgnition(context.Context, strfmt.UUID, strfmt.UUID) ([]byte, error) {
	w.call("GET ignition")
	if content, given := w.files0["host"]; given {
		return []byte(content), nil
	}
	return []byte(pointer), nil
}

// HostLogsProgress implements Service.
func (w *world) HostLogsProgress(_ context.Context, _, _ strfmt.UUID, state models.LogsState) error {
	w.call("host logs %s", state)
	return nil
}

// ClusterLogsProgress implements Service.
func (w *world) ClusterLogsProgress(_ context.Context, _ strfmt.UUID, state models.LogsState) error {
	w.call("cluster logs %s", state)
	return nil
}

// UploadLogs implements Service.
func (w *world) UploadLogs(_ context.Context, _ strfmt.UUID, _, host *strfmt.UUID, kind models.LogsType, content io.Reader) error {
	zipped, err := gzip.NewReader(content)
	if err != nil || host != nil {
		return errors.New("not a tar.gz of the controller")
	}
	tape := tar.NewReader(zipped)
	header, err := tape.Next()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(tape)
	w.call("upload %s: %s has %q", kind, header.Name, text)
	return errors.Join(err, w.uploadErr)
}

// Pods implements Kube.
func (w *world) Pods(_ context.Context, _ string, labels map[string]string, phase string) ([]kube.Pod, error) {
	if labels["job-name"] != "assisted-installer-controller" || phase != "Running" {
		return nil, errors.New("pods of another job")
	}
	return w.pods, nil
}

// PodLog implements Kube.
func (w *world) PodLog(_ context.Context, _, name string, _ time.Duration, _ int64) ([]byte, error) {
	if name == "" {
		return nil, errors.New("no luck")
	}
	return []byte("the log of " + name), nil
}

// worldDisks plays the disks and the firmware.
type worldDisks struct{ *world }

func (w worldDisks) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disksDone = append(w.disksDone, fmt.Sprintf(format, args...))
}

func (w worldDisks) Inspect(path string) (blockdevice.Identity, error) {
	id, found := w.disks[path]
	if !found {
		return id, fmt.Errorf("find the disk %q: it is not there", path)
	}
	return id, nil
}

func (w worldDisks) Match(id blockdevice.Identity, disk *models.Disk) error {
	if disk.Serial != "" && disk.Serial != id.Serial {
		return fmt.Errorf("its serial number is %q, and was %q", id.Serial, disk.Serial)
	}
	return nil
}

func (w worldDisks) Check(id blockdevice.Identity) error {
	if id.Serial == "LIVE" {
		return errors.New("it is the live medium")
	}
	return nil
}

func (w worldDisks) Format(_ context.Context, id blockdevice.Identity) error {
	w.note("format %s", id.Path)
	return w.formatErr
}

func (w worldDisks) Clean(_ context.Context, id blockdevice.Identity) error {
	w.note("clean %s", id.Path)
	return w.cleaning
}

func (w worldDisks) Write(ctx context.Context, image Image) error {
	must.Get(w.files.Read(image.Ignition))(w.t)
	if w.writing != nil {
		if err := w.writing(ctx, image); err != nil {
			return err
		}
	}
	for percent := 0; percent <= 100; percent += 2 {
		image.Progress(percent)
		if err := clock.Real().Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	w.note("write %s %s", image.Disk.Path, strings.Join(image.Args, " "))
	return nil
}

func (w worldDisks) Clear(_ context.Context, id blockdevice.Identity) error {
	w.note("clear %s", id.Path)
	return w.clearErr
}

func (w worldDisks) BootFrom(_ context.Context, id blockdevice.Identity) error {
	w.note("boot from %s", id.Path)
	return nil
}

type worldFetcher struct{ *world }

func (w worldFetcher) Fetch(_ context.Context, url string, _ []byte) ([]byte, error) {
	w.call("GET %s", url)
	if w.served == nil {
		return nil, errors.New("connection refused")
	}
	return w.served, nil
}

// Nodes implements Kube.
func (w *world) Nodes(context.Context) ([]kube.Node, error) {
	if w.kubeErr != nil {
		return nil, w.kubeErr
	}
	return append(w.nodes(), w.arbiters()...), nil
}

// ConfigMap implements Kube.
func (w *world) ConfigMap(_ context.Context, _, name string) (map[string]string, error) {
	if name == "cluster-config-v1" {
		return map[string]string{"install-config": w.config}, nil
	}
	return map[string]string{"invoker": w.invoker}, nil
}

// Events implements Kube.
func (w *world) Events(context.Context, string) ([]kube.Event, error) { return w.events(), nil }

// MachineConfig implements Kube.
func (w *world) MachineConfig(_ context.Context, name string) (kube.MachineConfig, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.configs[name] {
		return kube.MachineConfig{}, apierrors.NewNotFound(schema.GroupResource{Resource: "machineconfigs"}, name)
	}
	return kube.MachineConfig{}, nil
}

// InitializeNode implements Kube.
func (w *world) InitializeNode(_ context.Context, node kube.Node) error {
	w.untaints = append(w.untaints, node.Name)
	return w.untaintErr
}

// told are the stages and infos that were posted for this host, without percents below 100.
func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var told []string
	for _, p := range w.posts {
		if p.host == hostID && (!strings.HasSuffix(p.info, "%") || p.info == "100%") {
			told = append(told, fmt.Sprintf("%s %q", p.stage, p.info))
		}
	}
	return told
}

// toldOf are the stages of another host.
func (w *world) toldOf(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.IndexFunc(w.others, func(h *models.Host) bool { return h.RequestedHostname == name })
	var told []string
	for _, p := range w.posts {
		if p.host == string(*w.others[at].ID) {
			told = append(told, string(p.stage))
		}
	}
	return told
}

// infos are those that were posted for this host.
func (w *world) infos() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var infos []string
	for _, p := range w.posts {
		if p.host == hostID {
			infos = append(infos, p.info)
		}
	}
	return infos
}
