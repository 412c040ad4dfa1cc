package csr

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// What the machine-approver counts by.
const (
	floodWindow   = time.Hour        // requests made earlier do not count
	floodSettled  = 30 * time.Second // what another approved counts for that long
	floodAhead    = 10 * time.Second // and so far may its clock be behind
	floodAllowed  = 100              // beside one for each machine
	floodApproval = "This CSR was approved by the Node CSR Approver (cluster-machine-approver)"
)

// Flood counts the requests that the cluster's machine-approver holds to be pending, as it does itself, and its limit
// for them: 100 more than there are machines or nodes, whichever are more. Over the limit the machine-approver approves
// no request at all.
//
// Of the last hour it counts serving requests of Nodes and client requests of the bootstrapper that have no condition
// Approved, so that denied ones count too; and those that another approver approved within the last 30 seconds.
// Machines are those of the Machine API; now is by the cluster's clock.
func Flood(requests []model.CertificateRequest, machines, nodes int, now time.Time) (pending, limit int, over bool) {
	for i := range requests {
		r := &requests[i]
		if within(r.Created, now, floodWindow) && counted(r) && (!r.Approved || within(r.ConditionAt, now, floodSettled) &&
			r.Message != floodApproval) {
			pending++
		}
	}
	limit = max(machines, nodes) + floodAllowed
	return pending, limit, pending > limit
}

func counted(r *model.CertificateRequest) bool {
	switch r.Signer {
	case servingSigner:
		return slices.Contains(r.Groups, nodesGroup)
	case clientSigner:
		return r.Username == bootstrapper
	}
	return false
}

// within reports whether something happened in the time up to now, both ends excluded.
func within(at, now time.Time, window time.Duration) bool {
	return at.After(now.Add(-window)) && at.Before(now.Add(floodAhead))
}
