package install

import "context"

// Service is what the loop needs of a backend: an assisted-service over REST, or a hub's
// CRDs. Its methods are safe for concurrent use.
type Service interface {
	// Observe reads what the last plan needs, as cheaply as it can; it may
	// return what has not changed from memory. A cluster that does not exist
	// is not an error: Observed.Cluster is nil. prior is the last observation,
	// nil at first.
	Observe(ctx context.Context, query Query, prior *Observed) (*Observed, error)
	// Act sends the one request that the action stands for and does not wait
	// for what it starts. The desired cluster gives what an action does not
	// carry, secrets and the contents of files: it is what is desired of the
	// cluster as it was observed (Desired.At).
	Act(ctx context.Context, desired *Desired, action Action) error
	// Credential reads a result of the install: "kubeconfig",
	// "kubeconfig-noingress" or "kubeadmin-password".
	Credential(ctx context.Context, clusterID, name string) ([]byte, error)
}

// Files is the plane of results on disk. They are kept by the cluster's name and
// belong to the cluster of one id.
type Files interface {
	// Observe reads which results are on disk, by their names, of those that
	// belong to the cluster.
	Observe(ctx context.Context, cluster ClusterRef) (map[string]SavedResult, error)
	// Claim makes what is kept by the cluster's name the cluster's own. Results
	// that belong to no cluster, or to another, are the cluster's where they equal
	// what read gives, which is nil where the service has none; else they are put
	// aside and never overwritten, and Claim returns where they are now. Without
	// an id, of a cluster that is not registered yet, nothing is marked.
	Claim(ctx context.Context, cluster ClusterRef, read func(name string) ([]byte, error)) (aside string, err error)
	// Save writes a result with mode 0600, whole or not at all, and leaves an
	// equal file as it is. What differs is put aside, and Save returns where it
	// is now.
	Save(ctx context.Context, cluster ClusterRef, name string, data []byte) (aside string, err error)
}
