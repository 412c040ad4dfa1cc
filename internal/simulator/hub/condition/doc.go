// Package condition tells the conditions of a hub's objects from what the service
// says of clusters and hosts.
package condition
