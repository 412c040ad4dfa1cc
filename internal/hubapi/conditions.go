package hubapi

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
