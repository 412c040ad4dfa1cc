package decide

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// lateImages makes and keeps the discovery images that hosts boot to be added:
// those that the cluster was installed with, where they can serve, else further
// ones. A pool belongs to no cluster, and goes on serving.
func (p *planner) lateImages(unnamed bool) {
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		p.poolOf(ref)
		return
	}
	intended, err := p.infraEnvPlans()
	if err != nil {
		p.block(model.Blocker{
			Key: "infraenv/input", Scope: model.ScopeCluster, Reason: "BadInfraEnv", Cure: model.CureNow, Message: err.Error(), Remedy: "{validate -f FILE}",
		})
		return
	}
	for _, image := range intended {
		wanted := slices.ContainsFunc(p.spec.Spec.Hosts, func(h spec.Host) bool { return slices.Contains(image.Hosts, h.Name) && p.toAdd(&h) })
		if !wanted && !unnamed {
			continue
		}
		env := p.lateEnv(image, intended)
		if env == nil {
			p.lateImage(image, intended)
			continue
		}
		if env.Settings[setting.OSVersion] == "" && !p.madeLate(env) {
			delete(image.Settings, setting.OSVersion) // it has the same by its version
		}
		actions, blockers := len(p.plan.Actions), len(p.plan.Blockers)
		p.updateImage(image, env)
		if len(p.plan.Actions) == actions && len(p.plan.Blockers) == blockers && !p.missingFrom(image) {
			p.usableImage(env)
		}
	}
}

// lateImage registers an InfraEnv under the name that is kept for it.
func (p *planner) lateImage(image infraenv.Plan, intended []infraenv.Plan) {
	name, reason := image.Name, "there is no discovery image for hosts that are added"
	if p.infraEnv(name) != nil {
		name, _ = p.lateName(image, intended)
		reason = fmt.Sprintf("hosts that are added cannot boot the discovery image %s: %s", image.Name, p.unfit(image, p.infraEnv(image.Name)))
	}
	p.act(model.Action{
		Key: "infraenv/" + name + "/register", Scope: model.InfraEnvScope(name), Kind: model.RegisterInfraEnv, Name: name, Target: p.bindTo(),
		Reason: reason, Settings: image.Settings, Changes: allChanges("", image.Settings),
	})
}
