package model

import "strings"

// RunTagPrefix begins the tag of a record that carries the mark of the run that registered it.
const RunTagPrefix = "oaictl_run_"

// clusterMark begins the marks of Clusters of Cluster API. No run of the command line has such a mark.
const clusterMark = "capi_"

// MarkOfCluster is the mark of a Cluster of Cluster API, made of its fingerprint.
func MarkOfCluster(fingerprint string) string { return clusterMark + fingerprint }

// IsKept reports whether a record carries the mark of a Cluster of Cluster API: its controllers keep it.
func (c ClusterRef) IsKept() bool { return strings.HasPrefix(c.Run, clusterMark) }

// Proves reports whether a record carries the mark of the owner who asks. For an exact query this is the only proof.
func (q Query) Proves(c ClusterRef) bool {
	return c.Owned && c.Run != "" && (c.Run == q.Run || c.Run == q.FormerRun)
}
