package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
			Key: "infraenv/input", Scope: model.ScopeCluster, Reason: "BadInfraEnv", Cure: model.CureNow, Message: err.Error(), Remedy: "oaictl validate -f FILE",
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

// lateName is the name of the further InfraEnv that hosts of an image boot to be
// added, and that InfraEnv once it is there: after the names of those that the
// cluster is installed with. That the name is always the same keeps a service whose
// clock is not to be trusted from being given one after the other.
func (p *planner) lateName(image infraenv.Plan, intended []infraenv.Plan) (string, *model.InfraEnv) {
	place := slices.IndexFunc(intended, func(i infraenv.Plan) bool { return i.Name == image.Name })
	first := len(intended) + 1
	if p.spec.Imported() {
		first = 1 // there are none that it was installed with
	}
	for number := first + place; ; number += len(intended) {
		name := infraenv.NameOf(p.name(), number)
		if env := p.infraEnv(name); env == nil || image.Serves(env) {
			return name, env
		}
	}
}

// unfit says why hosts cannot be added with the InfraEnv that the cluster was
// installed with, "" where they can.
func (p *planner) unfit(image infraenv.Plan, env *model.InfraEnv) string {
	if !image.Serves(env) {
		return "it is of another architecture"
	}
	if want, have := image.Settings[setting.OSVersion], cmp.Or(env.Settings[setting.OSVersion], env.Settings[setting.Version]); want != "" && have != "" && !setting.SameVersion(want, have) {
		return fmt.Sprintf("its live system is of version %s, not %s", have.Text(), want.Text())
	}
	for _, d := range imageDifferences(image.Settings, env) {
		if d.Known && setting.RuleOf(d.Setting).InfraEnv == setting.Frozen {
			return fmt.Sprintf("its %s is %s", d.Setting, changeOf(d, "").From)
		}
	}
	for _, name := range image.Hosts {
		h := p.matches.ByName[name]
		if h != nil && h.InfraEnvID == env.ID && membershipOf(h) == outside && p.toAdd(p.spec.Host(name)) {
			return name + ", which was lost in the install, stays what it is there"
		}
	}
	return ""
}

// lateEnv is the InfraEnv whose image hosts boot to be added, nil for none: one that
// was made for that, else the one that the cluster was installed with.
func (p *planner) lateEnv(image infraenv.Plan, intended []infraenv.Plan) *model.InfraEnv {
	for i := range p.observed.InfraEnvs {
		env := &p.observed.InfraEnvs[i]
		own := env.Name == p.name() || strings.HasPrefix(env.Name, p.name()+"-")
		if own && p.madeLate(env) && image.Serves(env) && image.HeldBy(env, intended) {
			return env
		}
	}
	if env := p.infraEnv(image.Name); env == nil || p.unfit(image, env) == "" {
		return env
	}
	_, env := p.lateName(image, intended)
	return env
}

// lateEnvOf is the InfraEnv whose image a host of the file boots to be added,
// of any host that the file does not name for "".
func (p *planner) lateEnvOf(name string) *model.InfraEnv {
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Name == ref || e.ID == ref })
		if i < 0 {
			return nil
		}
		return &p.observed.InfraEnvs[i]
	}
	intended, err := p.infraEnvPlans()
	if err != nil {
		return nil // told with the images
	}
	for _, image := range intended {
		if name == "" || slices.Contains(image.Hosts, name) {
			return p.lateEnv(image, intended)
		}
	}
	return nil
}

// madeLate says whether an InfraEnv is not one that the cluster was installed with, or
// is a pool, which belongs to no cluster.
func (p *planner) madeLate(env *model.InfraEnv) bool {
	done := p.cluster.InstallCompleted
	return env.ClusterID == "" || done.IsZero() || !env.Created.Before(done)
}
