package install

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Backend is a service with every verb: the planes of pkg/install/rest and pkg/install/hub
// are. What only one of them can do the other refuses with [model.CodeUsage].
type Backend interface {
	Service

	// ListClusters lists the clusters that the user may see, by name and age.
	ListClusters(ctx context.Context) ([]model.Cluster, error)
	// ListInfraEnvs lists the InfraEnvs that the user may see, or those of one cluster, by
	// name and age.
	ListInfraEnvs(ctx context.Context, clusterID string) ([]model.InfraEnv, error)
	// ListHosts lists the hosts of an InfraEnv, bound or not.
	ListHosts(ctx context.Context, infraEnvID string) ([]model.Host, error)
	// ClusterByNameOrID finds one cluster by its id, its name, or NAME.DOMAIN. None and
	// several are faults with [model.CodeNotFound], the latter naming the ids.
	ClusterByNameOrID(ctx context.Context, text string) (model.ClusterRef, error)
	// InfraEnvByNameOrID does so for an InfraEnv.
	InfraEnvByNameOrID(ctx context.Context, text string) (model.InfraEnv, error)
	// ClusterLeft finds what an interrupted deletion has left of a cluster, which DeleteCluster deletes. The Status
	// says what that is.
	ClusterLeft(ctx context.Context, text string) (model.ClusterRef, error)
	// Events reads one page of the service's event log, from the offset on.
	Events(ctx context.Context, filter EventFilter, offset int) (EventPage, error)
	// Follow makes lists be read from watches from now on, where the service has them: for callers that read lists
	// again and again.
	Follow()
	// CheckRelease is an error where registering a cluster would end for want of a release.
	CheckRelease(ctx context.Context, c *spec.Cluster) error

	// CancelInstall stops an install. It can be reset and started again.
	CancelInstall(ctx context.Context, clusterID string) error
	// ResetInstall takes a cluster back to before its install; its hosts have to boot the
	// discovery image again.
	ResetInstall(ctx context.Context, clusterID string) error
	// MayDelete refuses a cluster that DeleteCluster would not delete in any state.
	MayDelete(ref model.ClusterRef) error
	// DeleteCluster deletes a cluster, and waits for it to be gone.
	DeleteCluster(ctx context.Context, clusterID string, options DeleteOptions) error
	// DeleteInfraEnv deletes an InfraEnv that no hosts belong to.
	DeleteInfraEnv(ctx context.Context, infraEnvID string, options DeleteOptions) error
	// DeleteHost deletes a host's record. A machine whose agent still runs registers again.
	DeleteHost(ctx context.Context, infraEnvID, hostID string, options DeleteOptions) error
	// ReleaseCluster releases a cluster and deletes nothing.
	ReleaseCluster(ctx context.Context, clusterID string) error

	// Logs writes the logs of a cluster, or of one of its hosts, to out: a tar of compressed
	// archives.
	Logs(ctx context.Context, clusterID, hostID string, out io.Writer) error
	// Manifests lists a cluster's extra manifests; system adds those that the service makes
	// itself.
	Manifests(ctx context.Context, clusterID string, system bool) ([]Manifest, error)
	// DownloadManifest writes a manifest's content to out.
	DownloadManifest(ctx context.Context, clusterID, folder, name string, out io.Writer) error
	// DownloadIgnition writes a file of the cluster to out: bootstrap.ign, master.ign,
	// worker.ign, arbiter.ign, metadata.json or install-config.yaml.
	DownloadIgnition(ctx context.Context, clusterID, file string, out io.Writer) error
	// DownloadInfraEnvFile writes a file of an InfraEnv to out: discovery.ign, ipxe-script
	// or static-network-config.
	DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error
	// HostIgnition is the Ignition that a host boots with, once the install runs.
	HostIgnition(ctx context.Context, infraEnvID, hostID string) (string, error)
	// DownloadISOURL is a fresh URL of an InfraEnv's discovery image, and when it ends (zero:
	// never). It may carry a token: it is not to be logged.
	DownloadISOURL(ctx context.Context, infraEnvID string) (url string, expires time.Time, err error)
	// OpenISO opens a discovery image by its URL at an offset. The caller closes it. size is
	// that of the whole image, -1 if unknown.
	OpenISO(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error)

	// Close ends what the backend has left running.
	Close()
}

