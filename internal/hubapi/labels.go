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
