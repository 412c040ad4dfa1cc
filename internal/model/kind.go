package model

// Kind is what an action does.
type Kind string

// The kinds of action. Each starts something and never waits for it.
const (
	RegisterCluster   Kind = "RegisterCluster"
	ImportCluster     Kind = "ImportCluster"   // one that something else installed, to add hosts to
	WithdrawCluster   Kind = "WithdrawCluster" // delete this run's own empty duplicate
	UpdateCluster     Kind = "UpdateCluster"
	SetOverrides      Kind = "SetInstallConfigOverrides"
	UploadManifest    Kind = "UploadManifest"
	RemoveManifest    Kind = "RemoveManifest"
	IgnoreValidations Kind = "IgnoreValidations"
	RegisterInfraEnv  Kind = "RegisterInfraEnv"
	UpdateInfraEnv    Kind = "UpdateInfraEnv"
	WithdrawInfraEnv  Kind = "WithdrawInfraEnv" // delete one of ours that no host can come from
	RenewImage        Kind = "RenewImage"       // ask for a fresh image URL
	RegisterHost      Kind = "RegisterHost"     // give a machine to a service that boots machines itself
	UpdateHost        Kind = "UpdateHost"
	BindHost          Kind = "BindHost"
	StartInstall      Kind = "StartInstall"
	AllowAddHosts     Kind = "AllowAddHosts"
	InstallHost       Kind = "InstallHost"     // day 2; carries the approval where the service asks for one
	NudgeCluster      Kind = "NudgeCluster"    // touch a cluster that the service has lost sight of
	RecordInstalled   Kind = "RecordInstalled" // write down that the install is complete, in the absence of who usually does
	SaveNoIngress     Kind = "SaveKubeconfigNoIngress"
	SaveKubeconfig    Kind = "SaveKubeconfig"
	SavePassword      Kind = "SaveKubeadminPassword"
	InsertMedia       Kind = "InsertMedia" // the discovery image, into the virtual drive of a BMC
	SetBootOnce       Kind = "SetBootOnce" // from the virtual drive, at the next boot only
	PowerOn           Kind = "PowerOn"
	PowerOff          Kind = "PowerOff"
	EjectMedia        Kind = "EjectMedia"
	RestoreBoot       Kind = "RestoreBoot" // the next boot is in the usual order again
)
