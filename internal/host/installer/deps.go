//go:build linux

package installer

import (
	"context"
	"log/slog"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/installer/manifests"
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
	// Write writes the operating system. A disk whose writing failed does not boot.
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

// Kube is the API server of the new cluster. Roles are those of the label node-role.kubernetes.io/ROLE.
type Kube interface {
	Nodes(ctx context.Context, role string) ([]Node, error)
	// ConfigMap is the data of a ConfigMap.
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	// Events are the events of a namespace.
	Events(ctx context.Context, namespace string) ([]Event, error)
	// HasMachineConfig reports whether there is a MachineConfig of this name.
	HasMachineConfig(ctx context.Context, name string) (bool, error)
	// RemoveTaint removes the taints of a node that have this key.
	RemoveTaint(ctx context.Context, node, key string) error
}

// Node is a node of the new cluster.
type Node struct {
	Name        string
	InternalIPs []string
	Ready       bool
	Annotations map[string]string
}

// Event is a Kubernetes event.
type Event struct{ Name, UID, Message string }

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
	// Kube makes a client of a kubeconfig.
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
