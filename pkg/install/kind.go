package install

import "github.com/oaictl/oaictl/internal/model"

// Kind is what an action does: "RegisterCluster", "StartInstall". Each starts something and
// never waits for it.
type Kind = model.Kind

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
	model.RegisterCluster:   {phrase: "register the cluster"},
	model.ImportCluster:     {phrase: "import the installed cluster"},
	model.WithdrawCluster:   {phrase: "withdraw this run's duplicate"},
	model.UpdateCluster:     {phrase: "update the cluster"},
	model.SetOverrides:      {phrase: "set the install-config overrides"},
	model.UploadManifest:    {phrase: "upload the manifest", named: true},
	model.RemoveManifest:    {phrase: "remove the manifest", named: true},
	model.IgnoreValidations: {phrase: "set the ignored validations"},
	model.RegisterInfraEnv:  {phrase: "register the InfraEnv", named: true},
	model.UpdateInfraEnv:    {phrase: "update the InfraEnv", named: true},
	model.WithdrawInfraEnv:  {phrase: "withdraw the InfraEnv", named: true},
	model.RenewImage:        {phrase: "renew the discovery image's URL", counts: true},
	model.RegisterHost:      {phrase: "have the service boot the host", named: true},
	model.UpdateHost:        {phrase: "configure the host", named: true},
	model.BindHost:          {phrase: "bind the host", named: true},
	model.StartInstall:      {phrase: "start the installation", counts: true},
	model.AllowAddHosts:     {phrase: "let hosts be added"},
	model.InstallHost:       {phrase: "install the host", named: true},
	model.NudgeCluster:      {phrase: "touch the cluster, so that the service looks at it again", counts: true},
	model.RecordInstalled:   {phrase: "record that the cluster is installed"},
	model.SaveNoIngress:     {phrase: "save the kubeconfig"},
	model.SaveKubeconfig:    {phrase: "save the kubeconfig"},
	model.SavePassword:      {phrase: "save the kubeadmin password"},
	model.InsertMedia:       {phrase: "insert the discovery image into the virtual drive of", byBMC: true, boots: true},
	model.SetBootOnce:       {phrase: "set one boot from the virtual drive of", byBMC: true, boots: true},
	model.PowerOn:           {phrase: "switch on", byBMC: true, boots: true, switches: true},
	model.PowerOff:          {phrase: "switch off", byBMC: true, boots: true, switches: true},
	model.EjectMedia:        {phrase: "eject the discovery image from the virtual drive of", byBMC: true},
	model.RestoreBoot:       {phrase: "restore the boot order of", byBMC: true},
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
	case a.Kind == model.StartInstall, a.Kind == model.NudgeCluster:
		return a.task() + ": " + a.Reason
	}
	return a.task()
}

// who is waited for after an action.
func (a Action) who() Who {
	if kinds[a.Kind].byBMC {
		return model.WhoMachine
	}
	return model.WhoService
}

// shower is what shows that an action was carried out.
func (a Action) shower() string {
	if kinds[a.Kind].byBMC {
		return "the BMC of " + a.Name
	}
	return "the service"
}
