package install

import "github.com/oaictl/oaictl/internal/vocab"

// Kind is what an action does: "RegisterCluster", "StartInstall". Each starts something and
// never waits for it.
type Kind = vocab.Kind

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
	vocab.RegisterCluster:   {phrase: "register the cluster"},
	vocab.ImportCluster:     {phrase: "import the installed cluster"},
	vocab.WithdrawCluster:   {phrase: "withdraw this run's duplicate"},
	vocab.UpdateCluster:     {phrase: "update the cluster"},
	vocab.SetOverrides:      {phrase: "set the install-config overrides"},
	vocab.UploadManifest:    {phrase: "upload the manifest", named: true},
	vocab.RemoveManifest:    {phrase: "remove the manifest", named: true},
	vocab.IgnoreValidations: {phrase: "set the ignored validations"},
	vocab.RegisterInfraEnv:  {phrase: "register the InfraEnv", named: true},
	vocab.UpdateInfraEnv:    {phrase: "update the InfraEnv", named: true},
	vocab.WithdrawInfraEnv:  {phrase: "withdraw the InfraEnv", named: true},
	vocab.RenewImage:        {phrase: "renew the discovery image's URL", counts: true},
	vocab.RegisterHost:      {phrase: "have the service boot the host", named: true},
	vocab.UpdateHost:        {phrase: "configure the host", named: true},
	vocab.BindHost:          {phrase: "bind the host", named: true},
	vocab.StartInstall:      {phrase: "start the installation", counts: true},
	vocab.AllowAddHosts:     {phrase: "let hosts be added"},
	vocab.InstallHost:       {phrase: "install the host", named: true},
	vocab.NudgeCluster:      {phrase: "touch the cluster, so that the service looks at it again", counts: true},
	vocab.RecordInstalled:   {phrase: "record that the cluster is installed"},
	vocab.SaveNoIngress:     {phrase: "save the kubeconfig"},
	vocab.SaveKubeconfig:    {phrase: "save the kubeconfig"},
	vocab.SavePassword:      {phrase: "save the kubeadmin password"},
	vocab.InsertMedia:       {phrase: "insert the discovery image into the virtual drive of", byBMC: true, boots: true},
	vocab.SetBootOnce:       {phrase: "set one boot from the virtual drive of", byBMC: true, boots: true},
	vocab.PowerOn:           {phrase: "switch on", byBMC: true, boots: true, switches: true},
	vocab.PowerOff:          {phrase: "switch off", byBMC: true, boots: true, switches: true},
	vocab.EjectMedia:        {phrase: "eject the discovery image from the virtual drive of", byBMC: true},
	vocab.RestoreBoot:       {phrase: "restore the boot order of", byBMC: true},
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
	case a.Kind == vocab.StartInstall, a.Kind == vocab.NudgeCluster:
		return a.task() + ": " + a.Reason
	}
	return a.task()
}

// who is waited for after an action.
func (a Action) who() Who {
	if kinds[a.Kind].byBMC {
		return vocab.WhoMachine
	}
	return vocab.WhoService
}

// shower is what shows that an action was carried out.
func (a Action) shower() string {
	if kinds[a.Kind].byBMC {
		return "the BMC of " + a.Name
	}
	return "the service"
}
