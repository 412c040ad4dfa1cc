package hubapi

// What oaictl puts on objects of its own.
const (
	// FieldManager owns, by server-side apply, what oaictl writes.
	FieldManager = "oaictl"
	// LabelCluster names the cluster of cluster.yaml, on every object of ours.
	LabelCluster = "oaictl.io/cluster"
	// LabelInfraEnv names the InfraEnv that a NMStateConfig belongs to; the
	// InfraEnv selects by it.
	LabelInfraEnv = "oaictl.io/infraenv"
	// AnnotationTouched is a time, written to make the service look again at an
	// object.
	AnnotationTouched = "oaictl.io/touched"
)

// Labels of the agent-install API.
const (
	// LabelAgentInfraEnv names the InfraEnv, on its Agents by the service and on a
	// BareMetalHost by whoever wants it to boot that InfraEnv's image.
	LabelAgentInfraEnv = "infraenvs.agent-install.openshift.io"
	// LabelAgentBMH names the BareMetalHost, on the Agent of its machine.
	LabelAgentBMH = "agent-install.openshift.io/bmh"
	// LabelAgentClusterNamespace is the namespace of the ClusterDeployment, on the
	// Agents that are bound to it.
	LabelAgentClusterNamespace = "agent-install.openshift.io/clusterdeployment-namespace"
	// LabelInventoryPrefix begins the labels that the service makes of an Agent's
	// inventory, such as inventory.agent-install.openshift.io/cpu-architecture.
	LabelInventoryPrefix = "inventory.agent-install.openshift.io/"
	// LabelClassificationPrefix begins the labels that AgentClassifications give.
	LabelClassificationPrefix = "agentclassification.agent-install.openshift.io/"
	// LabelConsumer of an AgentClusterInstall goes into the service's cluster tags.
	LabelConsumer = "agentclusterinstalls.agent-install.openshift.io/consumer"
	// LabelWatch, "true" on a Secret or ConfigMap, makes the service see changes of
	// it at once; otherwise the service sets it when it first reads the object.
	LabelWatch = "agent-install.openshift.io/watch"
	// LabelBackup has the service's Secrets and ConfigMaps backed up.
	LabelBackup = "cluster.open-cluster-management.io/backup"
)

// The names of the labels that begin with LabelInventoryPrefix.
const (
	InventoryHasNonRotationalDisk = LabelInventoryPrefix + "storage-hasnonrotationaldisk"
	InventoryCPUArchitecture      = LabelInventoryPrefix + "cpu-architecture"
	InventoryCPUVirtEnabled       = LabelInventoryPrefix + "cpu-virtenabled"
	InventoryHostManufacturer     = LabelInventoryPrefix + "host-manufacturer"
	InventoryHostProductName      = LabelInventoryPrefix + "host-productname"
	InventoryHostIsVirtual        = LabelInventoryPrefix + "host-isvirtual"
)

// Labels and annotations of Hive.
const (
	// LabelHiveClusterDeployment names the ClusterDeployment, on its Secrets.
	LabelHiveClusterDeployment = "hive.openshift.io/cluster-deployment-name"
	// LabelHiveSecretType is kubeconfig or kubeadmincreds.
	LabelHiveSecretType = "hive.openshift.io/secret-type"
	// AnnotationReconcilePause, "true" on a ClusterDeployment, holds Hive and the
	// installation.
	AnnotationReconcilePause = "hive.openshift.io/reconcile-pause"
	// AnnotationProtectedDelete, "true" on a ClusterDeployment, has its deletion
	// refused.
	AnnotationProtectedDelete = "hive.openshift.io/protected-delete"

	// SecretTypeKubeadmin is the value of LabelHiveSecretType on the Secret with
	// the console's password.
	SecretTypeKubeadmin = "kubeadmincreds"
)

// Annotations of an AgentClusterInstall.
const (
	// AnnotationInstallConfigOverrides is JSON that is merged into install-config.
	AnnotationInstallConfigOverrides = "agent-install.openshift.io/install-config-overrides"
	// AnnotationIgnoredClusterValidations and AnnotationIgnoredHostValidations are
	// validation ids with commas between them, or all. Absent is nothing asked;
	// empty is none ignored.
	AnnotationIgnoredClusterValidations = "agent-install.openshift.io/ignored-cluster-validations"
	AnnotationIgnoredHostValidations    = "agent-install.openshift.io/ignored-host-validations"
)

