//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"runtime"
	"time"

	"github.com/openshift/assisted-service/models"
	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Downloader gets files from any URL. service.Client implements it.
type Downloader interface {
	// Download begins a download. The size is -1 if the server does not say it. The error repeats no secret of the URL.
	Download(ctx context.Context, url string) (content io.ReadCloser, size int64, err error)
}

// Artifacts does the step download-boot-artifacts: an installed machine that leaves its cluster gets a boot entry that
// boots the discovery image. The guards of the machine's side decide whether its disk may be written to.
type Artifacts struct {
	Runner     machine.Runner
	Files      hostfile.Files
	Downloader Downloader
	Clock      clock.Clock
	Log        *slog.Logger
	// Free is how many bytes are free where a folder is. nil asks the kernel.
	Free func(folder string) (uint64, error)
}

const (
	kernelFile = "/discovery/vmlinuz"
	initrdFile = "/discovery/initrd"
	entryFile  = "/loader/entries/00-assisted-discovery.conf"
	// entryText boots the discovery image. Version 999 makes it the first entry.
	entryText = "title Assisted Installer Discovery\nversion 999\n" +
		"options random.trust_cpu=on ignition.firstboot ignition.platform.id=metal 'coreos.live.rootfs_url=%s'\n" +
		"linux /boot" + kernelFile + "\ninitrd /boot" + initrdFile

	downloadAttempts = 5
	downloadPause    = time.Minute
	// largestArtifact bounds a kernel or an initrd.
	largestArtifact = 1 << 30
	artifactPerm    = 0o644

	artifactsReady = "Successfully downloaded boot artifacts"
)

// errS390x is the error of machines that boot by zipl.
var errS390x = errors.New("s390x boots by zipl, which oaictl-host does not configure: boot the machine from the discovery image")

// Execute implements Executor.
func (a *Artifacts) Execute(ctx context.Context, args []string) Reply {
	request, err := parseArtifacts(args, a.Log)
	if err != nil {
		return refuse(err)
	}
	if runtime.GOARCH == "s390x" {
		return refuse(errS390x)
	}
	boot := hostfile.Files{Root: a.Files.Path(path.Join(*request.HostFsMountDir, "boot"))}
	if boot.Exists(kernelFile) && boot.Exists(initrdFile) && boot.Exists(entryFile) {
		return Reply{Output: artifactsReady}
	}
	if err := a.install(ctx, request, boot); err != nil {
		return refuse(err)
	}
	return Reply{Output: artifactsReady}
}

func (a *Artifacts) install(ctx context.Context, request *models.DownloadBootArtifactsRequest, boot hostfile.Files) error {
	remount := machine.Command{Name: "mount", Args: []string{"-o", "remount,rw", boot.Root}, Timeout: time.Minute}
	if _, err := a.Runner.Run(ctx, remount); err != nil {
		return fmt.Errorf("make %s writable: %w", boot.Root, err)
	}
	for _, file := range []struct{ path, url string }{{kernelFile, *request.KernelURL}, {initrdFile, *request.InitrdURL}} {
		if err := a.fetch(ctx, boot, file.path, file.url); err != nil {
			return err
		}
	}
	// The entry comes last: it boots files that are whole.
	return boot.Write(entryFile, fmt.Appendf(nil, entryText, *request.RootfsURL), artifactPerm)
}

// fetch downloads a file, several times if it has to.
func (a *Artifacts) fetch(ctx context.Context, boot hostfile.Files, path, url string) error {
	for attempt := 1; ; attempt++ {
		err := a.fetchOnce(ctx, boot, path, url)
		if err == nil || ctx.Err() != nil || attempt == downloadAttempts {
			return err
		}
		a.Log.Warn("a boot artifact was not downloaded, it is downloaded again", "file", path, "in", downloadPause.String(),
			"attempt", attempt, "attempts", downloadAttempts, "error", err)
		if err := a.Clock.Sleep(ctx, downloadPause); err != nil {
			return err
		}
	}
}

func (a *Artifacts) fetchOnce(ctx context.Context, boot hostfile.Files, path, url string) error {
	content, size, err := a.Downloader.Download(ctx, url)
	if err != nil {
		return err
	}
	defer content.Close()
	if size > largestArtifact {
		return fmt.Errorf("download %s: it has %d bytes, and %d are the most", path, size, largestArtifact)
	}
	if err := a.makeRoom(ctx, boot, max(size, 0)); err != nil {
		return fmt.Errorf("download %s: %w", path, err)
	}
	return boot.Save(path, &atMost{content, largestArtifact}, artifactPerm)
}

// makeRoom removes the rollback deployment if the boot file system is too full.
func (a *Artifacts) makeRoom(ctx context.Context, boot hostfile.Files, size int64) error {
	for cleaned := false; ; cleaned = true {
		free, err := a.free(boot.Root)
		if err != nil || free > uint64(size) {
			return err
		}
		if cleaned {
			return fmt.Errorf("%s has %d bytes free, and %d are needed: remove files from it", boot.Root, free, size)
		}
		a.Log.Warn("the boot file system is too full: the earlier deployment is removed from it", "free", free, "needed", size)
		cleanup := machine.Command{Name: "rpm-ostree", Args: []string{"cleanup", "--os=rhcos", "-r"}, Timeout: downloadPause * downloadAttempts}
		if _, err := a.Runner.Run(ctx, cleanup); err != nil {
			return fmt.Errorf("remove the earlier deployment from %s: %w", boot.Root, err)
		}
	}
}

func (a *Artifacts) free(folder string) (uint64, error) {
	if a.Free != nil {
		return a.Free(folder)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return 0, fmt.Errorf("find out what is free in %s: %w", folder, err)
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

// atMost fails when there is more to read than rest.
type atMost struct {
	io.Reader
	rest int64
}

func (a *atMost) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if a.rest -= int64(n); a.rest < 0 {
		return n, errors.New("it is too long")
	}
	return n, err
}

// Reclaim does the step reboot-for-reclaim: the machine boots the discovery image.
type Reclaim struct {
	Runner machine.Runner
	Log    *slog.Logger
}

// Execute implements Executor.
func (r *Reclaim) Execute(ctx context.Context, args []string) Reply {
	request, err := decode[models.RebootForReclaimRequest](string(models.StepTypeRebootForReclaim), args, r.Log)
	if err == nil {
		err = mountFolder(*request.HostFsMountDir)
	}
	if err == nil && runtime.GOARCH == "s390x" {
		err = errS390x
	}
	if err != nil {
		return refuse(err)
	}
	r.Log.Info("the machine reboots into the discovery image")
	if r.Runner.Has("systemctl") {
		return container(r.Runner.Run(ctx, machine.Command{Name: "systemctl", Args: []string{"reboot"}, Timeout: time.Minute}))
	}
	if err := r.Runner.Reboot(ctx); err != nil {
		return refuse(err)
	}
	return Reply{}
}
