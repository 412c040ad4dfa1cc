//go:build linux

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"
	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/agent"
	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/bootorder"
	"github.com/oaictl/oaictl/internal/host/disk"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/host/disk/mount"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/installer"
	"github.com/oaictl/oaictl/internal/host/inventory"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/logs"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/network"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	token      = "secret-token-of-the-machines"
	agentImage = "quay.io/edge-infrastructure/assisted-installer-agent:latest"
	diskName   = "/dev/vda"
	diskSize   = 120 << 30
	efiFolder  = "/sys/firmware/efi/efivars"
	bootOrder  = efiFolder + "/BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	mountPoint = "/run/oaictl-host/mount/boot"
)

// box is a machine: a folder with all its files and its disk, which is a file too, and programs that are recorded.
type box struct {
	*site
	name     string
	address  netip.Addr
	mac      string
	id       strfmt.UUID
	role     string // "" lets the service decide
	podman   bool
	files    hostfile.Files
	recorder *machine.Recorder

	mu     sync.Mutex
	stops  []installer.Name // steps in which the installer is ended, each once
	killed bool             // it is ended as by SIGKILL
	end    func()
	// stopContainer ends the installer in its container.
	stopContainer context.CancelFunc
	running       int    // installers
	container     bool   // podman has a container of the installer, which runs or ended
	writes        int    // of the disk
	bootkube      string // the state of bootkube.service
	progress      string // the state of progress.service
	leave         context.CancelFunc
	rebooting     bool
}

// newBox makes a machine that has booted the discovery image.
func newBox(s *site, n int, podman bool, role string) *box {
	b := &box{
		site: s, name: fmt.Sprintf("node-%d", n), address: netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + n)}), role: role, podman: podman,
		mac: fmt.Sprintf("52:54:00:00:00:%02x", n), id: strfmt.UUID(fmt.Sprintf("6f1a2b3c-0000-4000-8000-%012d", n)),
		files: hostfile.Files{Root: s.t.TempDir()}, bootkube: "inactive", progress: "inactive",
	}
	b.recorder = &machine.Recorder{Reply: b.answer, Absent: []string{"bootlist", "coreos-installer", "ipmitool", "dmidecode"}}
	if podman { // such a machine also has UEFI here, and boots from its medium
		b.put(bootOrder, "\x07\x00\x00\x00\x03\x00")
		b.put(efiFolder+"/Boot0003-8be4df61-93ca-11d2-aa0d-00e098032b8c", "\x07\x00\x00\x00"+"\x01\x00\x00\x00\x00\x00C\x00D\x00\x00\x00")
	}
	if !podman {
		b.recorder.Absent = append(b.recorder.Absent, "podman")
	}
	const controller = "sys/devices/pci0000:00/0000:00:02.3/0000:04:00.0/virtio2/block/vda"
	for path, content := range map[string]string{
		"proc/cmdline":                      "coreos.liveiso=rhcos-9 ignition.platform.id=metal\n",
		"proc/sys/kernel/hostname":          b.name + "\n",
		"proc/sys/kernel/random/boot_id":    "d6f4a2c2-0000-4000-8000-00000000000" + fmt.Sprint(n) + "\n",
		"proc/meminfo":                      "MemTotal:       32768000 kB\nMemFree: 1 kB\n",
		"proc/1/mountinfo":                  "1 0 0:1 / / rw - rootfs rootfs rw\n",
		"proc/self/mountinfo":               "1 0 0:1 / / rw - rootfs rootfs rw\n",
		"proc/self/mounts":                  "rootfs / rootfs rw 0 0\n",
		"sys/class/dmi/id/sys_vendor":       "QEMU\n",
		"sys/class/dmi/id/product_name":     "Standard PC\n",
		"sys/class/dmi/id/product_uuid":     b.id.String() + "\n",
		controller + "/dev":                 "252:0\n",
		controller + "/size":                fmt.Sprintln(diskSize / 512),
		controller + "/removable":           "0\n",
		controller + "/hidden":              "0\n",
		controller + "/queue/rotational":    "1\n",
		controller + "/device/vendor":       "0x1af4\n",
		controller + "/holders/.keep":       "",
		"run/udev/data/b252:0":              "I:1\nE:ID_PATH=pci-0000:04:00.0\n",
		"run/coreos/rhcos-metal.x86_64.raw": string(s.image),
		configServerLog:                     "",
		"usr/bin/oc":                        "",
	} {
		b.put(path, content)
	}
	b.put(diskName, "")
	must.Do(s.t, os.Truncate(b.files.Path(diskName), diskSize))
	b.link("sys/block/vda", "../devices/pci0000:00/0000:00:02.3/0000:04:00.0/virtio2/block/vda")
	b.link("dev/disk/by-path/pci-0000:04:00.0", "../../vda")
	return b
}

