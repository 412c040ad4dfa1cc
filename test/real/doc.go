// Package real holds oaictl to its promises against a service that runs: one that the
// environment names (docs/conformance.md), else the simulated one, whose time goes by
// faster. The machines are the simulator's in both cases.
package real