// DeleteOptions say what else is done about what is deleted.
type DeleteOptions struct {
	// ReturnToPool makes a hub boot the nodes of the cluster into the discovery image, for the pool that they came
	// from.
	ReturnToPool bool
	// RemoveNode makes a hub remove the host's node from its cluster first.
	RemoveNode bool
	// Report, if not nil, is called, with one sentence at a time, with what the deletion waits for and what it leaves,
	// and why. It is called from the goroutine that deletes. No sentence holds a secret.
	Report func(text string)
	// Found, if not nil, is called for each object that a hub has to delete, in the same goroutine.
	Found func()
}

// ServiceEvent is an entry of the service's event log.
type ServiceEvent struct {
	Time       time.Time
	Name       string // "host_status_updated"
	Severity   string // info, warning, error, critical
	Category   string
	Message    string
	ClusterID  string
	HostID     string
	InfraEnvID string
	Props      string // JSON object in a text, "" for none
}

// EventFilter says which events to list; empty fields do not filter. A hub has the events of
// a cluster, an InfraEnv or a host, and no list of all.
type EventFilter struct {
	ClusterID  string
	HostID     string
	InfraEnvID string // beside HostID: where the host belongs, which spares a hub to look for it
	Severities []string
	Message    string // part of it
	Newest     bool   // newest first
	Limit      int    // per page; 500 if zero
}

// EventPage is a page of events.
type EventPage struct {
	Events []ServiceEvent
	// Total is how many events fit the filter, -1 where the service does not say.
	Total int
}

// Manifest names an extra manifest of a cluster.
type Manifest struct {
	Folder string // manifests or openshift
	Name   string
	Source string // user or system
}

// ErrDeleting is in the error of an observation that finds the cluster being deleted.
var ErrDeleting = errors.New("is being deleted")

// Service is what the loop needs of a backend: an assisted-service over REST, or a hub's
// CRDs. Its methods are safe for concurrent use.
type Service interface {
	// Observe reads what the last plan needs, as cheaply as it can; it may
	// return what has not changed from memory. A cluster that does not exist
	// is not an error: Observed.Cluster is nil. prior is the last observation,
	// nil at first.
	Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error)
	// Act sends the one request that carries out the action, and does not wait for what it starts. The desired cluster
	// gives what an action does not carry, secrets and the contents of files: it is what is desired of the cluster as
	// it was observed (Desired.At).
	Act(ctx context.Context, desired *model.Desired, action model.Action) error
	// Credential reads a result of the install: "kubeconfig",
	// "kubeconfig-noingress" or "kubeadmin-password".
	Credential(ctx context.Context, clusterID, name string) ([]byte, error)
}

// Notifier is a service that knows of changes without being asked, as a hub does from its
// watches. A [Service] may be one.
type Notifier interface {
	// Changed is closed once something that concerns the cluster differs, or may differ, from what the last Observe
	// returned, so that a decision may differ, too.
	Changed(query model.Query) <-chan struct{}
}

// Files is the plane of results on disk. They are kept by the cluster's name and
// belong to the cluster of one id.
type Files interface {
	// Observe reads which results are on disk, by their names, of those that
	// belong to the cluster.
	Observe(ctx context.Context, cluster model.ClusterRef) (map[string]model.SavedResult, error)
	// Claim makes what is kept by the cluster's name the cluster's own. Results
	// that belong to no cluster, or to another, are the cluster's where they equal
	// what read gives, which is nil where the service has none; else they are put
	// aside and never overwritten, and Claim returns where they are now. Without
	// an id, of a cluster that is not registered yet, nothing is marked.
	Claim(ctx context.Context, cluster model.ClusterRef, read func(name string) ([]byte, error)) (aside string, err error)
	// Save writes a result with mode 0600, whole or not at all, and leaves an
	// equal file as it is. What differs is put aside, and Save returns where it
	// is now.
	Save(ctx context.Context, cluster model.ClusterRef, name string, data []byte) (aside string, err error)
	// Append adds a line to a record that is kept of the cluster, with mode 0600.
	Append(ctx context.Context, cluster model.ClusterRef, name string, line []byte) error
	// Record is what Append has kept, nil where there is nothing.
	Record(ctx context.Context, cluster model.ClusterRef, name string) ([]byte, error)
}

// Call is one request to a service or an API server and its answer, for a debug log. It holds no secret: no body, no
// header, and the URL without tokens.
type Call struct {
	Method   string // PATCH; WATCH for a GET that goes on
	URL      string // of an API server, the path alone
	Status   int    // 0: there was no answer
	Duration time.Duration
	Attempt  int // 1 for the first; 0 where attempts are not counted
	Error    string
}

// Writes reports whether the call was to change something.
func (c Call) Writes() bool { return c.Method != "GET" && c.Method != "WATCH" } //nolint:usestdlibvars // this package needs no net/http
