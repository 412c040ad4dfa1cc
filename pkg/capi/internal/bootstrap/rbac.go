package bootstrap

// What the bootstrap provider may do beyond what every manager of the providers may
// (pkg/capi/manifests/components/rights).
//
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=openshiftassistedconfigs;openshiftassistedconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=openshiftassistedconfigs/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=patch
//
// The data Secret, and on a hub the pull secret of an InfraEnv:
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update;patch;delete
//
// The InfraEnvs on a hub with the mirrors that they name, and the hosts that register from them:
//
// +kubebuilder:rbac:groups=agent-install.openshift.io,resources=infraenvs;nmstateconfigs,verbs=create;patch;delete
// +kubebuilder:rbac:groups=agent-install.openshift.io,resources=agents,verbs=patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;patch
//
// What the Agent of a BareMetalHost shall be stands on that, and so does that it is to be left alone:
//
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=patch
