//go:build linux

package installer

import (
	"errors"
	"fmt"
	"time"

	"github.com/openshift/assisted-service/models"
)

// stageCopyingRegistry is a stage of the agent-based installer's appliance.
const stageCopyingRegistry models.HostStage = "Copying registry data to disk"

// Infos of stages. The service shows them to people; they are those of assisted-installer.
const (
	infoPreparing       = "Waiting for bootstrap node preparation"
	infoMasters         = "Waiting for masters to join bootstrap control plane"
	infoETCD            = "waiting for ETCD bootstrap to be complete"
	infoControllerReady = "waiting for controller pod ready event"
	infoIronic          = "Ironic will reboot the node shortly"
)

// Name identifies a step in plans, logs and the journal.
type Name string

// The steps.
const (
	StepCheckDisk         Name = "check-boot-disk"
	StepFormat            Name = "format-disks"
	StepStart             Name = "start"
	StepClean             Name = "clean-boot-disk"
	StepBootstrapIgnition Name = "fetch-bootstrap-ignition"
	StepApplyIgnition     Name = "apply-bootstrap-ignition"
	StepSSHKey            Name = "make-ssh-key"
	StepReloadUnits       Name = "reload-units"
	StepHostname          Name = "check-hostname"
	StepRestartNetwork    Name = "restart-network"
	StepManifests         Name = "write-controller-manifests"
	StepNodeImage         Name = "overlay-node-image"
	StepBootkube          Name = "start-bootkube"
	StepInstall           Name = "install"
	StepHostIgnition      Name = "fetch-host-ignition"
	StepMergeIgnition     Name = "merge-ignition"
	StepWrite             Name = "write-image"
	StepWriteRoot         Name = "write-existing-root"
	StepWaitHosts         Name = "wait-for-control-plane-hosts"
	StepHostsExist        Name = "control-plane-exists"
	StepSkipMCO           Name = "write-release-os"
	StepBootOrder         Name = "set-boot-order"
	StepRegistry          Name = "copy-registry"
	StepPrepareWait       Name = "prepare-control-plane-client"
	StepWaitMasters       Name = "wait-for-masters"
	StepWaitArbiters      Name = "wait-for-arbiters"
	StepWaitBootkube      Name = "wait-for-bootkube"
	StepWaitETCD          Name = "wait-for-etcd"
	StepWaitController    Name = "wait-for-controller"
	StepWaitWorkers       Name = "wait-for-workers"
	StepWaitConfigs       Name = "wait-for-machine-configs"
	StepLogs              Name = "send-logs"
	StepForget            Name = "remove-ignition"
	StepReboot            Name = "reboot"
)

// Retry says how often a step is tried, and how long it pauses between tries.
type Retry struct {
	Times int // 0 means once
	Pause time.Duration
}

// Step is a part of an installation. What it does follows from its name.
type Step struct {
	Name Name
	// Stage and Info are posted to the service before the step. A step without Stage belongs to the stage before it.
	Stage models.HostStage
	Info  string
	Retry Retry
	// Limit is how long the step may take, with all tries.
	Limit time.Duration
	// Patient means that a step which waits goes on after Limit while the service still counts on the host: it may only warn
	// about a slow stage, and it waits for people who have to change the boot order of another host.
	Patient bool
	// BestEffort means that the installation goes on without it if it fails.
	BestEffort bool
	// Always means that the step is done again by an installer that was started again.
	Always bool
}

// Facts are what a plan depends on besides the flags.
type Facts struct {
	AddHosts     bool   // the cluster is installed already, and this host is added to it
	Ironic       bool   // ironic-agent.service runs: Ironic reboots the machine
	Registry     bool   // the medium has a registry, for a control plane without network
	NodeImage    bool   // the live system lacks the programs of OpenShift, and overlays them
	Architecture string // as in GOARCH
}

// Limits of steps. The service gives a host up when a stage takes longer than its time-out. Its defaults are, in minutes
// (assisted-service, internal/host/config.go): 30 for Starting installation and Writing image to disk, 90 for Copying
// registry data to disk, 60 for the others. The installer waits a little longer, so that the service's verdict comes first.
const (
	margin        = 5 * time.Minute
	stageLimit    = 60*time.Minute + margin
	startLimit    = 30*time.Minute + margin
	registryLimit = 90*time.Minute + margin
	// writeLimit is longer than the stage's, since the service only warns about a slow disk.
	writeLimit = 2 * time.Hour
	// skipMCOLimit has 20 minutes in which the machine-config-server may start, as in assisted-installer.
	skipMCOLimit = 40 * time.Minute
	logsLimit    = 20 * time.Minute
	briefLimit   = 10 * time.Minute
	// longestWait is how long a patient step may take. The service gives an installation 24 hours.
	longestWait = 24 * time.Hour
)

