package agent

import "github.com/oaictl/oaictl/internal/inmedia"

// agentStepEntry ties a step to its text.
type agentStepEntry struct {
	agentText
	step agentStep
}

// agentSteps are the steps in the order in which the units run them.
func agentSteps() []agentStepEntry {
	return []agentStepEntry{
		{agentText{
			use: "register-cluster", short: "Register the cluster of the medium",
			long: `Register the cluster that the manifests of the medium describe, if the service has
none, set its install-config overrides and upload its extra manifests. A manifest
that the cluster has with another content is not written over.

The version and the architectures of the release come from its image: from the
mirrors that registries.conf names, else from its own registry, else from oc, where
there is one.`,
			example: `  oaictl agent register-cluster --service-url http://127.0.0.1:8090
  oaictl agent register-cluster --service-url http://127.0.0.1:8090 --registry-ca-file mirror-ca.pem`,
		}, (*inmedia.Client).RegisterCluster},
		{agentText{
			use: "register-infraenv", short: "Register the InfraEnv of the medium",
			long: `Register the InfraEnv that the manifests of the medium describe, if the service has
none. It belongs to the service's cluster, or to none while there is none. The labels
of each NMStateConfig have to be those that the InfraEnv selects by.`,
			example: `  oaictl agent register-infraenv --service-url http://127.0.0.1:8090
  oaictl agent register-infraenv --service-url http://127.0.0.1:8090 -o name`,
		}, (*inmedia.Client).RegisterInfraEnv},
		{agentText{
			use: "configure-hosts", short: "Give hosts their roles, disks and fencing credentials",
			long: `Give the hosts the roles, installation disks and fencing credentials that the folder
HOST_CONFIG_DIR has for them, until all of them have registered and are as it says.
Hosts that cannot be configured stand in a file, a line each, for as long as they
cannot. The folder is read again in each round. With WORKFLOW_TYPE=addnodes only the
configuration of this machine counts.`,
			example: `  oaictl agent configure-hosts --service-url http://127.0.0.1:8090 --timeout 30m
  oaictl agent configure-hosts --service-url http://127.0.0.1:8090 --failures-file failures.txt`,
		}, (*inmedia.Client).Configure},
		{agentText{
			use: "import-cluster", short: "Import the installed cluster that nodes are added to",
			long: `Make a record of the installed cluster that CLUSTER_ID, CLUSTER_NAME and
CLUSTER_API_VIP_DNS_NAME name, and configure it as the folder CLUSTER_CONFIG_DIR
says. A record that is there already is found by the cluster's id, and completed.`,
			example: `  oaictl agent import-cluster --service-url http://127.0.0.1:8090
  oaictl agent import-cluster --service-url http://127.0.0.1:8090 -o json`,
		}, (*inmedia.Client).ImportCluster},
		{agentText{
			use: "start-install", short: "Start the installation once all required hosts are ready",
			long: `Wait for the cluster, and until exactly as many hosts are ready as are required,
and start the installation. Hosts whose InfraEnv was registered before the cluster are
bound to it. The number of hosts is that of REQUIRED_MASTER_NODES, REQUIRED_ARBITER_NODES
and REQUIRED_WORKER_NODES, else that of the AgentClusterInstall. While hosts cannot be
configured, nothing is started. A preparation that fails is tried again three times.
The command ends once the installation runs.`,
			example: `  oaictl agent start-install --service-url http://127.0.0.1:8090
  oaictl agent start-install --service-url http://127.0.0.1:8090 --timeout 2h`,
		}, (*inmedia.Client).StartInstall},
		{agentText{
			use: "add-node", short: "Install this machine into the imported cluster",
			long: `Wait until the service knows this machine, by the MAC addresses of its interfaces,
and install it into the cluster that was imported. The command ends once the service
has begun to.`,
			example: `  oaictl agent add-node --service-url http://127.0.0.1:8090
  oaictl agent add-node --service-url http://127.0.0.1:8090 --mac 52:54:00:00:00:01`,
		}, (*inmedia.Client).AddNode},
	}
}
