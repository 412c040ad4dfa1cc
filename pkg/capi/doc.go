// Package capi is oaictl as providers of Cluster API: bootstrap (OpenshiftAssistedConfig), control plane
// (OpenshiftAssistedControlPlane) and infrastructure (AgentCluster, AgentMachine). They translate Cluster
// API's objects into the library's desired state, and carry out its plan: each reconciler that of its own
// scope, from one observation of each Cluster.
package capi
