//go:build linux

package installer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
)

const (
	newRoot = "/mnt"
	// configServerLimit is how long the machine-config-server may take to serve, as in assisted-installer.
	configServerLimit = 20 * time.Minute
)

// writeReleaseOS replaces the operating system of the written disk by the release's. The machine-config-operator would do that
// after the first boot, and reboot.
func (r *run) writeReleaseOS(ctx context.Context) error {
	os, err := r.releaseOS(ctx)
	if err != nil {
		return fmt.Errorf("find out the operating system of the release, which the node then installs at its first boot: %w", err)
	}
	const tries = 3
	retry := Step{Name: StepSkipMCO, Retry: Retry{Times: tries, Pause: lookEvery}}
	if err := r.try(ctx, retry, func(ctx context.Context) error { return r.deploy(ctx, os) }); err != nil {
		return fmt.Errorf("write the operating system of the release, which the node then installs at its first boot: %w", err)
	}
	return nil
}

// releaseOS asks the server that the host's config points at.
func (r *run) releaseOS(ctx context.Context) (firstboot.OS, error) {
	config, err := r.Files.Read(r.ignitionPath())
	if err != nil {
		return firstboot.OS{}, err
	}
	if r.config.singleNode() {
		return firstboot.CarriedOS(config)
	}
	source, ca, err := firstboot.Pointer(config)
	if err != nil {
		return firstboot.OS{}, err
	}
	if strings.HasPrefix(source, "data:") {
		return firstboot.CarriedOS(config)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, configServerLimit, errLimit)
	defer cancel()
	var os firstboot.OS
	err = r.waitFor(ctx, wait{
		what: "the machine-config-server to give this host's config", tell: true,
		next: "look at the logs of the machine-config-server on the bootstrap",
		look: func(ctx context.Context) (bool, string, error) {
			served, err := r.Fetcher.Fetch(ctx, source, ca)
			if err == nil {
				os, err = firstboot.ReleaseOS(served)
			}
			return err == nil, "", err
		},
	})
	return os, err
}

// deploy writes an operating system into the root file system of the written disk.
func (r *run) deploy(ctx context.Context, os firstboot.OS) error {
	disk, root, err := r.rootPartition(ctx)
	if err != nil {
		return err
	}
	boot, err := disk.find(labelBoot)
	if err != nil {
		return err
	}
	if !r.grown {
		// The release's system needs about as much room as the image's, and both are there until the first boot.
		if err := r.growpart(ctx, root, disk.freePercent(root.Size)); err != nil {
			return fmt.Errorf("make room on %s: %w", root.Path, err)
		}
		r.grown = true
	}
	return r.mounted(ctx, root.Path, newRoot, func(ctx context.Context) error {
		return r.mounted(ctx, boot.Path, path.Join(newRoot, "boot"), func(ctx context.Context) error {
			return r.deployInto(ctx, os)
		})
	})
}

func (r *run) deployInto(ctx context.Context, os firstboot.OS) error {
	deploy := command{
		"ostree", "container", "image", "deploy",
		"--sysroot", newRoot,
		"--authfile", firstboot.DockerConfig,
		"--imgref", "ostree-unverified-registry:" + os.Image,
		"--karg", r.platformID(),
		"--karg", "$ignition_firstboot",
		"--stateroot", "rhcos",
	}
	for _, argument := range append(kernelArguments(r.config.InstallerArgs, "--append-karg"), os.KernelArguments...) {
		deploy = append(deploy, "--karg", argument)
	}
	return r.programs(ctx,
		command{"xfs_growfs", newRoot},
		// SELinux of the live system forbids labels of the new one. The machine reboots.
		command{"setenforce", "0"},
		deploy,
		// What was written is on the disk when the file systems are frozen: the machine may reboot at once.
		command{"fsfreeze", "--freeze", path.Join(newRoot, "boot")},
		command{"fsfreeze", "--unfreeze", path.Join(newRoot, "boot")},
		command{"fsfreeze", "--freeze", newRoot},
		command{"fsfreeze", "--unfreeze", newRoot},
	)
}

