package v1beta2

// Finalizers, hooks and labels of the infrastructure provider.
const (
	// AgentMachineFinalizer keeps an AgentMachine until its host is returned to the pool.
	AgentMachineFinalizer = "agentmachine.agent-install.openshift.io/deprovision"
	// AgentClusterFinalizer keeps an AgentCluster until its objects of the service are gone.
	AgentClusterFinalizer = "agentcluster.agent-install.openshift.io/deprovision"
	// PreTerminateHookAnnotation on a Machine keeps it, once it is drained, until its host is
	// unbound.
	PreTerminateHookAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine"
	// PreDrainHookAnnotation on a Machine that is deleted keeps its node from being drained until an installation that its
	// host takes part in is over.
	PreDrainHookAnnotation = "pre-drain.delete.hook.machine.cluster.x-k8s.io/agentmachine"
	// AgentMachineRefLabel on an Agent is the name of the AgentMachine that reserved it.
	AgentMachineRefLabel = "agentMachineRef"
	// AgentMachineRefNamespaceAnnotation on an Agent is the namespace of that AgentMachine.
	AgentMachineRefNamespaceAnnotation = "agentMachineRefNamespace"
	// ProviderIDPrefix stands before the name of the Agent in a provider id.
	ProviderIDPrefix = "agent://"
)

// Conditions of an AgentMachine, beside Ready, Deleting and Paused of Cluster API.
const (
	// AgentReservedCondition says whether a host is reserved for the machine.
	AgentReservedCondition = "AgentReserved"
	// AgentSpecSyncedCondition says whether the service took what was written to the Agent.
	AgentSpecSyncedCondition = "AgentSpecSynced"
	// AgentValidatedCondition says whether the validations of the host pass.
	AgentValidatedCondition = "AgentValidated"
	// AgentRequirementsMetCondition says whether the host can be installed.
	AgentRequirementsMetCondition = "AgentRequirementsMet"
	// InstalledCondition says whether the host is installed.
	InstalledCondition = "Installed"
	// CertificateRequestPendingCondition says whether a certificate request of the node waits
	// for a person.
	CertificateRequestPendingCondition = "CertificateRequestPending"
)

// Reasons of the conditions of an AgentMachine.
const (
	// AgentNotYetFoundReason means that no host was looked for yet.
	AgentNotYetFoundReason = "AgentNotYetFound"
	// NoSuitableAgentsReason means that no free host of the pool fits.
	NoSuitableAgentsReason = "NoSuitableAgents"
	// AgentGoneReason means that the reserved host is no longer in the service.
	AgentGoneReason = "AgentGone"
	// WaitingForPersonReason means that a person has to boot the host again before it can be
	// used again.
	WaitingForPersonReason = "WaitingForPerson"
)

// Conditions of AgentClusters and AgentMachineTemplates, beside those of Cluster API.
const (
	// ClusterDeploymentReadyCondition says whether the ClusterDeployment is there that hosts
	// are bound to.
	ClusterDeploymentReadyCondition = "ClusterDeploymentReady"
	// PoolObservedCondition says whether the hosts that fit a template could be looked at.
	PoolObservedCondition = "PoolObserved"
)
