package v1beta1

// Annotations, labels and finalizers of OpenshiftAssistedConfigs.
const (
	// DiscoveryIgnitionOverrideAnnotation holds an Ignition config as JSON that is merged
	// into that of the discovery image.
	DiscoveryIgnitionOverrideAnnotation = "openshiftassistedconfig.cluster.x-k8s.io/discovery-ignition-override"
	// IgnitionOverrideAnnotation holds an Ignition config as JSON that is merged into
	// that of the installed machine.
	IgnitionOverrideAnnotation = "openshiftassistedconfig.cluster.x-k8s.io/ignition-override"
	// ConfigLabel is on the objects of the service that belong to a config; its value is
	// the config's name.
	ConfigLabel = "bootstrap.cluster.x-k8s.io/openshiftAssistedConfig"
	// RoleLabel on a Machine of a MachineDeployment says what the machine becomes, where it
	// is no worker: RoleArbiter.
	RoleLabel = "oaictl.io/role"
	// RoleArbiter is the value of RoleLabel for arbiters.
	RoleArbiter = "arbiter"
	// ConfigFinalizer keeps a config until its objects of the service are gone.
	ConfigFinalizer = "openshiftassistedconfig.bootstrap.cluster.x-k8s.io/deprovision"
)

// Conditions of an OpenshiftAssistedConfig, beside Ready, Deleting and Paused of Cluster API.
const (
	// DataSecretAvailableCondition says whether the Secret with the user data is there.
	DataSecretAvailableCondition = "DataSecretAvailable"
	// InfraEnvReadyCondition says whether the InfraEnv is there and its image is made.
	InfraEnvReadyCondition = "InfraEnvReady"
	// HostValidatedCondition says whether the host registered and its validations pass.
	HostValidatedCondition = "HostValidated"
	// CertificateRequestPendingCondition says whether a certificate request of the node waits
	// for a person. It is there from the first such request on, and never for AgentMachines,
	// which have it themselves.
	CertificateRequestPendingCondition = "CertificateRequestPending"
)

// Reasons of the conditions of an OpenshiftAssistedConfig.
const (
	// WaitingForClusterInfrastructureReason means that the infrastructure of the Cluster is not
	// provisioned yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"
	// WaitingForAssistedInstallerReason means that the service does not have the cluster yet.
	WaitingForAssistedInstallerReason = "WaitingForAssistedInstaller"
	// WaitingForInstallCompleteReason means that the machine is held until the installation is
	// complete, and joins afterwards.
	WaitingForInstallCompleteReason = "WaitingForInstallComplete"
	// WaitingForInfraEnvReason means that the discovery image is not made yet.
	WaitingForInfraEnvReason = "WaitingForInfraEnvToBeReady"
	// WaitingForImageReason means that the machine does not have the present discovery image
	// yet.
	WaitingForImageReason = "WaitingForLiveISOURL"
	// InfraEnvFailedReason means that the service could not make the InfraEnv or its image.
	InfraEnvFailedReason = "InfraEnvFailed"
	// CreatingSecretFailedReason means that the Secret with the user data could not be written.
	CreatingSecretFailedReason = "CreatingSecretFailed"
	// DataSecretAvailableReason means that the Secret with the user data is there.
	DataSecretAvailableReason = "DataSecretAvailable"
	// PullSecretNotFoundReason means that the Secret that pullSecretRef names is not there.
	PullSecretNotFoundReason = "PullSecretNotFound"
	// HostNotRegisteredReason means that the machine has not registered in the service yet.
	HostNotRegisteredReason = "HostNotRegistered"
	// HostLeftOutReason means that the machine was not ready when the installation started, so that it was taken out
	// of the cluster. It joins once it is booted again after the installation.
	HostLeftOutReason = "HostLeftOut"
	// InstallationFailedReason means that the installation of the machine failed, or was cancelled. The service does
	// not install it again: its Machine is to be deleted.
	InstallationFailedReason = "InstallationFailed"
	// InstalledReason means that the machine is installed.
	InstalledReason = "Installed"
	// ValidationsPendingReason means that the service is still checking the host: what fails in the first minute
	// often passes by itself.
	ValidationsPendingReason = "ValidationsPending"
	// ValidationsFailingReason means that validations of the host fail.
	ValidationsFailingReason = "ValidationsFailing"
	// ValidationsPassingReason means that no validation of the host fails.
	ValidationsPassingReason = "ValidationsPassing"
)
