package model

// KindTraits is what there is to know of a kind.
type KindTraits struct {
	Phrase string // as a person says it
	named  bool   // it makes no sense without the object's name
	// ByBMC is for the machines plane to carry out, Boots brings the machine closer to
	// booting the image, which the install waits for, and Switches is one of power.
	ByBMC, Boots, Switches bool
	// Counts says that its repetitions are counted where it is decided on.
	Counts bool
}

// kinds is what there is to know of each kind.
var kinds = map[Kind]KindTraits{
	RegisterCluster:   {Phrase: "register the cluster"},
	ImportCluster:     {Phrase: "import the installed cluster"},
	WithdrawCluster:   {Phrase: "withdraw this run's duplicate"},
	UpdateCluster:     {Phrase: "update the cluster"},
	SetOverrides:      {Phrase: "set the install-config overrides"},
	UploadManifest:    {Phrase: "upload the manifest", named: true},
	RemoveManifest:    {Phrase: "remove the manifest", named: true},
	IgnoreValidations: {Phrase: "set the ignored validations"},
	RegisterInfraEnv:  {Phrase: "register the InfraEnv", named: true},
	UpdateInfraEnv:    {Phrase: "update the InfraEnv", named: true},
	WithdrawInfraEnv:  {Phrase: "withdraw the InfraEnv", named: true},
	RenewImage:        {Phrase: "renew the discovery image's URL", Counts: true},
	RegisterHost:      {Phrase: "have the service boot the host", named: true},
	UpdateHost:        {Phrase: "configure the host", named: true},
	BindHost:          {Phrase: "bind the host", named: true},
	StartInstall:      {Phrase: "start the installation", Counts: true},
	AllowAddHosts:     {Phrase: "let hosts be added"},
	InstallHost:       {Phrase: "install the host", named: true},
	NudgeCluster:      {Phrase: "touch the cluster, so that the service looks at it again", Counts: true},
	RecordInstalled:   {Phrase: "record that the cluster is installed"},
	SaveNoIngress:     {Phrase: "save the kubeconfig"},
	SaveKubeconfig:    {Phrase: "save the kubeconfig"},
	SavePassword:      {Phrase: "save the kubeadmin password"},
	InsertMedia:       {Phrase: "insert the discovery image into the virtual drive of", ByBMC: true, Boots: true},
	SetBootOnce:       {Phrase: "set one boot from the virtual drive of", ByBMC: true, Boots: true},
	PowerOn:           {Phrase: "switch on", ByBMC: true, Boots: true, Switches: true},
	PowerOff:          {Phrase: "switch off", ByBMC: true, Boots: true, Switches: true},
	EjectMedia:        {Phrase: "eject the discovery image from the virtual drive of", ByBMC: true},
	RestoreBoot:       {Phrase: "restore the boot order of", ByBMC: true},
}

// TraitsOf is what there is to know of a kind.
func TraitsOf(kind Kind) KindTraits { return kinds[kind] }

// Task is the action as a person says it: what is done to a machine makes no
// sense without the machine's name.
func (a Action) Task() string {
	if TraitsOf(a.Kind).ByBMC {
		return TraitsOf(a.Kind).Phrase + " " + a.Name
	}
	return TraitsOf(a.Kind).Phrase
}

// Describe is the action as it is told of once it is done.
func (a Action) Describe() string {
	switch {
	case TraitsOf(a.Kind).named:
		return TraitsOf(a.Kind).Phrase + " " + a.Name
	case a.Kind == StartInstall, a.Kind == NudgeCluster:
		return a.Task() + ": " + a.Reason
	}
	return a.Task()
}

// Who is waited for after an action.
func (a Action) Who() Who {
	if TraitsOf(a.Kind).ByBMC {
		return WhoMachine
	}
	return WhoService
}

// ShownBy is what shows that an action was carried out.
func (a Action) ShownBy() string {
	if TraitsOf(a.Kind).ByBMC {
		return "the BMC of " + a.Name
	}
	return "the service"
}
