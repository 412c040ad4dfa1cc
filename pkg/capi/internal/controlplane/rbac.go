package controlplane

// What the control plane provider may do beyond what every manager of the providers may
// (pkg/capi/manifests/components/rights).
//
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=openshiftassistedcontrolplanes;openshiftassistedcontrolplanes/status,verbs=patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=openshiftassistedcontrolplanes/finalizers,verbs=update
//
// Its Machines, and what they are made of:
//
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=create;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=openshiftassistedconfigs,verbs=create;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=*,verbs=create;patch
// +kubebuilder:rbac:groups=capi-provider.agent-install.openshift.io,resources=agentmachinetemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=capi-provider.agent-install.openshift.io,resources=agentmachines,verbs=create;patch
//
// The kubeconfig, and on a hub the pull secret:
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update;patch;delete
//
// The cluster on a hub:
//
// +kubebuilder:rbac:groups=hive.openshift.io,resources=clusterdeployments,verbs=create;patch;delete
// +kubebuilder:rbac:groups=hive.openshift.io,resources=clusterimagesets,verbs=create;patch;delete
// +kubebuilder:rbac:groups=extensions.hive.openshift.io,resources=agentclusterinstalls,verbs=create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;patch;delete
//
// What is left of its InfraEnvs and networks is deleted with it, and those that another provider has made are taken
// over:
//
// +kubebuilder:rbac:groups=agent-install.openshift.io,resources=infraenvs;nmstateconfigs,verbs=patch;delete
