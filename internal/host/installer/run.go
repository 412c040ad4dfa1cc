//go:build linux

package installer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/filelock"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Installer installs one machine.
type Installer struct {
	config Config
	Deps
	hide func(string) string // takes secrets out of texts
	// before is called before each step, in tests.
	before func(Step)
}

// New makes an installer of a config that Parse read.
func New(c Config, d Deps) *Installer {
	return &Installer{config: c, Deps: d, hide: redact.NewReplacer(c.Token), before: func(Step) {}}
}

// Stopped is the error of an installer that was ended from outside, such as by SIGTERM. It goes on after the last step that
// was done when it is started again, unless the service has begun another installation.
type Stopped struct {
	Step  Name
	Cause error
}

func (s *Stopped) Error() string {
	return fmt.Sprintf("the installer was stopped during the step %s: %v; start it again to go on", s.Step, s.Cause)
}

func (s *Stopped) Unwrap() error { return s.Cause }

// lockPath is a file that a running installer has locked: the service asks for one at each poll until it hears of it.
const lockPath = installDir + "/oaictl.lock"

// lock keeps other installers from running on this machine.
func (i *Installer) lock() (unlock func(), err error) {
	if err := i.Files.MakeFolder(installDir, folderMode); err != nil {
		return nil, fmt.Errorf("lock out other installers: %w", err)
	}
	file, err := i.Files.Append(lockPath, onlyRoot)
	if err != nil {
		return nil, fmt.Errorf("lock out other installers: %w", err)
	}
	free, err := filelock.Try(file, true)
	if err == nil && !free {
		err = ErrRunning
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock out other installers: %w", err), file.Close())
	}
	return func() {
		if err := file.Close(); err != nil {
			i.Log.Warn("the lock against other installers is not released", "why", err)
		}
	}, nil
}

// run is one run of an installer.
type run struct {
	*Installer
	cluster, infraEnv, host strfmt.UUID
	// hostNow and clusterNow are what the service knew when the run began.
	hostNow    *models.Host
	clusterNow *models.Cluster
	facts      Facts
	journal    *journal

	stage     models.HostStage     // the stage that was posted last
	disk      blockdevice.Identity // the disk to install to, once it is checked
	apiServer Kube                 // of the new cluster, once it is needed
	// patience is when the step asks the service whether it still waits for this host; zero if it does not ask.
	patience time.Time

	grown bool // the root partition was made larger

	watchers sync.WaitGroup
	watching context.CancelFunc
}

// Run installs the machine, and asks for its reboot. If it fails, it has posted that when it returns. The error is a *Stopped
// if ctx ended, and ErrRunning if another installer runs on this machine.
func (i *Installer) Run(ctx context.Context) error {
	r := &run{
		Installer: i, watching: func() {},
		cluster: strfmt.UUID(i.config.ClusterID), infraEnv: strfmt.UUID(i.config.InfraEnvID), host: strfmt.UUID(i.config.HostID),
	}
	unlock, err := i.lock()
	if errors.Is(err, ErrRunning) {
		return err
	}
	if err != nil {
		return r.failed(ctx, Step{Name: "lock"}, err)
	}
	defer unlock()
	i.Log.Info("the installer starts", "config", i.config)
	defer r.watchers.Wait()
	defer func() { r.watching() }()
	step, err := r.all(ctx)
	switch {
	case err == nil:
		i.Log.Info("the installation on this machine is complete")
		return nil
	case ctx.Err() != nil:
		return r.stopped(ctx, step, context.Cause(ctx))
	}
	return r.failed(ctx, step, err)
}

