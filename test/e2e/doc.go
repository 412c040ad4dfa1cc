// Package e2e tests the built oaictl as a person uses it: real processes, real
// sockets, the simulator on the other side, and a recorder in between that
// counts what goes over the wire.
package e2e
