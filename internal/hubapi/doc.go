// Package hubapi holds the names of a hub: the kinds that an assisted-service
// which runs as an operator works on, and the labels, annotations, conditions
// and reasons by which it and its neighbours (Hive, the Bare Metal Operator)
// speak. The objects themselves are in the packages below, one an API group.
//
// The types are our own: those that the operators publish bring along, beside
// the fields, a controller framework and the service's whole REST model, and the
// published agent-install types know less than today's service.
package hubapi
