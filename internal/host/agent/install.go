//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"
	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Installer is our own installer, for machines without podman.
type Installer interface {
	// Start installs the machine, with the flags of the original installer, and returns when the installation has ended. It
	// ends soon after ctx does. The error says why the installation failed.
	Start(ctx context.Context, argv []string) error
}

// Install does the steps install and stop-installation.
type Install struct {
	// Options are the agent's.
	Options Options
	Runner  machine.Runner
	Files   hostfile.Files
	// Own is used without podman.
	Own Installer
	// Status asks the service for the status of a host. Only Resume needs it, and Clock.
	Status func(ctx context.Context, infraEnv, host strfmt.UUID) (string, error)
	Clock  clock.Clock
	Log    *slog.Logger

	mu      sync.Mutex
	running *installation // nil if none runs
}

type installation struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

const (
	// alreadyRunning and alreadySaid are how the service recognises that the installation runs already. The service gives
	// the step at each poll until the installer reports its first stage.
	alreadyRunning = 125
	alreadySaid    = `Error: the container name "assisted-installer" is already in use`
	// pullFailed is the exit code of an installer's image that cannot be pulled.
	pullFailed = 2
	// stopGrace is how long our own installer may take to stop.
	stopGrace = 30 * time.Second
)

// Execute implements Executor: it installs the machine, and returns when the installer has ended.
func (i *Install) Execute(ctx context.Context, args []string) Reply {
	return i.executeFor(ctx, i.Options.HostID, args)
}

// executeFor does it for the host that this machine is. own is empty if that is not known.
func (i *Install) executeFor(ctx context.Context, own strfmt.UUID, args []string) Reply {
	request, installerArgs, err := i.parse(own, args)
	if err != nil {
		return refuse(err)
	}
	agent := ctx
	ctx, end, free := i.begin(agent)
	if !free {
		return Reply{ExitCode: alreadyRunning, Error: alreadySaid}
	}
	defer end()
	argv := i.argv(request, i.withNetwork(installerArgs))
	if !i.Runner.Has(podman) {
		i.Log.Info("this machine has no podman: oaictl-host installs it instead of the image that the step names",
			"image", *request.InstallerImage, "arguments", redact.Text(strings.Join(argv, " ")))
		return i.own(ctx, agent, argv)
	}
	if err := pull(ctx, i.Runner, *request.InstallerImage, i.Log); err != nil {
		return Reply{
			ExitCode: pullFailed,
			Error: fmt.Sprintf("pull the installer's image %s, %d attempts: %v; check the mirror and the pull secret",
				*request.InstallerImage, pullAttempts, err),
		}
	}
	i.Log.Info("the installer starts in a container", "image", *request.InstallerImage, "arguments", redact.Text(strings.Join(argv, " ")))
	mounts, _ := withCA(nil, nil, i.Options.CACertFile, ":rw")
	return container(i.Runner.Run(ctx, machine.Command{
		Name: podman, Args: slices.Concat(installerRun, mounts, []string{*request.InstallerImage}, argv),
		Env: secretEnv(i.Options.Token), Limit: outputLimit,
	}))
}

// begin keeps a second installation out until end is called. free is false if one runs already.
func (i *Install) begin(agent context.Context) (ctx context.Context, end func(), free bool) {
	ctx, cancel := context.WithCancel(agent)
	this := &installation{cancel: cancel, ended: make(chan struct{})}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running != nil {
		cancel()
		return nil, nil, false
	}
	i.running = this
	return ctx, func() {
		i.mu.Lock()
		i.running = nil
		i.mu.Unlock()
		cancel()
		close(this.ended)
	}, true
}

// argumentsFile has the arguments of our own installer while it runs. Proxies in them may have passwords.
const (
	argumentsFile = "/opt/install-dir/oaictl-arguments.json"
	onlyRoot      = 0o600
)

// own runs our own installer. Its arguments stay on the machine if the agent ends first: another agent resumes it.
func (i *Install) own(ctx, agent context.Context, argv []string) Reply {
	content, err := json.Marshal(argv)
	if err == nil {
		err = i.Files.Write(argumentsFile, content, onlyRoot)
	}
	if err != nil {
		i.Log.Warn("an installation that is interrupted cannot be resumed", "error", err)
	}
	err = i.Own.Start(ctx, argv)
	if agent.Err() == nil {
		if gone := i.Files.Remove(argumentsFile); gone != nil {
			i.Log.Warn("the arguments of the installer stay on the machine", "error", gone)
		}
	}
	if err != nil {
		return Reply{ExitCode: 1, Error: err.Error()}
	}
	return Reply{}
}

