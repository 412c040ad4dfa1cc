//go:build linux

package installer

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/installer/manifests"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Service is what the installer needs of the assisted-service. Each call tries again as long as that makes sense.
type Service interface {
	// Progress says at which stage a host is.
	Progress(ctx context.Context, infraEnv, host strfmt.UUID, stage models.HostStage, info string) error
	Cluster(ctx context.Context, cluster strfmt.UUID, withHosts bool) (*models.Cluster, error)
	Host(ctx context.Context, infraEnv, host strfmt.UUID) (*models.Host, error)
	// ClusterFile downloads a file of the cluster, such as bootstrap.ign.
	ClusterFile(ctx context.Context, cluster strfmt.UUID, name string) ([]byte, error)
	// HostIgnition downloads the Ignition config of a host's first boot from its disk.
	HostIgnition(ctx context.Context, infraEnv, host strfmt.UUID) ([]byte, error)
	HostLogsProgress(ctx context.Context, infraEnv, host strfmt.UUID, state models.LogsState) error
	ClusterLogsProgress(ctx context.Context, cluster strfmt.UUID, state models.LogsState) error
	// UploadLogs sends a tar.gz: of a host, or with nil of the controller.
	UploadLogs(ctx context.Context, cluster strfmt.UUID, infraEnv, host *strfmt.UUID, kind models.LogsType, content io.Reader) error
}

// Disks finds, cleans and writes disks.
type Disks interface {
	// Inspect follows the links of a path, and reads which disk that is.
	Inspect(path string) (blockdevice.Identity, error)
	// Check returns an error if the disk may not be written to, such as one that is mounted or has the live system.
	Check(id blockdevice.Identity) error
	// Match returns an error if the disk is not the one of an inventory: serial number, WWN or size differ. What the
	// inventory leaves empty is not compared.
	Match(id blockdevice.Identity, disk *models.Disk) error
	// Format overwrites the first sector.
	Format(ctx context.Context, id blockdevice.Identity) error
	// Clean removes LVM, RAID and signatures from the disk.
	Clean(ctx context.Context, id blockdevice.Identity) error
	// Write writes the operating system. It tries as often as makes sense. A disk whose writing failed does not boot.
	Write(ctx context.Context, image Image) error
	// Clear overwrites the partition table, so that the disk does not boot. It takes less than a second.
	Clear(ctx context.Context, id blockdevice.Identity) error
}

// Image says what is written to a disk.
type Image struct {
	Disk blockdevice.Identity
	// Ignition is the path of the config of the first boot.
	Ignition string
	// Args are the service's arguments for coreos-installer.
	Args []string
	// Progress gets how much is written, in percent. It begins at 0 again when writing does. It returns at once.
	Progress func(percent int)
}

// BootOrder makes the firmware start a disk first.
type BootOrder interface {
	BootFrom(ctx context.Context, id blockdevice.Identity) error
}

// Kube is the API server of the new cluster. A kube.Client is one.
type Kube interface {
	Nodes(ctx context.Context) ([]kube.Node, error)
	// InitializeNode removes the taint of a node that waits for a cloud.
	InitializeNode(ctx context.Context, node kube.Node) error
	// ConfigMap is the data of a ConfigMap.
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	Events(ctx context.Context, namespace string) ([]kube.Event, error)
	// MachineConfig returns an error for which kube.NotFound is true if there is none of this name.
	MachineConfig(ctx context.Context, name string) (kube.MachineConfig, error)
	// Pods are those with all labels and of a phase.
	Pods(ctx context.Context, namespace string, labels map[string]string, phase string) ([]kube.Pod, error)
	// PodLog is the log of the last time, at most limit bytes of it.
	PodLog(ctx context.Context, namespace, name string, last time.Duration, limit int64) ([]byte, error)
}

// Connect is the Kube of Deps for real clusters.
func Connect(kubeconfig []byte) (Kube, error) { return kube.Connect(kubeconfig) }

// Logs sends the logs of this machine to the service.
type Logs interface {
	// Send also sends the logs of the temporary control plane if bootstrap.
	Send(ctx context.Context, bootstrap bool) error
}

// Fetcher gets the Ignition config at a URL of a machine-config-server, whose certificate the CA has signed.
type Fetcher interface {
	Fetch(ctx context.Context, url string, ca []byte) ([]byte, error)
}

// Controller says which controller image is oaictl's, and what that may do in the cluster.
type Controller struct {
	Image string
	Rules []manifests.Rule
}

// Deps is what an installer works with. All are needed but those that say otherwise.
type Deps struct {
	Service   Service
	Disks     Disks
	BootOrder BootOrder
	Logs      Logs
	Fetcher   Fetcher
	// Kube makes a client of a kubeconfig, as Connect does.
	Kube func(kubeconfig []byte) (Kube, error)
	// Runner runs programs of the live system, and Files are its files.
	Runner machine.Runner
	Files  hostfile.Files
	// Own are the files of this program's container; nil if it runs in none.
	Own *hostfile.Files
	// Hostname is the name of the machine, as the kernel has it.
	Hostname func() (string, error)
	// Controller is zero if no controller image is known as oaictl's.
	Controller   Controller
	Architecture string // as in GOARCH
	Clock        clock.Clock
	Log          *slog.Logger
}
