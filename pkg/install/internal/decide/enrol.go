package decide

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// bootByService gives a machine that has still to register to a service that
// boots machines itself, and says whether it is such a machine. wait is what
// would be waited for otherwise; one that the install can do without never
// blocks it.
func (p *planner) bootByService(want *spec.Host, wait model.Wait) bool {
	if p.observed.Enrolled == nil || want.BMC == nil || p.spec.Spec.Boot.Method != spec.BootMetal3 {
		return false
	}
	wait.Who, wait.Next = model.WhoMachine, ""
	env, there := p.envOf(want.Name)
	i := slices.IndexFunc(p.observed.Enrolled, func(e model.Enrolled) bool { return isOf(&e, want) })
	switch {
	case i >= 0:
		p.enrolled(want, &p.observed.Enrolled[i], wait)
	case !there || p.held:
		p.wait(wait)
	default:
		p.act(model.Action{
			Key: "host/" + want.Name + "/register", Scope: model.HostScope(want.Name), Kind: model.RegisterHost, Name: want.Name, InfraEnv: env.ID,
			Reason: "the service boots the machine, and does not have it yet", Changes: []model.Change{{Field: p.hostField(want.Name) + "bmc.address", To: want.BMC.Address}},
		})
	}
	return true
}

// isOf says whether a machine is that of a host of the file: the one that oaictl
// gave under its name, or one that somebody else gave and that boots from the
// same MAC address.
func isOf(e *model.Enrolled, want *spec.Host) bool {
	if e.Owned && e.Name == want.Name {
		return true
	}
	mac := setting.MAC(want.Match.MAC)
	return mac != "" && setting.MAC(e.MAC) == mac
}

// enrolled waits for the service to boot a machine.
func (p *planner) enrolled(want *spec.Host, e *model.Enrolled, wait model.Wait) {
	if e.State != "" {
		wait.For += fmt.Sprintf("; the service, which boots it, says that it is %s", e.State)
	}
	remedy := advice.Sprintf("kubectl describe baremetalhost %s; correct its BMC's address or credentials there", e.Name)
	switch {
	case e.Trouble == "":
		p.wait(wait)
	case !wait.Until.IsZero():
		wait.For, wait.Who, wait.Next = want.Name+", which the service cannot boot: "+e.Trouble, model.WhoUser, remedy
		p.wait(wait)
	default:
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/bmc", Scope: model.HostScope(want.Name), Reason: ReasonBMC, Cure: model.CurePerson, Hosts: []string{want.Name},
			Field: p.hostField(want.Name) + "bmc", Message: fmt.Sprintf("the service cannot boot %s: %s", want.Name, e.Trouble), Remedy: remedy,
		})
	}
}