// Resume goes on with the installation that an earlier agent began with our own installer, and returns when it has ended.
// The service does not send the step again once the installer has reported. Nothing is installed if the service does not say
// that this host is being installed.
func (i *Install) Resume(ctx context.Context) {
	if i.Runner.Has(podman) || !i.Files.Exists(argumentsFile) {
		return
	}
	argv, err := i.interrupted(ctx)
	for errors.Is(err, errAsk) {
		i.Log.Warn("an installation was interrupted, and it is not known whether it goes on", "again in", askPause.String(), "error", err)
		if i.Clock.Sleep(ctx, askPause) != nil {
			return
		}
		argv, err = i.interrupted(ctx)
	}
	if err != nil {
		i.Log.Warn("the installation that was interrupted is not resumed", "error", err)
		if gone := i.Files.Remove(argumentsFile); gone != nil {
			i.Log.Warn("the arguments of the installer stay on the machine", "error", gone)
		}
		return
	}
	running, end, free := i.begin(ctx)
	if !free {
		return
	}
	defer end()
	i.Log.Info("the installation that was interrupted goes on")
	if reply := i.own(running, ctx, argv); reply.ExitCode != 0 {
		i.Log.Error("the installation has ended", "error", shown(reply.Error))
	}
}

// errAsk is the error of a service that does not answer. askPause is the time until it is asked again.
var errAsk = errors.New("ask the service about this host")

const askPause = time.Minute

// interrupted reads the arguments of the installer that was interrupted, and asks the service about the host in them.
func (i *Install) interrupted(ctx context.Context) ([]string, error) {
	content, err := i.Files.Read(argumentsFile)
	if err != nil {
		return nil, err
	}
	var argv []string
	if err := json.Unmarshal(content, &argv); err != nil {
		return nil, fmt.Errorf("read the arguments of the installer: %w", err)
	}
	infraEnv, host := strfmt.UUID(valueOf(argv, "--infra-env-id")), strfmt.UUID(valueOf(argv, "--host-id"))
	status, err := i.Status(ctx, infraEnv, host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAsk, err)
	}
	if status != models.HostStatusInstallingInProgress && status != models.HostStatusInstalling {
		return nil, fmt.Errorf("the service says that this host is %s", status)
	}
	return argv, nil
}

// valueOf is the argument after a flag, "" if there is none.
func valueOf(argv []string, flag string) string {
	if at := slices.Index(argv, flag); at >= 0 && at+1 < len(argv) {
		return argv[at+1]
	}
	return ""
}

// installerRun starts the installer, as the original agent does.
var installerRun = []string{
	"run", "--privileged", "--pid=host", "--net=host", "--name=" + installerContainer,
	"-v", "/dev:/dev:rw", "-v", "/opt:/opt:rw", "-v", "/var/log:/var/log:rw",
	"-v", "/run/systemd/journal/socket:/run/systemd/journal/socket", "-v", "/etc/pki:/etc/pki", "-v", "/tmp:/tmp", "--env=" + tokenName,
}

// parse reads the step's argument. What it returns is safe as arguments of programs.
func (i *Install) parse(own strfmt.UUID, args []string) (*models.InstallCmdRequest, []string, error) {
	request, err := decode[models.InstallCmdRequest](string(models.StepTypeInstall), args, i.Log)
	if err != nil {
		return nil, nil, err
	}
	installerArgs, err := readInstallerArgs(request.InstallerArgs)
	if err = errors.Join(err, checkHost(own, request), checkImages(request), i.checkDisks(request), checkProxy(request.Proxy),
		checkMustGather(request.MustGatherImage), checkAddresses(request.ServiceIps)); err != nil {
		return nil, nil, err
	}
	if request.OpenshiftVersion != "" && (len(request.OpenshiftVersion) > longestName || !versionName.MatchString(request.OpenshiftVersion)) {
		return nil, nil, fmt.Errorf("%q is no version of OpenShift", beginning(request.OpenshiftVersion))
	}
	if request.ControlPlaneCount < 0 {
		return nil, nil, fmt.Errorf("%d is no number of control plane nodes", request.ControlPlaneCount)
	}
	return request, installerArgs, nil
}

// checkHost refuses to install this machine as another one.
func checkHost(own strfmt.UUID, request *models.InstallCmdRequest) error {
	if *request.Role == models.HostRoleAutoAssign {
		return errors.New("the role is auto-assign: the service has to decide it before the installation")
	}
	for _, id := range []*strfmt.UUID{request.InfraEnvID, request.ClusterID, request.HostID} {
		if !strfmt.IsUUID(id.String()) {
			return fmt.Errorf("%q is no UUID", beginning(id.String()))
		}
	}
	if own != "" && !strings.EqualFold(own.String(), request.HostID.String()) {
		return fmt.Errorf("the step installs the host %s, and this is the host %s", request.HostID, own)
	}
	return nil
}

func checkImages(request *models.InstallCmdRequest) error {
	err := errors.Join(image("the installer's image", *request.InstallerImage), image("the controller's image", *request.ControllerImage))
	for what, name := range map[string]string{
		"the image of the machine config operator": request.McoImage, "the image of CoreOS": request.CoreosImage,
	} {
		if name != "" {
			err = errors.Join(err, image(what, name))
		}
	}
	return err
}

// checkDisks requires disks that are there.
func (i *Install) checkDisks(request *models.InstallCmdRequest) error {
	for _, disk := range append([]string{*request.BootDevice}, request.DisksToFormat...) {
		if err := device(disk); err != nil {
			return err
		}
		if !i.Files.Exists(disk) {
			return fmt.Errorf("this machine has no disk %s", disk)
		}
	}
	return nil
}

