package hubapi

// Keys in the Secrets and ConfigMaps of a hub.
const (
	KeyPullSecret = ".dockerconfigjson"
	// KeyKubeconfig is in the Secret <ClusterDeployment>-admin-kubeconfig.
	KeyKubeconfig = "kubeconfig"
	// KeyUsername and KeyPassword are in the Secret
	// <ClusterDeployment>-admin-password, and in BMC and fencing Secrets.
	KeyUsername = "username"
	KeyPassword = "password"
	// KeyFencingAddress and KeyFencingVerify are in a fencing Secret.
	KeyFencingAddress = "address"
	KeyFencingVerify  = "certificateVerification"
	KeyIgnitionToken  = "ignition-token"
	// KeyIgnitionCA is in the Secret of an Ignition endpoint's CA.
	KeyIgnitionCA = "tls.crt"
	// KeyRegistriesConf is in the ConfigMap of a mirror.
	KeyRegistriesConf = "registries.conf"
)