func (b *box) put(path, content string) {
	path = b.files.Path(path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		b.t.Error(err)
	}
}

func (b *box) link(path, target string) {
	path = b.files.Path(path)
	must.Do(b.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)))
}

// Links implements inventory.Network.
func (b *box) Links() ([]inventory.Link, error) {
	return []inventory.Link{{
		Index: 2, Name: "enp1s0", MTU: 1500, Flags: net.FlagUp | net.FlagBroadcast | net.FlagRunning, MAC: b.mac,
		Addresses: []netip.Prefix{netip.PrefixFrom(b.address, 24)},
	}}, nil
}

// Routes implements inventory.Network.
func (b *box) Routes() ([]inventory.Route, error) {
	return []inventory.Route{{
		Family: unix.AF_INET, Link: 2, Interface: "enp1s0", Metric: 100,
		Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.168.127.1"),
	}}, nil
}

// client is one of the machine's programs for the service.
func (b *box) client(c service.Config) *service.Client {
	c.URL, c.Dial, c.Clock, c.Log = serviceURL, b.dial, clock.Real(), b.log
	return must.Get(service.New(c))(b.t)
}

// run runs the agent until the machine goes down.
func (b *box) run(ctx context.Context) {
	ctx, b.leave = context.WithCancel(ctx)
	options := agent.Options{URL: serviceURL, InfraEnv: strfmt.UUID(b.infraEnv), Version: agentImage, Interval: time.Minute, Token: token}
	client := b.client(service.Config{Token: token, AgentVersion: agentImage})
	collector := inventory.Collector{Root: b.files.Root, Runner: b, Network: b, Log: b.log}
	install := &agent.Install{Options: options, Runner: b, Files: b.files, Own: ownInstaller{b}, Log: b.log}
	a := agent.Agent{
		Options: options, Service: client, Identity: identity{collector}, Runner: b, Files: b.files, Clock: clock.Real(), Log: b.log,
		Executors: map[models.StepType]agent.Executor{
			models.StepTypeInventory:        agent.Of(collector),
			models.StepTypeInstall:          install,
			models.StepTypeStopInstallation: install.Stop(),
			models.StepTypeLogsGather:       &agent.Logs{Options: options, Runner: b, Own: ownLogSender{b}, Log: b.log},
		},
	}
	for kind, answer := range b.answers() {
		a.Executors[kind] = answer
	}
	if b.podman {
		steps := network.Steps(network.Options{Runner: b, Files: b.files, Clock: clock.Real(), Log: b.log})
		a.Executors[models.StepTypeContainerImageAvailability] = agent.Of(steps[models.StepTypeContainerImageAvailability])
	}
	if err := a.Run(ctx); ctx.Err() == nil {
		b.t.Errorf("the agent of %s ended: %v", b.name, err)
	}
}

type identity struct{ inventory.Collector }

// HostID implements agent.Identity.
func (i identity) HostID(context.Context) (strfmt.UUID, error) {
	return strfmt.UUID(i.Collector.HostID()), nil
}

// Has implements machine.Runner.
func (b *box) Has(name string) bool { return b.recorder.Has(name) }

