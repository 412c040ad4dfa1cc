//go:build e2e && race

package e2e

// slower is by how much code runs slower with the race detector, at least: an
// hour that passes too fast leaves machines no time to answer.
const slower = 2
