// Package hub tests installs through a hub's objects on a real API server, with
// the simulated operator and machines behind it, and holds them to what the same
// installs do over REST.
package hub