// Annotations of an InfraEnv.
const (
	// AnnotationEnableIronicAgent, "true", puts Ironic's agent into the image.
	AnnotationEnableIronicAgent = "infraenv.agent-install.openshift.io/enable-ironic-agent"
	// AnnotationIronicAgentImage is the container image of that agent.
	AnnotationIronicAgentImage = "infraenv.agent-install.openshift.io/ironic-agent-image-override"
	// AnnotationIPFamily is v4, v6 or v4,v6.
	AnnotationIPFamily = "infraenv.agent-install.openshift.io/ip-family"
	// AnnotationPropagateNodeLabels are keys of the InfraEnv's labels, with commas
	// between them, that become node labels of its Agents.
	AnnotationPropagateNodeLabels = "infraenv.agent-install.openshift.io/propagate-node-labels"
)

// Annotations of an Agent.
const (
	// AnnotationInheritedNodeLabels remembers what AnnotationPropagateNodeLabels
	// gave.
	AnnotationInheritedNodeLabels = "agent.agent-install.openshift.io/inherited-node-labels"
	// AnnotationInventoryVersion is that of the inventory labels, "0.1".
	AnnotationInventoryVersion = "inventory.agent-install.openshift.io/version"
	// AnnotationAgentSkipCleanup has the service leave the node of an Agent in its
	// cluster when the Agent is deleted or unbound, whatever its value.
	AnnotationAgentSkipCleanup = "agent.agent-install.openshift.io/skip-spoke-cleanup"

	// The service keeps a copy of a host's state in these, to make its record anew
	// after a loss of its database.
	AnnotationAgentState       = "agent.agent-install.openshift.io/state"
	AnnotationAgentRole        = "agent.agent-install.openshift.io/role"
	AnnotationAgentInventory   = "agent.agent-install.openshift.io/inventory"
	AnnotationAgentValidations = "agent.agent-install.openshift.io/validations-info"
	AnnotationAgentStage       = "agent.agent-install.openshift.io/current-stage"
)

// Annotations of a BareMetalHost that the bare-metal-agent controller copies to
// the machine's Agent, over whatever stands there.
const (
	AnnotationBMACRole              = "bmac.agent-install.openshift.io/role"
	AnnotationBMACHostname          = "bmac.agent-install.openshift.io/hostname"
	AnnotationBMACMachineConfigPool = "bmac.agent-install.openshift.io/machine-config-pool"
	AnnotationBMACInstallerArgs     = "bmac.agent-install.openshift.io/installer-args"
	AnnotationBMACIgnitionOverrides = "bmac.agent-install.openshift.io/ignition-config-overrides"
	// AnnotationBMACClusterReference is namespace/name of a ClusterDeployment, ""
	// to unbind.
	AnnotationBMACClusterReference = "bmac.agent-install.openshift.io/cluster-reference"
	// AnnotationBMACNodeLabelPrefix and AnnotationBMACAgentLabelPrefix are followed
	// by the key of a label: with a dot, not a slash.
	AnnotationBMACNodeLabelPrefix  = "bmac.agent-install.openshift.io.node-label."
	AnnotationBMACAgentLabelPrefix = "bmac.agent-install.openshift.io.agent-label."
	// AnnotationBMACFencingSecret names the Secret for
	// Agent.spec.fencingCredentialsSecretRef.
	AnnotationBMACFencingSecret = "bmac.agent-install.openshift.io/fencing-credentials-secret-name"
)

// Further annotations of a BareMetalHost.
const (
	// AnnotationBMACRemoveOnDelete has Agent and Node go with the BareMetalHost
	// (converged flow only), the node drained for AnnotationBMACDrainTimeout, a Go
	// duration.
	AnnotationBMACRemoveOnDelete = "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete"
	AnnotationBMACDrainTimeout   = "bmac.agent-install.openshift.io/drain-timeout"
	// AnnotationBMACManageProvisioned leaves the machine with the Bare Metal
	// Operator after provisioning.
	AnnotationBMACManageProvisioned = "bmac.agent-install.openshift.io/allow-provisioned-host-management"

	// These are the Bare Metal Operator's own.
	AnnotationBMHDetached = "baremetalhost.metal3.io/detached"
	AnnotationBMHInspect  = "inspect.metal3.io"
)

