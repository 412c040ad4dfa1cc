// Package upgrade resumes what an earlier build of oaictl has left: clusters in every
// phase, and result folders.
//
// testdata/CASE holds a cluster.yaml, the requests with which the earlier build installed
// it (requests.json), the states in which an install is left (states.json) with the writes
// that the earlier build still sent from there, and the results that it wrote (results).
// The test sends those requests to a simulated service until it has the same state, and
// lets the present build go on from there. It has to send the same writes.
//
// To record them anew with another build, copy this folder into its tree, and run there:
//
//	go test ./test/upgrade -update
package upgrade
