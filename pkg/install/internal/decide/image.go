package decide

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// bootNewImage waits for a machine that runs an old image. Until it comes back
// nothing is written to it: it may come back as another one.
func (p *planner) bootNewImage(h *model.Host) {
	i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == h.InfraEnvID })
	id, name := p.roster.id(h), p.roster.Call(h)
	p.wait(model.Wait{
		Key: "host/" + id + "/new-image", Scope: model.HostScope(id), Who: model.WhoUser, Since: p.observed.InfraEnvs[i].Image.Created,
		For:  name + ", which still runs the old discovery image, to be rebooted into the new one",
		Next: model.Advicef("reboot %s into the new image: ", name) + p.images.isoCommand(name),
	})
}
