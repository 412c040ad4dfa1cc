package install

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

// kindTraits is what there is to know of a kind.
type kindTraits struct {
	phrase string // as a person says it
	named  bool   // it makes no sense without the object's name
	// byBMC is for the machines plane to carry out, boots brings the machine closer to
	// booting the image, which the install waits for, and switches is one of power.
	byBMC, boots, switches bool
	// counts says that its repetitions are counted where it is decided on.
	counts bool
}

// kinds is what there is to know of each kind.
var kinds = map[Kind]kindTraits{
	RegisterCluster:   {phrase: "register the cluster"},
	ImportCluster:     {phrase: "import the installed cluster"},
	WithdrawCluster:   {phrase: "withdraw this run's duplicate"},
	UpdateCluster:     {phrase: "update the cluster"},
	SetOverrides:      {phrase: "set the install-config overrides"},
	UploadManifest:    {phrase: "upload the manifest", named: true},
	RemoveManifest:    {phrase: "remove the manifest", named: true},
	IgnoreValidations: {phrase: "set the ignored validations"},
	RegisterInfraEnv:  {phrase: "register the InfraEnv", named: true},
	UpdateInfraEnv:    {phrase: "update the InfraEnv", named: true},
	WithdrawInfraEnv:  {phrase: "withdraw the InfraEnv", named: true},
	RenewImage:        {phrase: "renew the discovery image's URL", counts: true},
	RegisterHost:      {phrase: "have the service boot the host", named: true},
	UpdateHost:        {phrase: "configure the host", named: true},
	BindHost:          {phrase: "bind the host", named: true},
	StartInstall:      {phrase: "start the installation", counts: true},
	AllowAddHosts:     {phrase: "let hosts be added"},
	InstallHost:       {phrase: "install the host", named: true},
	NudgeCluster:      {phrase: "touch the cluster, so that the service looks at it again", counts: true},
	RecordInstalled:   {phrase: "record that the cluster is installed"},
	SaveNoIngress:     {phrase: "save the kubeconfig"},
	SaveKubeconfig:    {phrase: "save the kubeconfig"},
	SavePassword:      {phrase: "save the kubeadmin password"},
	InsertMedia:       {phrase: "insert the discovery image into the virtual drive of", byBMC: true, boots: true},
	SetBootOnce:       {phrase: "set one boot from the virtual drive of", byBMC: true, boots: true},
	PowerOn:           {phrase: "switch on", byBMC: true, boots: true, switches: true},
	PowerOff:          {phrase: "switch off", byBMC: true, boots: true, switches: true},
	EjectMedia:        {phrase: "eject the discovery image from the virtual drive of", byBMC: true},
	RestoreBoot:       {phrase: "restore the boot order of", byBMC: true},
}

// task is the action as a person says it: what is done to a machine makes no
// sense without the machine's name.
func (a Action) task() string {
	if kinds[a.Kind].byBMC {
		return kinds[a.Kind].phrase + " " + a.Name
	}
	return kinds[a.Kind].phrase
}

// describe is the action as it is told of once it is done.
func (a Action) describe() string {
	switch {
	case kinds[a.Kind].named:
		return kinds[a.Kind].phrase + " " + a.Name
	case a.Kind == StartInstall, a.Kind == NudgeCluster:
		return a.task() + ": " + a.Reason
	}
	return a.task()
}

// who is waited for after an action.
func (a Action) who() Who {
	if kinds[a.Kind].byBMC {
		return WhoMachine
	}
	return WhoService
}

// shower is what shows that an action was carried out.
func (a Action) shower() string {
	if kinds[a.Kind].byBMC {
		return "the BMC of " + a.Name
	}
	return "the service"
}