// Plan lists the steps of an installation. It does nothing itself.
func Plan(c Config, f Facts) ([]Step, error) {
	if err := errors.Join(c.check()...); err != nil {
		return nil, fmt.Errorf("plan the installation: %w", err)
	}
	p := planner{Config: c, facts: f, role: c.Role}
	p.add(Step{Name: StepCheckDisk, Limit: briefLimit, Always: true})
	p.addIf(len(c.DisksToFormat) > 0 && c.CoreOSImage == "", Step{Name: StepFormat, Limit: briefLimit, BestEffort: true})
	p.add(Step{Name: StepStart, Stage: models.HostStageStartingInstallation, Info: string(c.Role), Limit: briefLimit})
	p.addIf(!c.SkipDiskCleanup && c.CoreOSImage == "", Step{Name: StepClean, Limit: startLimit, BestEffort: true})
	if c.runsBootstrap() {
		p.bootstrap()
		p.role = models.HostRoleMaster
	}
	p.add(Step{Name: StepInstall, Stage: models.HostStageInstalling, Info: string(p.role), Limit: briefLimit})
	p.ignition()
	p.write()
	if c.runsBootstrap() {
		p.tail()
	}
	p.finish()
	return p.steps, nil
}

type planner struct {
	Config
	facts Facts
	role  models.HostRole // the role from here on
	steps []Step
}

func (p *planner) add(steps ...Step) { p.steps = append(p.steps, steps...) }

func (p *planner) addIf(condition bool, steps ...Step) {
	if condition {
		p.add(steps...)
	}
}

// bootstrap starts the temporary control plane.
func (p *planner) bootstrap() {
	severalNodes := !p.singleNode()
	p.add(
		Step{Name: StepBootstrapIgnition, Limit: startLimit},
		Step{Name: StepApplyIgnition, Limit: startLimit, Retry: Retry{Times: 3, Pause: 5 * time.Second}},
	)
	p.addIf(severalNodes, Step{Name: StepSSHKey, Limit: briefLimit})
	p.add(Step{Name: StepReloadUnits, Limit: briefLimit}, Step{Name: StepHostname, Limit: briefLimit})
	p.addIf(severalNodes, Step{Name: StepRestartNetwork, Limit: briefLimit})
	p.add(Step{Name: StepManifests, Limit: briefLimit})
	p.addIf(p.facts.NodeImage, Step{Name: StepNodeImage, Limit: startLimit})
	p.add(Step{Name: StepBootkube, Limit: briefLimit})
}

// ignition gets the config of the host's first boot. A single node's comes from its own bootstrap.
func (p *planner) ignition() {
	if !p.singleNode() {
		p.add(Step{Name: StepHostIgnition, Limit: stageLimit})
		return
	}
	p.bootstrap()
	p.add(
		Step{Name: StepWaitBootkube, Stage: models.HostStageWaitingForBootkube, Limit: stageLimit, Patient: true},
		Step{Name: StepMergeIgnition, Limit: briefLimit},
	)
	p.role = models.HostRoleMaster
}

func (p *planner) write() {
	write := Step{Name: StepWrite, Stage: models.HostStageWritingImageToDisk, Limit: writeLimit} // Disks.Write has its own tries
	if p.CoreOSImage != "" {
		write.Name, write.Retry = StepWriteRoot, Retry{Times: 3, Pause: time.Second}
	}
	p.add(write)
	if p.role == models.HostRoleWorker {
		wait := Step{Name: StepWaitHosts, Stage: models.HostStageWaitingForControlPlane, Limit: stageLimit, Patient: true}
		if p.facts.AddHosts {
			wait = Step{Name: StepHostsExist, Stage: models.HostStageWaitingForControlPlane, Limit: briefLimit}
		}
		p.add(wait)
	}
	if p.CoreOSImage != "" {
		return
	}
	p.addIf(p.SkipMCOReboot && p.facts.Architecture != "s390x", Step{Name: StepSkipMCO, Limit: skipMCOLimit, BestEffort: true})
	p.add(Step{Name: StepBootOrder, Limit: briefLimit, BestEffort: true})
	p.addIf(p.facts.Registry && p.role == models.HostRoleMaster, Step{Name: StepRegistry, Stage: stageCopyingRegistry, Limit: registryLimit})
}

// tail waits until the cluster can do without its bootstrap.
func (p *planner) tail() {
	p.add(
		Step{Name: StepPrepareWait, Stage: models.HostStageWaitingForControlPlane, Info: infoPreparing, Limit: briefLimit},
		Step{Name: StepWaitMasters, Stage: models.HostStageWaitingForControlPlane, Info: infoMasters, Limit: stageLimit, Patient: true},
		Step{Name: StepWaitArbiters, Limit: stageLimit, Patient: true},
		Step{Name: StepWaitBootkube, Stage: models.HostStageWaitingForBootkube, Limit: stageLimit, Patient: true},
		Step{Name: StepWaitETCD, Stage: models.HostStageWaitingForBootkube, Info: infoETCD, Limit: stageLimit, Patient: true},
		Step{
			Name: StepWaitController, Stage: models.HostStageWaitingForController, Info: infoControllerReady, Limit: stageLimit, Patient: true,
		},
		Step{Name: StepWaitWorkers, Limit: stageLimit, Patient: true},
		Step{Name: StepWaitConfigs, Limit: stageLimit, Patient: true},
	)
}

func (p *planner) finish() {
	reboot := Step{Name: StepReboot, Stage: models.HostStageRebooting, Limit: briefLimit}
	if p.facts.Ironic {
		reboot.Info = infoIronic
	}
	p.add(
		Step{Name: StepLogs, Limit: logsLimit, BestEffort: true},
		Step{Name: StepForget, Limit: briefLimit, BestEffort: true},
		reboot,
	)
}