// argv are the flags of the installer, in the order of the original agent.
func (i *Install) argv(r *models.InstallCmdRequest, installerArgs []string) []string {
	args := []string{
		"--role", string(*r.Role), "--infra-env-id", r.InfraEnvID.String(), "--cluster-id", r.ClusterID.String(), "--host-id", r.HostID.String(),
		"--boot-device", *r.BootDevice, "--url", i.Options.URL, "--controller-image", *r.ControllerImage,
	}
	add := func(given bool, more ...string) {
		if given {
			args = append(args, more...)
		}
	}
	// The unit of a medium without podman may name no image. The installer refuses an empty name.
	add(i.Options.Version != "", "--agent-image", i.Options.Version)
	add(r.ControlPlaneCount != 0, "--control-plane-count", strconv.FormatInt(r.ControlPlaneCount, 10))
	add(r.McoImage != "", "--mco-image", r.McoImage)
	add(r.MustGatherImage != "", "--must-gather-image", r.MustGatherImage)
	add(r.OpenshiftVersion != "", "--openshift-version", r.OpenshiftVersion)
	for _, disk := range r.DisksToFormat {
		add(true, "--format-disk", disk)
	}
	add(i.Options.Insecure, "--insecure")
	add(r.CheckCvo != nil && *r.CheckCvo, "--check-cluster-version")
	add(r.SkipInstallationDiskCleanup, "--skip-installation-disk-cleanup")
	add(i.Options.CACertFile != "", "--cacert", i.Options.CACertFile)
	if len(installerArgs) > 0 {
		text, _ := json.Marshal(installerArgs) // texts: cannot fail
		add(true, "--installer-args", string(text))
	}
	add(r.EnableSkipMcoReboot, "--enable-skip-mco-reboot")
	add(r.NotifyNumReboots, "--notify-num-reboots")
	args = append(args, proxyArgs(r.Proxy)...)
	add(len(r.ServiceIps) > 0, "--service-ips", strings.Join(r.ServiceIps, ","))
	add(r.CoreosImage != "", "--coreos-image", r.CoreosImage)
	return args
}

func proxyArgs(proxy *models.Proxy) []string {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return strings.TrimSpace(*p)
	}
	if proxy == nil || text(proxy.HTTPProxy) == "" && text(proxy.HTTPSProxy) == "" {
		return nil
	}
	var args []string
	for _, p := range [][2]string{
		{"--http-proxy", text(proxy.HTTPProxy)}, {"--https-proxy", text(proxy.HTTPSProxy)}, {"--no-proxy", text(proxy.NoProxy)},
	} {
		if p[1] != "" {
			args = append(args, p[0], p[1])
		}
	}
	return args
}

const (
	consoleFolder = "/var/log/agent"
	consoleLog    = consoleFolder + "/agent-tui.log"
	connections   = "/etc/NetworkManager/system-connections"
	copyNetwork   = "--copy-network"
)

// withNetwork adds --copy-network if a person configured the network on the machine's console: a connection of
// NetworkManager is then newer than the folder that the console makes when it starts.
func (i *Install) withNetwork(installerArgs []string) []string {
	if slices.Contains(installerArgs, copyNetwork) || !i.Files.Exists(consoleLog) {
		return installerArgs
	}
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, i.Files.Path(consoleFolder), 0, unix.STATX_BTIME, &stat)
	if err != nil || stat.Mask&unix.STATX_BTIME == 0 {
		i.Log.Info("it is not known when the console started: connections that a person made on it are not copied", "error", err)
		return installerArgs
	}
	began := time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
	entries, err := os.ReadDir(i.Files.Path(connections))
	if err != nil {
		return installerArgs // NetworkManager has no connections
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(began) {
			continue
		}
		content, err := i.Files.Read(path.Join(connections, entry.Name()))
		if err == nil && strings.Contains(string(content), "[connection]") {
			i.Log.Info("a person configured the network on the console: the installed machine gets these connections",
				"connection", escape.Word(entry.Name()))
			return append(slices.Clip(installerArgs), copyNetwork)
		}
	}
	return installerArgs
}

// Stop is the executor of stop-installation.
func (i *Install) Stop() Executor { return stop{i} }

type stop struct{ install *Install }

// Execute implements Executor.
func (s stop) Execute(ctx context.Context, args []string) Reply {
	if len(args) != 0 {
		return refuse(fmt.Errorf("the step stop-installation takes no argument, and has %d", len(args)))
	}
	i := s.install
	if i.Runner.Has(podman) {
		return container(i.Runner.Run(ctx, machine.Command{
			Name: podman, Args: []string{"stop", "-i", "-t", "5", installerContainer}, Timeout: stopGrace, Limit: outputLimit,
		}))
	}
	i.mu.Lock()
	running := i.running
	i.mu.Unlock()
	if running == nil {
		return Reply{}
	}
	running.cancel()
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-running.ended:
		return Reply{}
	case <-ctx.Done():
		return Reply{
			ExitCode: 1, Error: fmt.Sprintf("the installer has not stopped in %s: reboot the machine before it installs again", stopGrace),
		}
	}
}
