//go:build e2e

// Package upgrade resumes what an earlier build of oaictl has left: clusters in every
// phase, and result folders. The present build sends from there the writes that the earlier
// build would have sent, and none once the cluster is installed.
//
// Of a REST service, testdata/CASE holds the requests with which the earlier build installed
// the cluster.yaml beside it (requests.json), and the states in which the install was left,
// with the writes that were still to come (states.json). The test sends those requests to a
// simulated service until it is in the same state. Of a hub it holds the objects of each
// state, with the owners of their fields (hub.json.gz). The results that the earlier build
// wrote are in results and hub-results.
//
// To record them anew with another build, copy this folder into its tree, and run there:
//
//	go test -tags e2e ./test/upgrade -update
package upgrade

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }
