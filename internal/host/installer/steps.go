//go:build linux

package installer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
)

// actions say what each step does. A step without action only posts its stage.
func (r *run) actions() map[Name]func(context.Context) error {
	return map[Name]func(context.Context) error{
		StepCheckDisk:         r.checkDisk,
		StepFormat:            r.format,
		StepStart:             r.start,
		StepClean:             r.clean,
		StepBootstrapIgnition: r.fetchBootstrapIgnition,
		StepApplyIgnition:     r.applyIgnition,
		StepSSHKey:            r.makeSSHKey,
		StepReloadUnits:       func(ctx context.Context) error { return r.systemctl(ctx, "daemon-reload") },
		StepHostname:          r.checkHostname,
		StepRestartNetwork:    func(ctx context.Context) error { return r.systemctl(ctx, "restart", "NetworkManager.service") },
		StepManifests:         r.writeManifests,
		StepNodeImage:         r.overlayNodeImage,
		StepBootkube:          r.startBootkube,
		StepInstall:           nil,
		StepHostIgnition:      r.fetchHostIgnition,
		StepMergeIgnition:     r.mergeIgnition,
		StepWrite:             r.write,
		StepWriteRoot:         r.writeRoot,
		StepWaitHosts:         r.waitHosts,
		StepHostsExist:        nil,
		StepSkipMCO:           r.writeReleaseOS,
		StepBootOrder:         func(ctx context.Context) error { return r.BootOrder.BootFrom(ctx, r.disk) },
		StepRegistry:          r.copyRegistry,
		StepPrepareWait:       r.reloadResolver,
		StepWaitMasters:       r.waitMasters,
		StepWaitArbiters:      r.waitArbiters,
		StepWaitBootkube:      r.waitBootkube,
		StepWaitETCD:          r.waitETCD,
		StepWaitController:    r.waitController,
		StepWaitWorkers:       r.waitWorkers,
		StepWaitConfigs:       r.waitConfigs,
		StepLogs:              r.sendLogs,
		StepForget:            r.forget,
		StepReboot:            r.reboot,
	}
}

// checkDisk finds the disk to install to, and compares it with the one that the service knows by this name.
func (r *run) checkDisk(context.Context) error {
	disk, err := r.Disks.Inspect(r.config.BootDevice)
	if err != nil {
		return err
	}
	known, err := inventoryDisk(r.hostNow, r.config.BootDevice)
	if err != nil {
		return err
	}
	if err := r.Disks.Match(disk, known); err != nil {
		return fmt.Errorf("compare the disk %s with the one that was chosen: %w", r.config.BootDevice, err)
	}
	r.disk = disk
	r.Log.Info("the disk to install to", "name", r.config.BootDevice, "disk", disk.Path, "size", disk.Size, "serial", disk.Serial)
	return nil
}

// inventoryDisk finds a disk in the inventory that the agent gave the service.
func inventoryDisk(h *models.Host, name string) (*models.Disk, error) {
	var inventory models.Inventory
	if err := json.Unmarshal([]byte(h.Inventory), &inventory); err != nil {
		return nil, fmt.Errorf("read the inventory that the service has of this host: %w", err)
	}
	for _, disk := range inventory.Disks {
		if disk != nil && slices.Contains([]string{disk.ID, disk.ByID, disk.ByPath, disk.Path, "/dev/" + disk.Name}, name) {
			return disk, nil
		}
	}
	return nil, fmt.Errorf("the inventory that the service has of this host has no disk %q; nothing was written", name)
}

