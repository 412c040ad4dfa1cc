// Package request is what users ask the simulated service for: the bodies of
// requests, their checks in the words and the order of the service, and what they
// make of clusters, infra-envs and hosts.
package request
