// Package wire is the frame of the simulated service's API: requests and their
// parameters, replies, and refusals, in the words of the service and in those of
// its framework, which judges a request before the service sees it.
package wire
