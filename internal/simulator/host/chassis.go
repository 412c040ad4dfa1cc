package host

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/oaictl/oaictl/internal/simulator/live"
)

// Chassis is the part of a machine that its management controller has in hand.
type Chassis interface {
	// Switched is whether the machine is on, how often it was started, and what is closed at the next switch.
	Switched() (on bool, starts int, changed <-chan struct{})
	// SetPower is the machine going off or on by itself.
	SetPower(on bool)
	// Boot is what the firmware finds to boot: an image and its size, or nil for the machine's own disk.
	Boot(ctx context.Context) (io.ReaderAt, int64, error)
}

// DiskWriter is a Chassis of a machine with a disk that others write beside its installer.
type DiskWriter interface {
	Chassis
	// Written is how often they have written or wiped it, and what they wrote last; nil is an empty disk.
	Written() (times int, system *DiskSystem)
}

// DiskSystem is a system on a disk, with what it finds on the config drive there when it
// boots for the first time.
type DiskSystem struct {
	// UserData is its Ignition config.
	UserData []byte
	// MetaData are the texts of the drive's meta_data.json, by their keys.
	MetaData map[string]string
}

type liveImage struct {
	api      *client
	infraEnv string
	// hostname is what the image has the machine call itself; empty is what the machine is called by itself.
	hostname string
	// persistent says that it is a system on the machine's disk.
	persistent bool
}

func (l *machineRun) infraEnv() string { return l.image.Load().infraEnv }

func (l *machineRun) agentAPI() *client { return l.image.Load().api }

// borrowImage lets an unexpected machine boot the image of another; false while there is none.
func (l *machineRun) borrowImage() bool {
	for _, other := range l.fleet.all() {
		if l.infraEnv() != "" {
			break
		}
		if id := other.infraEnv(); id != "" {
			l.image.Store(&liveImage{api: l.fleet.api, infraEnv: id})
		}
	}
	return l.infraEnv() != ""
}

// follow takes over how the controller has switched the machine; the channel tells of the next time, nil without one.
func (l *machineRun) follow() (switched <-chan struct{}) {
	if l.spec.Chassis == nil {
		return nil
	}
	on, starts, switched := l.spec.Chassis.Switched()
	switch {
	case on && starts != l.starts:
		l.reset()
		l.fleet.nodes.Delete(l.spec.UUID)
		l.schedule(l.jitter.of(firmwareTime), l.start)
	case !on && l.on:
		l.reset()
		l.fleet.nodes.Delete(l.spec.UUID)
	}
	l.on, l.starts = on, starts
	return switched
}

func (l *machineRun) setPower(on bool) {
	if l.spec.Chassis != nil {
		l.spec.Chassis.SetPower(on)
		l.on = on
	}
}

// await waits for the time of what is next. It is not due if the machine is switched before.
func (l *machineRun) await(ctx context.Context, e entry, switched <-chan struct{}) (due bool, err error) {
	waiting, stop := until(ctx, switched)
	defer stop()
	if l.fleet.cfg.Clock.Sleep(waiting, e.at.Sub(l.fleet.now())) == nil {
		return true, nil
	}
	l.agenda.add(e.at, e.do)
	return false, context.Cause(ctx)
}

func until(ctx context.Context, switched <-chan struct{}) (context.Context, context.CancelFunc) {
	if switched == nil {
		return ctx, func() {}
	}
	waiting, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-switched:
			stop()
		case <-waiting.Done():
		}
	}()
	return waiting, stop
}

// start is the firmware looking for something to boot: the controller's image, if it says so, else the disk.
func (l *machineRun) start(ctx context.Context) {
	l.notice()
	if l.staysDark(l.start) {
		return
	}
	system := l.provisioned()
	_, _, switched := l.spec.Chassis.Switched()
	reading, stop := until(ctx, switched)
	defer stop()
	found, err := l.readMedia(reading)
	switch {
	case err != nil:
		l.logf("cannot boot: %v", err)
	case found:
		l.bootISO()
		return
	}
	switch {
	case l.written != nil:
		l.bootDisk(ctx)
	case system == nil:
		l.logf("finds nothing to boot")
	default:
		l.bootProvisioned(system)
	}
}

// provisioned is what others have written on the machine's disk. What was there before is gone.
func (l *machineRun) provisioned() *DiskSystem {
	disk, is := l.spec.Chassis.(DiskWriter)
	if !is {
		return nil
	}
	times, system := disk.Written()
	if times != l.writtenByOthers {
		l.writtenByOthers, l.written, l.node.added = times, nil, false
	}
	return system
}

// bootProvisioned boots a system on the disk. Its user data run an agent, or nothing.
func (l *machineRun) bootProvisioned(system *DiskSystem) {
	image, err := l.fleet.imageOf(system.MetaData, system.UserData)
	if err != nil {
		l.logf("boots its disk: %v", err)
		return
	}
	image.persistent = true
	l.image.Store(image)
	l.bootDiscovery("boots the discovery system on its disk")
}

func (f *Fleet) imageOf(metadata map[string]string, config []byte) (*liveImage, error) {
	agent, err := live.AgentIn(config)
	if err != nil {
		return nil, err
	}
	hostname, err := live.HostnameIn(metadata, config)
	if err != nil {
		return nil, err
	}
	api, err := f.clientFor(agent)
	return &liveImage{api: api, infraEnv: agent.InfraEnvID, hostname: hostname}, err
}

// readMedia takes over what the Ignition in the controller's image says; false if there is no image.
func (l *machineRun) readMedia(ctx context.Context) (bool, error) {
	content, size, err := l.spec.Chassis.Boot(ctx)
	if err != nil || content == nil {
		return false, err
	}
	root, err := live.Root(content, size)
	if err != nil {
		return false, err
	}
	if err := l.fleet.fetchRoot(ctx, root); err != nil {
		return false, err
	}
	config, err := live.Ignition(content, size)
	if err != nil {
		return false, err
	}
	image, err := l.fleet.imageOf(nil, config)
	if err != nil {
		return false, err
	}
	l.image.Store(image)
	return true, nil
}

// fetchRoot fetches the beginning of a root file system, which shows that it is one. No URL needs nothing.
func (f *Fleet) fetchRoot(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.api.deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("fetch the root file system: %w", err)
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=0-%d", rootHead-1))
	response, err := f.api.http.Do(request)
	if err != nil {
		return fmt.Errorf("fetch the root file system: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	// All that was asked for, so that the server is done with it, and no more where it knows no ranges.
	head, err := io.ReadAll(io.LimitReader(response.Body, rootHead))
	if err != nil {
		return fmt.Errorf("fetch the root file system: %w", err)
	}
	if magic := head[:min(len(head), len(archiveMagic))]; response.StatusCode >= 300 || string(magic) != archiveMagic {
		return fmt.Errorf("fetch the root file system: the server answers %s, with what begins with %q", response.Status, magic)
	}
	return nil
}

const rootHead = 64 << 10

// archiveMagic begins a root file system, which is an archive with the file system in it (cpio, newc).
const archiveMagic = "070701"

// clientFor calls the service that an agent's configuration names, as the agent that it makes it.
func (f *Fleet) clientFor(agent live.Agent) (*client, error) {
	config := f.cfg
	config.ServiceURL, config.HTTPClient = agent.ServiceURL, f.api.http
	if agent.Token != "" {
		config.Token = agent.Token
		// Once they are a cluster, machines speak as any of them.
		f.api.token.CompareAndSwap("", agent.Token)
	}
	made, err := newClient(config)
	if err == nil {
		made.dateOffset, made.answered = f.api.dateOffset, f.api.answered
	}
	return made, err
}
