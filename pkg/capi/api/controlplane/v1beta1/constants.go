package v1beta1

// Annotations and finalizers of OpenshiftAssistedControlPlanes.
const (
	// InstallConfigOverrideAnnotation holds fields of install-config.yaml as JSON, merged
	// over the generated one. spec.config.installConfigOverrides wins over it.
	InstallConfigOverrideAnnotation = "controlplane.cluster.x-k8s.io/install-config-override"
	// ReleaseImageRepositoryOverrideAnnotation is the repository that release images are
	// taken from, instead of the one that OpenShift or OKD publishes them in.
	ReleaseImageRepositoryOverrideAnnotation = "cluster.x-k8s.io/release-image-repository-override"
	// InfrastructureRefAnnotation keeps the reference to the infrastructure template as
	// version v1alpha2 of this API had it, with what today's reference does not say.
	InfrastructureRefAnnotation = "controlplane.cluster.x-k8s.io/v1alpha2-infrastructure-ref"
	// ControlPlaneFinalizer keeps a control plane until its Machines and its objects of the
	// service are gone.
	ControlPlaneFinalizer = "openshiftassistedcontrolplane.controlplane.cluster.x-k8s.io/deprovision"
)

// Conditions of an OpenshiftAssistedControlPlane, beside those of Cluster API.
const (
	// KubeconfigAvailableCondition says whether the Secret with the kubeconfig is there and
	// will be valid for some time.
	KubeconfigAvailableCondition = "KubeconfigAvailable"
	// KubernetesVersionAvailableCondition says whether the version of Kubernetes in the
	// release is known.
	KubernetesVersionAvailableCondition = "KubernetesVersionAvailable"
	// CertificatesAvailableCondition says whether the cluster's certificates are there: the
	// installer makes them.
	CertificatesAvailableCondition = "CertificatesAvailable"
	// EtcdClusterAvailableCondition says whether etcd has its quorum.
	EtcdClusterAvailableCondition = "EtcdClusterAvailable"
	// InitializedCondition says whether the API server has answered.
	InitializedCondition = "Initialized"
	// UpgradeAvailableCondition says whether the wanted version can be had.
	UpgradeAvailableCondition = "UpgradeAvailable"
	// UpgradeCompletedCondition says whether the cluster runs the wanted version.
	UpgradeCompletedCondition = "UpgradeCompleted"
	// ConfigurationAcceptedCondition says, of an installed cluster, whether what the objects want could be read and
	// makes sense. It is there once that was not so.
	ConfigurationAcceptedCondition = "ConfigurationAccepted"
	// MachinesCreatedCondition says whether all Machines were made.
	MachinesCreatedCondition = "MachinesCreated"
)

// InstallationHookAnnotation is on every Machine of a control plane: of one that is deleted while the cluster is installed
// Cluster API does not begin to drain the node until the annotation is gone, so until that is over.
const InstallationHookAnnotation = "pre-drain.delete.hook.machine.cluster.x-k8s.io/installation"

// EtcdMemberHookAnnotation is on every Machine of a control plane: once its node is drained,
// Cluster API waits with the end of its machine until the annotation is gone, so until its
// member of etcd is.
const EtcdMemberHookAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/etcd-member"

// EtcdMemberRemovedCondition is a condition of a Machine of a control plane that is being
// deleted: whether its member of etcd is gone, and what that waits for.
const EtcdMemberRemovedCondition = "EtcdMemberRemoved"

// WaitingForOtherHooksReason is a reason of EtcdMemberRemoved: etcd can do without the Machine.
// Its machine may be taken away, and the hooks of those who do so are waited for.
const WaitingForOtherHooksReason = "WaitingForOtherHooks"

// Reasons of the conditions of an OpenshiftAssistedControlPlane.
const (
	// ControlPlaneInstallingReason means that the installation is not over.
	ControlPlaneInstallingReason = "ControlPlaneInstalling"
	// ControlPlaneInstallFailedReason means that the installation failed.
	ControlPlaneInstallFailedReason = "ControlPlaneInstallFailed"
	// KubernetesVersionUnavailableReason means that the release could not be read.
	KubernetesVersionUnavailableReason = "KubernetesVersionUnavailable"
	// KubeconfigUnavailableReason means that there is no kubeconfig yet.
	KubeconfigUnavailableReason = "KubeconfigUnavailable"
	// KubeconfigExpiresReason means that the kubeconfig's certificate ends within 30 days.
	KubeconfigExpiresReason = "KubeconfigExpires"
	// UpgradeInProgressReason means that the cluster is being upgraded.
	UpgradeInProgressReason = "UpgradeInProgress"
	// UpgradeFailedReason means that the cluster says that its upgrade fails.
	UpgradeFailedReason = "UpgradeFailed"
	// UpgradeImageUnavailableReason means that the wanted version's release image could not
	// be found.
	UpgradeImageUnavailableReason = "UpgradeImageUnavailable"
	// UpgradeNotRecommendedReason means that the update graph does not lead to the wanted
	// version.
	UpgradeNotRecommendedReason = "UpgradeNotRecommended"
	// AdminAckRequiredReason means that the upgrade waits for gates to be acknowledged.
	AdminAckRequiredReason = "AdminAckRequired"
	// VersionMismatchReason means that version and distributionVersion are of different
	// releases.
	VersionMismatchReason = "VersionMismatch"
	// EtcdMemberRemovalRequiredReason means that a person has to remove a dead member of
	// etcd.
	EtcdMemberRemovalRequiredReason = "EtcdMemberRemovalRequired"
	// InfrastructureTemplateCloningFailedReason means that a machine's infrastructure object
	// could not be made.
	InfrastructureTemplateCloningFailedReason = "InfrastructureTemplateCloningFailed"
	// BootstrapTemplateCloningFailedReason means that a machine's config could not be made.
	BootstrapTemplateCloningFailedReason = "BootstrapTemplateCloningFailed"
	// ControlPlaneUnseenReason means that the state of an installed cluster is not known: it was not read for minutes.
	ControlPlaneUnseenReason = "ControlPlaneUnseen"
	// ConfigurationNotReadReason means that something that the objects refer to could not be read, that the service
	// could not be asked, or that it has no record of the cluster.
	ConfigurationNotReadReason = "ConfigurationNotRead"
	// MachineGenerationFailedReason means that a Machine could not be made.
	MachineGenerationFailedReason = "MachineGenerationFailed"
)