// all does the steps that are not done. It returns the step that failed.
func (r *run) all(ctx context.Context) (Step, error) {
	if err := r.look(ctx); err != nil {
		return Step{Name: "look-at-machine"}, err
	}
	steps, err := Plan(r.config, r.facts)
	if err != nil {
		return Step{Name: "plan"}, err
	}
	actions := r.actions()
	for _, step := range steps {
		if r.journal.done(step.Name) && !step.Always {
			r.Log.Info("the step was done before the installer was started again", "step", step.Name)
			r.follow(ctx, step)
			continue
		}
		if err := r.do(ctx, step, actions[step.Name]); err != nil {
			return step, err
		}
		if err := r.journal.mark(step.Name); err != nil {
			r.Log.Warn("an installer that is started again would repeat the step", "step", step.Name, "why", err)
		}
		r.follow(ctx, step)
	}
	return Step{}, nil
}

// look finds out what the plan depends on, and opens the journal.
func (r *run) look(ctx context.Context) error {
	var err error
	if r.clusterNow, err = r.Service.Cluster(ctx, r.cluster, false); err != nil {
		return fmt.Errorf("ask the service about the cluster %s: %w", r.cluster, err)
	}
	if r.hostNow, err = r.Service.Host(ctx, r.infraEnv, r.host); err != nil {
		return fmt.Errorf("ask the service about this host, %s: %w", r.host, err)
	}
	ironic, err := r.hasIronic(ctx)
	if err != nil {
		return err
	}
	r.facts = Facts{
		AddHosts:     r.clusterNow.Kind != nil && *r.clusterNow.Kind == models.ClusterKindAddHostsCluster,
		Ironic:       ironic,
		Registry:     r.Files.Exists(registryOnMedium),
		NodeImage:    !r.Files.Exists(clientPath),
		Architecture: r.Architecture,
	}
	return r.openJournal()
}

// openJournal begins a new journal if the service has seen no stage of this installation: the service has reset the host.
func (r *run) openJournal() error {
	bootID, err := r.Files.Read(bootIDPath)
	if err != nil {
		r.Log.Warn("the journal does not tell boots of the machine apart", "why", err)
	}
	started := r.clusterNow.InstallStartedAt
	key, err := attempt(r.config, started.String(), string(bootID))
	if err != nil {
		return err
	}
	j, fresh := openJournal(r.Files, key)
	if stage := stageOf(r.hostNow); fresh == "" && (stage == "" || stage == models.HostStageFailed) {
		fresh = fmt.Sprintf("the service has the host at the stage %q", stage)
		j.Done = nil
	}
	r.journal = j
	if fresh != "" {
		r.Log.Info("the journal begins anew", "why", fresh)
		return j.discard()
	}
	r.stage = stageOf(r.hostNow)
	r.Log.Info("the installer was started again", "done", fmt.Sprint(j.Done))
	return nil
}

func stageOf(h *models.Host) models.HostStage {
	if h.Progress == nil {
		return ""
	}
	return h.Progress.CurrentStage
}

// errLimit is the cause of a step's context when its time is over.
var errLimit = errors.New("the step took too long")

