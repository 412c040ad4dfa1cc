package hubapi

// ClusterAPI is the group of the Clusters and Machines of Cluster API.
const ClusterAPI = "cluster.x-k8s.io"

// What oaictl puts on objects of its own.
const (
	// FieldManager owns, by server-side apply, what oaictl writes.
	FieldManager = "oaictl"
	// LabelCluster names the cluster of cluster.yaml, on every object of ours.
	LabelCluster = "oaictl.io/cluster"
	// LabelRole is on a Machine of Cluster API that becomes neither a control plane nor a worker: its role.
	LabelRole = "oaictl.io/role"
	// LabelInfraEnv is what an InfraEnv selects its NMStateConfigs by.
	LabelInfraEnv = "oaictl.io/infraenv"
	// AnnotationTouched is a time, written to have the service reconcile an object.
	AnnotationTouched = "oaictl.io/touched"
)

// Labels of the agent-install API.
const (
	LabelAgentInfraEnv         = "infraenvs.agent-install.openshift.io"
	LabelAgentBMH              = "agent-install.openshift.io/bmh" // the BareMetalHost, on its Agent
	LabelAgentClusterNamespace = "agent-install.openshift.io/clusterdeployment-namespace"
	LabelInventoryPrefix       = "inventory.agent-install.openshift.io/"
	LabelClassificationPrefix  = "agentclassification.agent-install.openshift.io/"
	LabelConsumer              = "agentclusterinstalls.agent-install.openshift.io/consumer"
	LabelWatch                 = "agent-install.openshift.io/watch"
	LabelBackup                = "cluster.open-cluster-management.io/backup"
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

// What Cluster API's provider of pools records on an Agent that is reserved for an AgentMachine: the name of that,
// shortened to what a label has room for, its namespace, and NAMESPACE/NAME.
const (
	LabelAgentMachine               = "agentMachineRef"
	AnnotationAgentMachineNamespace = "agentMachineRefNamespace"
	AnnotationAgentMachine          = "oaictl.io/agent-machine"
)

// Labels and annotations of Hive. The annotations are "true" on a ClusterDeployment.
const (
	LabelHiveClusterDeployment = "hive.openshift.io/cluster-deployment-name"
	LabelHiveSecretType        = "hive.openshift.io/secret-type"
	SecretTypeKubeadmin        = "kubeadmincreds"                    // a value of it
	AnnotationReconcilePause   = "hive.openshift.io/reconcile-pause" // holds Hive and the installation
	AnnotationProtectedDelete  = "hive.openshift.io/protected-delete"
)

// Annotations of an AgentClusterInstall.
const (
	AnnotationInstallConfigOverrides    = "agent-install.openshift.io/install-config-overrides"
	AnnotationIgnoredClusterValidations = "agent-install.openshift.io/ignored-cluster-validations"
	AnnotationIgnoredHostValidations    = "agent-install.openshift.io/ignored-host-validations"
)

// AnnotationCurrentStage is the stage of an Agent's host, as the service has it.
const AnnotationCurrentStage = "agent.agent-install.openshift.io/current-stage"

// Annotations of an InfraEnv.
const (
	AnnotationEnableIronicAgent   = "infraenv.agent-install.openshift.io/enable-ironic-agent"
	AnnotationIronicAgentImage    = "infraenv.agent-install.openshift.io/ironic-agent-image-override"
	AnnotationIPFamily            = "infraenv.agent-install.openshift.io/ip-family" // v4, v6 or v4,v6
	AnnotationPropagateNodeLabels = "infraenv.agent-install.openshift.io/propagate-node-labels"
)

// Annotations of an Agent. In the last five the service keeps a copy of a host's state,
// to make its record anew after a loss of its database.
const (
	AnnotationInheritedNodeLabels = "agent.agent-install.openshift.io/inherited-node-labels"
	AnnotationInventoryVersion    = "inventory.agent-install.openshift.io/version"
	AnnotationAgentSkipCleanup    = "agent.agent-install.openshift.io/skip-spoke-cleanup"
	AnnotationAgentState          = "agent.agent-install.openshift.io/state"
	AnnotationAgentRole           = "agent.agent-install.openshift.io/role"
	AnnotationAgentInventory      = "agent.agent-install.openshift.io/inventory"
	AnnotationAgentValidations    = "agent.agent-install.openshift.io/validations-info"
	AnnotationAgentStage          = "agent.agent-install.openshift.io/current-stage"
)

// AnnotationHardwareDetails of a BareMetalHost gives its hardware to the Bare Metal Operator, which takes the annotation
// off once it has it in the status.
const AnnotationHardwareDetails = "inspect.metal3.io/hardwaredetails"

// Annotations of a BareMetalHost that the bare-metal-agent controller copies to the machine's Agent, over any value
// that is there. The prefixes are followed by the key of a label: with a dot, not a slash.
const (
	AnnotationBMACRole              = "bmac.agent-install.openshift.io/role"
	AnnotationBMACHostname          = "bmac.agent-install.openshift.io/hostname"
	AnnotationBMACMachineConfigPool = "bmac.agent-install.openshift.io/machine-config-pool"
	AnnotationBMACInstallerArgs     = "bmac.agent-install.openshift.io/installer-args"
	AnnotationBMACIgnitionOverrides = "bmac.agent-install.openshift.io/ignition-config-overrides"
	AnnotationBMACClusterReference  = "bmac.agent-install.openshift.io/cluster-reference" // namespace/name, "" to unbind
	AnnotationBMACNodeLabelPrefix   = "bmac.agent-install.openshift.io.node-label."
	AnnotationBMACAgentLabelPrefix  = "bmac.agent-install.openshift.io.agent-label."
	AnnotationBMACFencingSecret     = "bmac.agent-install.openshift.io/fencing-credentials-secret-name"
)

// Further annotations of a BareMetalHost; the last two are the Bare Metal Operator's own.
const (
	AnnotationBMACRemoveOnDelete    = "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete"
	AnnotationBMACDrainTimeout      = "bmac.agent-install.openshift.io/drain-timeout"
	AnnotationBMACManageProvisioned = "bmac.agent-install.openshift.io/allow-provisioned-host-management"
	AnnotationBMHDetached           = "baremetalhost.metal3.io/detached"
	AnnotationBMHInspect            = "inspect.metal3.io"
)

// AnnotationEnableImageService is of an AgentServiceConfig.
const AnnotationEnableImageService = "agent-install.openshift.io/enable-image-service"

// Finalizers, by the object that they hold and the controller that has to remove them.
const (
	FinalizerClusterDeployment   = "clusterdeployments.agent-install.openshift.io/ai-deprovision"
	FinalizerAgentClusterInstall = "agentclusterinstall.agent-install.openshift.io/ai-deprovision"
	FinalizerInfraEnv            = "infraenv.agent-install.openshift.io/ai-deprovision"
	FinalizerAgent               = "agent.agent-install.openshift.io/ai-deprovision"
	FinalizerAgentClassification = "agentclassification.agent-install.openshift.io"
	FinalizerBMAC                = "bmac.agent-install.openshift.io/deprovision"
	FinalizerHive                = "hive.openshift.io/deprovision"
)

// Conditions of AgentClusterInstalls and Agents.
const (
	ConditionSpecSynced        = "SpecSynced"
	ConditionValidated         = "Validated"
	ConditionRequirementsMet   = "RequirementsMet"
	ConditionCompleted         = "Completed"
	ConditionFailed            = "Failed"
	ConditionStopped           = "Stopped"
	ConditionPreparationFailed = "LastInstallationPreparationFailed"
	ConditionConnected         = "Connected"
	ConditionInstalled         = "Installed"
	ConditionBound             = "Bound"
	ConditionCleanup           = "Cleanup"
)

// The only conditions of an InfraEnv and of an AgentClassification.
const (
	ConditionImageCreated = "ImageCreated"
	ConditionQueryErrors  = "QueryErrors"
)

// Conditions of a ClusterDeployment, written by Hive's operator.
const (
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

// ReasonUnbindingByHand of an Agent's Bound: it was unbound from an installed cluster, and waits for
// its machine to boot the discovery image again.
const ReasonUnbindingByHand = "UnbindingPendingUserAction"

// ReasonPreparationPending of LastInstallationPreparationFailed is a sentence, as
// the service has it.
const ReasonPreparationPending = "Cluster preparation has never been performed for this cluster"

// Reasons of an InfraEnv's ImageCreated, which is available also without a URL.
const (
	ReasonInfraEnvAvailable  = "InfraEnvAvailable"
	ReasonImageCreationError = "ImageCreationError"
)
