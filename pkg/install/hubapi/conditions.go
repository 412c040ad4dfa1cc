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
	ConditionCleanup   = "Cleanup"

	// ConditionImageCreated is the only one of an InfraEnv.
	ConditionImageCreated = "ImageCreated"

	// ConditionQueryErrors is the only one of an AgentClassification.
	ConditionQueryErrors = "QueryErrors"

	// Of a ClusterDeployment, written by Hive's operator.
	ConditionHiveProvisioned       = "Provisioned"
	ConditionHiveProvisionFailed   = "ProvisionFailed"
	ConditionHiveProvisionStopped  = "ProvisionStopped"
	ConditionHiveInstallFailed     = "ClusterInstallFailed"
	ConditionHiveInstallCompleted  = "ClusterInstallCompleted"
	ConditionHiveInstallStopped    = "ClusterInstallStopped"
	ConditionHiveRequirementsMet   = "ClusterInstallRequirementsMet"
	ConditionHiveHibernating       = "Hibernating"
	ConditionServiceReconciled     = "ReconcileCompleted" // of the AgentServiceConfig
	ConditionServiceDeployed       = "DeploymentsHealthy" // of the AgentServiceConfig
	ConditionPreprovisioningReady  = "Ready"              // of a PreprovisioningImage
	ConditionPreprovisioningFailed = "Error"              // of a PreprovisioningImage
)

// Reasons of SpecSynced, on both kinds.
const (
	ReasonSyncOK       = "SyncOK"
	ReasonInputError   = "InputError"   // the user has to change something
	ReasonBackendError = "BackendError" // the service tries again
)

// Reasons of Validated, on both kinds.
const (
	ReasonValidationsPassing     = "ValidationsPassing"
	ReasonValidationsFailing     = "ValidationsFailing"
	ReasonValidationsUserPending = "ValidationsUserPending"
	ReasonValidationsUnknown     = "ValidationsUnknown"
)

// Reasons of RequirementsMet of an AgentClusterInstall.
const (
	ReasonClusterReady        = "ClusterIsReady"
	ReasonClusterNotReady     = "ClusterNotReady"
	ReasonClusterInstalling   = "ClusterAlreadyInstalling"
	ReasonClusterInstallEnded = "ClusterInstallationStopped"
	ReasonInsufficientAgents  = "InsufficientAgents"
	ReasonUnsyncedAgents      = "UnsyncedAgents"
	ReasonUnapprovedAgents    = "UnapprovedAgents"
)

// Reasons of Completed, Failed, Stopped and Installed.
const (
	ReasonInstallationCompleted  = "InstallationCompleted"
	ReasonInstallationFailed     = "InstallationFailed"
	ReasonInstallationNotFailed  = "InstallationNotFailed"
	ReasonInstallationNotStarted = "InstallationNotStarted"
	ReasonInstallationNotStopped = "InstallationNotStopped"
	ReasonInstallationOnHold     = "InstallationOnHold"
	ReasonInstallationInProgress = "InstallationInProgress"
	ReasonInstallationCancelled  = "InstallationCancelled"
	ReasonUnknownStatus          = "UnknownStatus"
	// ReasonNotAvailable stands in every condition while the service has no cluster
	// for the object.
	ReasonNotAvailable = "NotAvailable"
)

// Reasons of LastInstallationPreparationFailed: sentences, as the service has it.
const (
	ReasonPreparationFailed  = "The last installation preparation failed"
	ReasonPreparationFine    = "There is no failing prior preparation attempt"
	ReasonPreparationPending = "Cluster preparation has never been performed for this cluster"
)

// Reasons of an Agent's other conditions.
const (
	ReasonAgentConnected    = "AgentIsConnected"
	ReasonAgentDisconnected = "AgentIsDisconnected"

	ReasonAgentReady        = "AgentIsReady"
	ReasonAgentNotReady     = "AgentNotReady"
	ReasonAgentNotApproved  = "AgentIsNotApproved"
	ReasonAgentInstalling   = "AgentAlreadyInstalling"
	ReasonAgentInstallEnded = "AgentInstallationStopped"

	ReasonBound                = "Bound"
	ReasonUnbound              = "Unbound"
	ReasonBinding              = "Binding"
	ReasonUnbinding            = "Unbinding"
	ReasonUnbindingPendingUser = "UnbindingPendingUserAction"
	ReasonCleanupFailed        = "CleanupFailed"
)

// Reasons of an InfraEnv's ImageCreated.
const (
	// ReasonInfraEnvAvailable, status True, is the only one of a finished image.
	ReasonInfraEnvAvailable = "InfraEnvAvailable"
	// ReasonImageCreated, status True, is an image that is still being made.
	ReasonImageCreated             = "ImageCreated"
	ReasonImageCreationError       = "ImageCreationError"
	ReasonMissingClusterDeployment = "MissingClusterDeployment"
)

// Reasons of an AgentClassification's QueryErrors.
const (
	ReasonHasQueryErrors = "HasQueryErrors"
	ReasonNoQueryErrors  = "NoQueryErrors"
)

// Reasons of Hive's conditions on a ClusterDeployment.
const (
	ReasonHiveProvisioning     = "Provisioning"
	ReasonHiveProvisioned      = "Provisioned"
	ReasonHiveProvisionStopped = "ProvisionStopped"
	ReasonHiveAttemptsLimit    = "InstallAttemptsLimitReached"
	ReasonHiveError            = "Error"
)

// Reasons of a PreprovisioningImage's conditions.
const (
	ReasonWaitingForImage         = "WaitingForInfraEnvImageToBeCreated"
	ReasonWaitingForImageCoolDown = "WaitingForInfraEnvImageToCoolDown"
	ReasonUnsupportedImageFormat  = "UnsupportedImageFormat"
	ReasonInfraEnvArchMismatch    = "InfraEnvArchMismatch"
	ReasonIronicAgentIgnition     = "IronicAgentIgnitionUpdateFailure"
	ReasonInfraEnvNotAvailable    = "InfraEnvNotAvailable"
)