// Places on a live system that was installed to a disk itself.
const (
	stateroot      = "install"
	nodeImageRef   = "coreos/node-image"
	ostreeRepo     = "/ostree/repo"
	bootNetworks   = "/boot/coreos-firstboot-network"
	networkFolder  = "/etc/NetworkManager/system-connections"
	bootIgnition   = "/boot/ignition/config.ign"
	firstBootStamp = "/boot/ignition.firstboot"
)

// writeRoot installs an image of CoreOS beside the system that runs, and starts it at the next boot.
func (r *run) writeRoot(ctx context.Context) error {
	if err := r.programs(ctx,
		command{"mount", "/sysroot", "-o", "remount,rw"},
		command{"mount", "/boot", "-o", "remount,rw"},
	); err != nil {
		return fmt.Errorf("make the file systems of this machine writable: %w", err)
	}
	if err := r.removeNodeImage(ctx); err != nil {
		return fmt.Errorf("remove the node image: %w", err)
	}
	if err := r.deployRoot(ctx); err != nil {
		return fmt.Errorf("install the image %s: %w", r.config.CoreOSImage, err)
	}
	if err := r.setKernelArguments(ctx); err != nil {
		return fmt.Errorf("set the kernel arguments of the installed system: %w", err)
	}
	return r.writeFirstBoot()
}

// removeNodeImage removes a reference that hinders the image, and keeps what it refers to until the reboot.
func (r *run) removeNodeImage(ctx context.Context) error {
	if !r.Files.Exists(path.Join(ostreeRepo, "refs/heads", nodeImageRef)) {
		return nil
	}
	if _, err := r.program(ctx, "ostree", "refs", "--repo", ostreeRepo, "--delete", nodeImageRef); err != nil {
		return err
	}
	kept := path.Join(ostreeRepo, "tmp/node-image")
	if r.Files.Exists(kept) {
		return nil
	}
	return r.Files.Write(kept, nil, readable)
}

func (r *run) deployRoot(ctx context.Context) error {
	if !r.Files.Exists(path.Join("/ostree/deploy", stateroot)) {
		if _, err := r.program(ctx, "ostree", "admin", "stateroot-init", stateroot); err != nil {
			return err
		}
	}
	return r.programs(ctx,
		command{
			"ostree", "container", "image", "deploy",
			"--stateroot", stateroot,
			"--sysroot", "/",
			"--authfile", firstboot.DockerConfig,
			"--karg", "$ignition_firstboot",
			"--karg", "ignition.platform.id=metal",
			"--image", r.config.CoreOSImage,
		},
		command{"ostree", "admin", "finalize-staged"},
	)
}

func (r *run) setKernelArguments(ctx context.Context) error {
	kargs := command{"rpm-ostree", "kargs", "--os", stateroot}
	before := len(kargs)
	for _, argument := range kernelArguments(r.config.InstallerArgs, "--append-karg") {
		kargs = append(kargs, "--append", argument)
	}
	for _, argument := range kernelArguments(r.config.InstallerArgs, "--delete-karg") {
		kargs = append(kargs, "--delete-if-present", argument)
	}
	if len(kargs) == before {
		return nil
	}
	return r.programs(ctx, kargs, command{"ostree", "admin", "finalize-staged"})
}

// writeFirstBoot writes what the first boot reads: keyfiles of NetworkManager if the service asks for them, and Ignition.
func (r *run) writeFirstBoot() error {
	if copiesNetwork(r.config.InstallerArgs) {
		if err := r.copyKeyfiles(); err != nil {
			return fmt.Errorf("copy this machine's network for the first boot: %w", err)
		}
	}
	config, err := r.Files.Read(r.ignitionPath())
	if err != nil {
		return err
	}
	return errors.Join(r.Files.Write(bootIgnition, config, onlyRoot), r.Files.Write(firstBootStamp, nil, readable))
}

func copiesNetwork(args []string) bool {
	for _, arg := range args {
		if arg == "--copy-network" || arg == "-n" {
			return true
		}
	}
	return false
}

func (r *run) copyKeyfiles() error {
	names, err := r.Files.List(networkFolder)
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := r.Files.Read(path.Join(networkFolder, name))
		if err != nil {
			return err
		}
		if err := r.Files.Write(path.Join(bootNetworks, name), content, onlyRoot); err != nil {
			return err
		}
	}
	return nil
}
