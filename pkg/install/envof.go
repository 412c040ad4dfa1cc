package install

import "slices"

// EnvOf is the InfraEnv whose discovery image a host of the file boots next;
// false while there is none.
func EnvOf(desired *Desired, observed *Observed, host string) (InfraEnv, bool) {
	p := &planner{desired: desired, spec: desired.Spec, observed: observed, now: observed.At, cluster: observed.Cluster}
	if p.cluster == nil {
		return InfraEnv{}, false
	}
	p.matches = matchHosts(p.spec.Spec.Hosts, observed)
	if p.cluster.State.installed() {
		if env := p.lateEnvOf(host); env != nil {
			return *env, true
		}
		return InfraEnv{}, false
	}
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		return envNamed(observed, func(e InfraEnv) bool { return e.Name == ref || e.ID == ref })
	}
	intended, err := p.infraEnvPlans()
	if err != nil {
		return InfraEnv{}, false // Decide tells of it
	}
	for _, image := range intended {
		if slices.Contains(image.Hosts, host) {
			return envNamed(observed, func(e InfraEnv) bool { return e.Name == image.Name })
		}
	}
	return InfraEnv{}, false
}

func envNamed(observed *Observed, fits func(InfraEnv) bool) (InfraEnv, bool) {
	i := slices.IndexFunc(observed.InfraEnvs, fits)
	if i < 0 {
		return InfraEnv{}, false
	}
	return observed.InfraEnvs[i], true
}