// Reboot implements machine.Runner.
func (b *box) Reboot(ctx context.Context) error { return b.recorder.Reboot(ctx) }

// Run implements machine.Runner. It is podman for the two images that are oaictl-host.
func (b *box) Run(ctx context.Context, c machine.Command) (machine.Result, error) {
	result, err := b.recorder.Run(ctx, c)
	text := c.String()
	switch {
	case strings.HasPrefix(text, "mount ") && strings.HasSuffix(text, mountPoint):
		if err := clock.Real().Sleep(ctx, b.writing); err != nil {
			return result, &machine.Failed{Command: c, Err: err}
		}
		b.stopIn(installer.StepWrite)
	case strings.HasPrefix(text, "podman stop"):
		b.mu.Lock()
		b.stopContainer()
		b.mu.Unlock()
	}
	if err != nil || c.Name != "podman" || c.Args[0] != "run" {
		return result, err
	}
	if at := slices.Index(c.Args, "logs_sender"); at >= 0 {
		err = b.sendLogs(ctx, c.Args[at+1:], variable(c.Env))
	} else if at := slices.Index(c.Args, "--role"); at >= 0 {
		b.mu.Lock()
		used := b.container
		b.container = true
		b.mu.Unlock()
		if used {
			result.Code, result.Stderr = 125, []byte(`Error: creating container storage: the container name "assisted-installer" is already in use`)
			return result, &machine.Failed{Command: c, Result: result}
		}
		running, cancel := context.WithCancel(ctx)
		b.mu.Lock()
		b.stopContainer = cancel
		b.mu.Unlock()
		err = b.install(running, c.Args[at:], variable(c.Env))
		cancel()
	}
	if err != nil {
		result.Code, result.Stderr = 1, []byte(err.Error())
		return result, &machine.Failed{Command: c, Result: result}
	}
	return result, nil
}

// variable reads from an environment.
func variable(env []string) func(string) string {
	return func(name string) string {
		for _, line := range env {
			if value, is := strings.CutPrefix(line, name+"="); is {
				return value
			}
		}
		return ""
	}
}

// ownInstaller and ownLogSender are used without podman.
type (
	ownInstaller struct{ *box }
	ownLogSender struct{ *box }
)

// Start implements agent.Installer.
func (o ownInstaller) Start(ctx context.Context, argv []string) error {
	return o.install(ctx, argv, variable([]string{"PULL_SECRET_TOKEN=" + token}))
}

// Send implements agent.LogSender.
func (o ownLogSender) Send(ctx context.Context, argv []string) error {
	return o.sendLogs(ctx, argv, variable([]string{"PULL_SECRET_TOKEN=" + token}))
}

func (b *box) sendLogs(ctx context.Context, argv []string, env func(string) string) error {
	options, err := logs.ParseFlags(argv, env, io.Discard)
	if err != nil {
		return err
	}
	sender := logs.Sender{
		Options: options, Service: b.client(service.Config{Token: options.Token}), Runner: b, Files: b.files, Clock: clock.Real(), Log: b.log,
	}
	_, err = sender.Send(ctx)
	return err
}