// do does one step, with its tries and its limit.
func (r *run) do(ctx context.Context, step Step, action func(context.Context) error) error {
	r.before(step)
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Log.Info("the step begins", "step", step.Name)
	if step.Stage != "" {
		r.stage = step.Stage
		r.post(ctx, step.Info)
	}
	if action == nil {
		return nil
	}
	limit := step.Limit
	r.patience = time.Time{}
	if step.Patient {
		r.patience = r.Clock.Now().Add(limit)
		limit = longestWait
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	err := r.try(limited, step, action)
	if err != nil && errors.Is(context.Cause(limited), errLimit) && !errors.Is(err, errLimit) {
		err = fmt.Errorf("the step %s took longer than %s: %w", step.Name, limit, err)
	}
	if err != nil && step.BestEffort && ctx.Err() == nil {
		r.Log.Warn("the step failed, and the installation goes on without it", "step", step.Name, "why", r.text(err))
		return nil
	}
	return err
}

func (r *run) try(ctx context.Context, step Step, action func(context.Context) error) error {
	for n := 1; ; n++ {
		err := action(ctx)
		if err == nil || ctx.Err() != nil || n >= step.Retry.Times {
			return err
		}
		r.Log.Warn("the step is tried again", "step", step.Name, "try", n, "of", step.Retry.Times, "why", r.text(err))
		if err := r.Clock.Sleep(ctx, step.Retry.Pause); err != nil {
			return err
		}
	}
}

// follow starts what goes on beside the steps after a step.
func (r *run) follow(ctx context.Context, step Step) {
	if step.Name != StepBootkube || !r.config.runsBootstrap() {
		return
	}
	watched, cancel := context.WithCancel(ctx)
	r.watching = cancel
	r.watchers.Go(func() { r.watchIgnition(watched) })
}

const (
	// postLimit is how long a post may take, with the client's tries: the network may just restart.
	postLimit = 5 * time.Minute
	// longestInfo is the most that the service keeps of an info.
	longestInfo = 2048
)

// post tells the service the stage with an info. A failure is only logged: the next post tells more.
func (r *run) post(ctx context.Context, info string) {
	r.postFor(ctx, r.host, r.stage, info)
}

func (r *run) postFor(ctx context.Context, host strfmt.UUID, stage models.HostStage, info string) {
	r.Log.Info("the installer posts a stage", "host", host, "stage", stage, "info", escape.Word(info))
	ctx, cancel := context.WithTimeout(ctx, postLimit)
	defer cancel()
	if err := r.Service.Progress(ctx, r.infraEnv, host, stage, shorten(info, longestInfo)); err != nil {
		r.Log.Warn("the service does not take the stage", "host", host, "stage", stage, "why", r.text(err))
	}
}

// shorten cuts a text to a number of bytes, at a character.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const end = " [...]"
	cut := most - len(end)
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + end
}

// text is an error for logs and for the service: on one line, without secrets.
func (r *run) text(err error) string { return escape.Word(redact.Text(r.hide(err.Error()))) }

// failed tells the service that the installation failed. The next installer begins anew.
func (r *run) failed(ctx context.Context, step Step, err error) error {
	err = fmt.Errorf("the step %s failed: %w", step.Name, err)
	r.Log.Error("the installation failed", "why", r.text(err))
	if r.journal != nil {
		if err := r.journal.discard(); err != nil {
			r.Log.Warn("the journal stays", "why", err)
		}
	}
	r.stage = models.HostStageFailed
	r.post(ctx, r.text(err))
	return err
}

// Limits of what is done after the installer was told to end: it is killed soon. The program that ran has ended by then,
// within two seconds.
const (
	clearLimit   = 1200 * time.Millisecond
	goodbyeLimit = 700 * time.Millisecond
)

// stopped leaves a disk that was being written in a state that does not boot, and says so.
func (r *run) stopped(ctx context.Context, step Step, cause error) error {
	stop := &Stopped{Step: step.Name, Cause: cause}
	r.Log.Error("the installer ends", "why", stop)
	ctx = context.WithoutCancel(ctx)
	info := fmt.Sprintf("The installer was stopped during %s", step.Name)
	var err error
	if step.Name == StepWrite && r.disk.Path != "" {
		clearing, cancel := context.WithTimeout(ctx, clearLimit)
		defer cancel()
		if err = r.Disks.Clear(clearing, r.disk); err != nil {
			err = fmt.Errorf("clear the half-written disk %s: %w; it may boot what it has: clear it by hand", r.disk.Path, err)
			r.Log.Error("the half-written disk is not cleared", "why", r.text(err))
			info += ", and its half-written disk could not be cleared"
		} else {
			r.Log.Warn("the half-written disk was cleared and does not boot", "disk", r.disk.Path)
			info += ", and its half-written disk was cleared"
		}
	}
	if r.stage != "" {
		parting, cancel := context.WithTimeout(ctx, goodbyeLimit)
		defer cancel()
		r.post(parting, info)
	}
	return errors.Join(stop, err)
}