// AnnotationEnableImageService of an AgentServiceConfig, "false", leaves the hub
// without images.
const AnnotationEnableImageService = "agent-install.openshift.io/enable-image-service"

// Finalizers, by the object that they hold and the controller that has to let go.
const (
	FinalizerClusterDeployment   = "clusterdeployments.agent-install.openshift.io/ai-deprovision"
	FinalizerAgentClusterInstall = "agentclusterinstall.agent-install.openshift.io/ai-deprovision"
	FinalizerInfraEnv            = "infraenv.agent-install.openshift.io/ai-deprovision"
	FinalizerAgent               = "agent.agent-install.openshift.io/ai-deprovision"
	FinalizerAgentClassification = "agentclassification.agent-install.openshift.io"
	FinalizerBMAC                = "bmac.agent-install.openshift.io/deprovision"
	FinalizerHive                = "hive.openshift.io/deprovision"
)

// Condition types. AgentClusterInstall and Agent share the first three.
const (
	// ConditionSpecSynced says whether the service took the spec over.
	ConditionSpecSynced = "SpecSynced"
	// ConditionValidated says whether the service's checks pass.
	ConditionValidated = "Validated"
	// ConditionRequirementsMet says whether the installation may start, or has.
	ConditionRequirementsMet = "RequirementsMet"

	// Of an AgentClusterInstall.
	ConditionCompleted         = "Completed"
	ConditionFailed            = "Failed"
	ConditionStopped           = "Stopped"
	ConditionPreparationFailed = "LastInstallationPreparationFailed"

	// Of an Agent.
	ConditionConnected = "Connected"
	ConditionInstalled = "Installed"
	ConditionBound     = "Bound"

	// ConditionImageCreated is the only one of an InfraEnv.
	ConditionImageCreated = "ImageCreated"

	// ConditionQueryErrors is the only one of an AgentClassification.
	ConditionQueryErrors = "QueryErrors"

	// Of an Agent that is being deleted: False where its node can't be taken out of
	// its cluster.
	ConditionCleanup = "Cleanup"

	// Of a ClusterDeployment, written by Hive's operator.
	ConditionHiveProvisioned      = "Provisioned"
	ConditionHiveProvisionFailed  = "ProvisionFailed"
	ConditionHiveProvisionStopped = "ProvisionStopped"
	ConditionHiveInstallFailed    = "ClusterInstallFailed"
	ConditionHiveInstallCompleted = "ClusterInstallCompleted"
	ConditionHiveInstallStopped   = "ClusterInstallStopped"
	ConditionHiveRequirementsMet  = "ClusterInstallRequirementsMet"
)

// ReasonInputError of SpecSynced, on both kinds: the user has to change something.
const ReasonInputError = "InputError"

// Reasons of RequirementsMet of an AgentClusterInstall.
const (
	ReasonClusterInstalling = "ClusterAlreadyInstalling"
	ReasonUnsyncedAgents    = "UnsyncedAgents"
)

// Reasons of Completed, Failed, Stopped and Installed.
const (
	ReasonInstallationCompleted  = "InstallationCompleted"
	ReasonInstallationFailed     = "InstallationFailed"
	ReasonInstallationInProgress = "InstallationInProgress"
	ReasonInstallationCancelled  = "InstallationCancelled"
)

// ReasonPreparationPending of LastInstallationPreparationFailed is a sentence, as
// the service has it.
const ReasonPreparationPending = "Cluster preparation has never been performed for this cluster"

// Reasons of an InfraEnv's ImageCreated. It is available also where the hub makes no
// images, without a URL. After an error there will be none until something changes;
// faults of the service itself it tries again.
const (
	ReasonInfraEnvAvailable  = "InfraEnvAvailable"
	ReasonImageCreationError = "ImageCreationError"
)