// install is the program assisted-installer. If the test ends it, it is started again.
func (b *box) install(ctx context.Context, argv []string, env func(string) string) error {
	config, err := installer.Parse(argv, env, io.Discard)
	if err != nil {
		return err
	}
	for {
		running, cancel := context.WithCancel(ctx)
		b.mu.Lock()
		b.end = cancel
		if b.killed {
			b.end = runtime.Goexit
		}
		b.mu.Unlock()
		log := slog.New(stopper{b.log.Handler(), b})
		disks := disk.Disks{
			Programs: b, Files: b.files, Clock: clock.Real(), Log: log, Arch: "amd64", Release: config.OpenShiftVersion, Verify: true,
		}
		deps := installer.Deps{
			Service: b.client(service.Config{Token: config.Token}), Disks: ownDisks{disks, b}, Fetcher: b.site,
			BootOrder: bootorder.Order{
				Variables: machine.EFI{Folder: b.files.Path(efiFolder)}, Programs: b, Files: b.files, Arch: "amd64", Log: log, Mounter: mount.Mounter{Programs: b, Files: b.files, Clock: clock.Real(), Log: log},
			},
			Kube: func([]byte) (installer.Kube, error) { return b.api.Connect([]byte("administrator")) }, Runner: b, Files: b.files,
			Hostname: func() (string, error) { return b.name, nil }, Architecture: "amd64", Clock: clock.Real(), Log: log,
		}
		deps.Logs = installer.PodmanLogs{Config: config, Runner: b}
		if !b.podman {
			deps.Logs = ownLogs{b, config}
		}
		var err error
		returned := false
		var process sync.WaitGroup
		process.Go(func() {
			b.count(1)
			defer b.count(-1)
			err = installer.New(config, deps).Run(running)
			returned = true
		})
		process.Wait()
		ended := running.Err() != nil
		cancel()
		if !returned {
			continue
		}
		if !ended || ctx.Err() != nil {
			return err
		}
		if _, is := errors.AsType[*installer.Stopped](err); !is {
			b.t.Errorf("the installer of %s was ended, and says: %v", b.name, err)
		}
	}
}

func (b *box) count(installers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running += installers; b.running > 1 {
		b.t.Errorf("%d installers run on %s", b.running, b.name)
	}
}

// bootAgain boots the machine from its medium.
func (b *box) bootAgain() {
	b.leave()
	must.Do(b.t, os.RemoveAll(b.files.Path("/opt")))
	b.put("proc/sys/kernel/random/boot_id", "e6f4a2c2-0000-4000-8000-000000000000\n")
	b.mu.Lock()
	b.container, b.bootkube, b.progress = false, "inactive", "inactive"
	b.mu.Unlock()
	b.group.Go(func() { b.run(b.ctx) })
}

// boots reports whether the disk has a partition table.
func (b *box) boots() error {
	file, err := os.Open(b.files.Path(diskName))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = layout.Read(file, 512)
	return err
}

// ownLogs sends logs in the process of the installer.
type ownLogs struct {
	*box
	config installer.Config
}

// Send implements installer.Logs.
func (o ownLogs) Send(ctx context.Context, bootstrap bool) error {
	c := o.config
	return o.sendLogs(ctx, []string{
		"-cluster-id", c.ClusterID, "-url", c.URL, "-host-id", c.HostID, "-infra-env-id", c.InfraEnvID, fmt.Sprintf("-bootstrap=%t", bootstrap),
	}, variable([]string{"PULL_SECRET_TOKEN=" + c.Token}))
}

// ownDisks are the disks below the folder of the machine.
type ownDisks struct {
	disk.Disks
	box *box
}

// Inspect implements installer.Disks.
func (o ownDisks) Inspect(path string) (blockdevice.Identity, error) {
	return o.Disks.Inspect(o.box.files.Path(path))
}

// Write implements installer.Disks.
func (o ownDisks) Write(ctx context.Context, image installer.Image) error {
	err := o.Disks.Write(ctx, disk.Image(image))
	if err == nil {
		o.box.mu.Lock()
		o.box.writes++
		o.box.mu.Unlock()
	}
	return err
}

// stopper is a log that ends the installer in the steps in which it is to be ended.
type stopper struct {
	slog.Handler
	box *box
}

// Handle implements slog.Handler.
func (s stopper) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "the step begins" {
		r.Attrs(func(a slog.Attr) bool {
			if step := installer.Name(a.Value.String()); step != installer.StepWrite {
				s.box.stopIn(step)
			}
			return false
		})
	}
	return s.Handler.Handle(ctx, r)
}

// stopIn ends the installer if it is to be ended in this step.
func (b *box) stopIn(step installer.Name) {
	b.mu.Lock()
	stops := len(b.stops) > 0 && b.stops[0] == step
	if stops {
		b.stops = b.stops[1:]
	}
	end := b.end
	b.mu.Unlock()
	if stops {
		end()
	}
}

