package install

import "slices"

// envOf is the InfraEnv whose discovery image a host of the file boots next.
func (p *planner) envOf(host string) (InfraEnv, bool) {
	if p.cluster.State.Installed() {
		if env := p.lateEnvOf(host); env != nil {
			return *env, true
		}
		return InfraEnv{}, false
	}
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		return envNamed(p.observed, func(e InfraEnv) bool { return e.Name == ref || e.ID == ref })
	}
	if p.bootsFrom == nil {
		p.bootsFrom = p.imagesByHost()
	}
	name, planned := p.bootsFrom[host]
	return envNamed(p.observed, func(e InfraEnv) bool { return planned && e.Name == name })
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

func envNamed(observed *Observed, fits func(InfraEnv) bool) (InfraEnv, bool) {
	i := slices.IndexFunc(observed.InfraEnvs, fits)
	if i < 0 {
		return InfraEnv{}, false
	}
	return observed.InfraEnvs[i], true
}
