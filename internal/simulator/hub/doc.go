// Package hub is the hub side of the simulator: controllers that do for the
// custom resources of a hub what assisted-service does when it runs there as an
// operator, on a real API server.
//
// They hold no state machines of their own. ClusterDeployment,
// AgentClusterInstall and InfraEnv become a cluster and infra-envs of the
// simulated REST service, over HTTP like any other client's; what the service
// makes of them, and of the machines that boot its images, comes back as
// Agents, conditions, Secrets and status.
//
// One goroutine works off a queue of objects. Watches of the API server and the
// event log of the service fill it, and every object is reconciled from what is
// there now, so that a lost watch, a restart of either server or a conflict
// costs time and nothing else.
package hub