// answer plays the programs of the live system.
func (b *box) answer(c machine.Command) (machine.Result, error) {
	text, result := c.String(), machine.Result{}
	say := func(format string, args ...any) { result.Stdout = fmt.Appendf(nil, format, args...) }
	switch {
	case text == "lscpu -J":
		say(`{"lscpu":[{"field":"Architecture:","data":"x86_64"},{"field":"CPU(s):","data":"16"},{"field":"Flags:","data":"fpu vmx"}]}`)
	case text == "systemd-detect-virt --vm":
		say("kvm\n")
	case strings.HasPrefix(text, "systemctl show -P ActiveState "):
		say("%s\n", b.state(c.Args[len(c.Args)-1]))
	case text == "systemctl start bootkube.service":
		b.startBootkube()
	case c.Name == "ssh-keygen":
		b.put("root/.ssh/id_rsa", "a secret key")
		b.put("root/.ssh/id_rsa.pub", "ssh-rsa AAAAB3Nz core@"+b.name+"\n")
	case c.Name == "lsblk":
		say(`{"blockdevices":[{"path":%q,"size":%d,"children":[{"path":"/dev/vda3","size":402653184,"partlabel":"boot"},`+
			`{"path":"/dev/vda4","size":2684354560,"partlabel":"root"}]}]}`, b.files.Path(diskName), diskSize)
	case c.Name == "mount" && strings.HasSuffix(text, "/esp"):
		b.put("run/oaictl-host/mount/esp/EFI/redhat/shimx64.efi", "")
	case c.Name == "mount" && strings.HasSuffix(text, mountPoint):
		if err := os.RemoveAll(b.files.Path(mountPoint + "/ignition")); err != nil {
			b.t.Error(err)
		}
		b.put(mountPoint+"/ignition.firstboot", "")
		b.put(mountPoint+"/loader/entries/ostree-1.conf", "options ignition.platform.id=metal\n")
	case strings.HasPrefix(text, "podman images --quiet"):
		say("0123456789ab\n")
	case slices.Contains(c.Args, "--once-from"):
		b.put("opt/openshift/auth/kubeconfig", "a secret kubeconfig")
		b.put("opt/openshift/assisted-install-bootstrap", "")
	case c.Name == "shutdown":
		b.shutdown(c.Args[1])
	}
	return result, nil
}

func (b *box) state(unit string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch unit {
	case "bootkube.service":
		return b.bootkube
	case "progress.service":
		return b.progress
	}
	return "inactive"
}

// shutdown reboots the machine from its disk.
func (b *box) shutdown(when string) {
	b.mu.Lock()
	again := b.rebooting
	b.rebooting = true
	b.mu.Unlock()
	if again {
		b.t.Errorf("%s reboots a second time", b.name)
		return
	}
	b.group.Go(func() {
		if when == "+1" {
			_ = clock.Real().Sleep(b.ctx, time.Minute)
		}
		b.leave()
		b.site.left(b)
		b.site.pause(2 * time.Minute)
		if b.ctx.Err() == nil {
			b.site.join(b, b.firstBoot())
		}
	})
}

// firstBoot is the Ignition config with which the machine boots from its disk.
func (b *box) firstBoot() string {
	if err := b.boots(); err != nil {
		b.t.Errorf("the disk of %s does not boot: %v", b.name, err)
	}
	if order, err := b.files.Read(bootOrder); b.podman && (err != nil || len(order) != 8 || order[4] == 3) {
		b.t.Errorf("the firmware of %s does not start the disk first: %x %v", b.name, order, err)
	}
	content, err := b.files.Read(mountPoint + "/ignition/config.ign")
	if err != nil || !json.Valid(content) {
		b.t.Errorf("the disk of %s has no Ignition config: %v", b.name, err)
	}
	return string(content)
}

var _ installer.Kube = (*kube.Client)(nil)
