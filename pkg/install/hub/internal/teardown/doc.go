// Package teardown deletes the objects of a cluster from a hub, or lets go of them: in
// the order in which their controllers can, and with what holds them named.
package teardown
