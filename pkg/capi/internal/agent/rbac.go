package agent

// What the infrastructure provider may do beyond what the library needs of a hub: see the markers of the
// controller for those.
//
// +kubebuilder:rbac:groups=capi-provider.agent-install.openshift.io,resources=agentclusters;agentmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=capi-provider.agent-install.openshift.io,resources=agentmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=capi-provider.agent-install.openshift.io,resources=agentclusters/status;agentmachines/status;agentmachinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=capi-provider.agent-install.openshift.io,resources=agentclusters/finalizers;agentmachines/finalizers;agentmachinetemplates/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=openshiftassistedcontrolplanes,verbs=get;list;watch
// +kubebuilder:rbac:groups=agent-install.openshift.io,resources=agents,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// For hosted control planes:
//
// +kubebuilder:rbac:groups=hypershift.openshift.io,resources=hostedcontrolplanes,verbs=get
// +kubebuilder:rbac:groups=hive.openshift.io,resources=clusterdeployments,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=extensions.hive.openshift.io,resources=agentclusterinstalls,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
