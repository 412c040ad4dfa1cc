// Package discovery makes what an infra-env puts into its media: the Ignition of
// the live system, which runs the agent, static networks, and the archives that
// have them.
package discovery
