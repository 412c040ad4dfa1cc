package decide

import (
	"slices"

	"github.com/oaictl/oaictl/internal/model"
)

// envOf is the InfraEnv whose discovery image a host of the file boots next.
func (p *planner) envOf(host string) (model.InfraEnv, bool) {
	if p.cluster.State.Installed() {
		if env := p.lateEnvOf(host); env != nil {
			return *env, true
		}
		return model.InfraEnv{}, false
	}
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		return envNamed(p.observed, func(e model.InfraEnv) bool { return e.Name == ref || e.ID == ref })
	}
	if p.bootsFrom == nil {
		p.bootsFrom = p.imagesByHost()
	}
	name, planned := p.bootsFrom[host]
	return envNamed(p.observed, func(e model.InfraEnv) bool { return planned && e.Name == name })
}

// imagesByHost are the names of the InfraEnvs that the hosts of the file boot.
func (p *planner) imagesByHost() map[string]string {
	names := map[string]string{}
	intended, err := p.infraEnvPlans()
	if err != nil {
		return names // Decide tells of it
	}
	for _, image := range intended {
		for _, host := range image.Hosts {
			names[host] = image.Name
		}
	}
	return names
}

func envNamed(observed *model.Observed, fits func(model.InfraEnv) bool) (model.InfraEnv, bool) {
	i := slices.IndexFunc(observed.InfraEnvs, fits)
	if i < 0 {
		return model.InfraEnv{}, false
	}
	return observed.InfraEnvs[i], true
}