// format overwrites the first sector of each disk that the user named. One that may not be written to is left out.
func (r *run) format(ctx context.Context) error {
	var failed []error
	for _, name := range r.config.DisksToFormat {
		err := r.formatOne(ctx, name)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("format the disk %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

func (r *run) formatOne(ctx context.Context, name string) error {
	disk, err := r.Disks.Inspect(name)
	if err != nil {
		return err
	}
	if disk.Number == r.disk.Number {
		return fmt.Errorf("it is the disk to install to, %s", r.disk.Path)
	}
	known, err := inventoryDisk(r.hostNow, name)
	if err == nil {
		err = r.Disks.Match(disk, known)
	}
	if err == nil {
		err = r.Disks.Check(disk)
	}
	if err == nil {
		err = r.Disks.Format(ctx, disk)
	}
	return err
}

const folderMode = 0o755

func (r *run) start(context.Context) error { return r.Files.MakeFolder(installDir, folderMode) }

// clean removes what would hinder writing. The text for the service is assisted-installer's.
func (r *run) clean(ctx context.Context) error {
	err := r.Disks.Clean(ctx, r.disk)
	if err != nil && ctx.Err() == nil {
		r.post(ctx, fmt.Sprintf("Could not clean install device %s. The installation will continue. "+
			"If the installation fails, clean the disk and try again", r.disk.Path))
	}
	return err
}

// Modes of files: onlyRoot is that of files with secrets.
const (
	onlyRoot = 0o600
	readable = 0o644
)

// ignitionPath is the config of the first boot from the disk.
func (r *run) ignitionPath() string {
	role := r.config.Role
	if role == models.HostRoleBootstrap {
		role = models.HostRoleMaster
	}
	return path.Join(installDir, fmt.Sprintf("%s-%s.ign", role, r.host))
}

func (r *run) hostIgnition(ctx context.Context) ([]byte, error) {
	config, err := r.Service.HostIgnition(ctx, r.infraEnv, r.host)
	if err == nil {
		err = firstboot.Check(config)
	}
	if err != nil {
		return nil, fmt.Errorf("get this host's Ignition config from the service: %w", err)
	}
	return config, nil
}

func (r *run) fetchHostIgnition(ctx context.Context) error {
	config, err := r.hostIgnition(ctx)
	if err != nil {
		return err
	}
	return r.Files.Write(r.ignitionPath(), config, onlyRoot)
}

// masterIgnition is what the bootstrap of a single node makes for the node.
const masterIgnition = "/opt/openshift/master.ign"

func (r *run) mergeIgnition(ctx context.Context) error {
	master, err := r.Files.Read(masterIgnition)
	if err == nil {
		err = firstboot.Check(master)
	}
	if err != nil {
		return fmt.Errorf("read the Ignition config that bootkube made: %w", err)
	}
	host, err := r.hostIgnition(ctx)
	if err != nil {
		return err
	}
	merged, err := firstboot.MergeHost(master, host)
	if err != nil {
		return err
	}
	return r.Files.Write(r.ignitionPath(), merged, onlyRoot)
}

// write writes the operating system to the disk.
func (r *run) write(ctx context.Context) error {
	progress := r.newReporter(ctx)
	defer progress.end()
	err := r.Disks.Write(ctx, Image{
		Disk: r.disk, Ignition: r.ignitionPath(), Args: r.config.InstallerArgs, Progress: progress.percent,
	})
	if err != nil {
		return fmt.Errorf("write the operating system to the disk %s: %w", r.disk.Path, err)
	}
	return nil
}

// sendLogs sends the logs of this machine while it still runs the live system.
func (r *run) sendLogs(ctx context.Context) error {
	if err := r.Service.HostLogsProgress(ctx, r.infraEnv, r.host, models.LogsStateRequested); err != nil {
		r.Log.Warn("the service does not take that logs come", "why", r.text(err))
	}
	if err := r.Logs.Send(ctx, r.config.Role == models.HostRoleBootstrap); err != nil {
		return fmt.Errorf("send the logs of this machine: %w", err)
	}
	return nil
}

// forget removes the Ignition configs: they have secrets, and are not needed any more.
func (r *run) forget(context.Context) error {
	return errors.Join(r.Files.Remove(r.ignitionPath()), r.Files.Remove(bootstrapIgnition))
}

// reboot lets Ironic reboot the machine, or shuts it down for a reboot. A node of several waits for a minute, in which etcd
// settles.
func (r *run) reboot(ctx context.Context) error {
	if r.facts.Ironic {
		return r.systemctl(ctx, "stop", "agent.service")
	}
	when := "+1"
	if r.config.singleNode() {
		when = "now"
	}
	if _, err := r.program(ctx, "shutdown", "-r", when, "'Installation completed, server is going to reboot.'"); err != nil {
		return fmt.Errorf("reboot into the installed system: %w", err)
	}
	return nil
}
