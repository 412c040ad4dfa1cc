package clustersettings

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfCluster is what cluster.yaml says of the cluster itself. A field
// that the file leaves out is absent; one that it gives as empty is there.
func OfCluster(c *spec.Cluster) model.Settings {
	if c.OnlyAdds() {
		return saidOf(c, day2) // the rest says how a cluster is installed
	}
	return saidOf(c, clusters)
}

// IgnoredOf is which validations may fail, nil where the file says nothing
// of that.
func IgnoredOf(c *spec.Cluster) model.Settings {
	list := c.Spec.IgnoreValidations
	if list.Cluster == nil && list.Hosts == nil {
		return nil
	}
	return model.Settings{model.SettingIgnoredValidations: model.ValueOf(list)}
}

// OfInfraEnv is what cluster.yaml says of the InfraEnv whose machines
// have the given architecture ("" for the cluster's own), but for their networks.
func OfInfraEnv(c *spec.Cluster, arch spec.Arch) (model.Settings, error) {
	s := saidOf(c, infraEnvs)
	if c.Existing() == "" { // else the file does not say it, and it is not compared
		put(s, model.SettingVersion, c.Spec.OpenShift.Version)
	}
	put(s, model.SettingArch, arch)
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		return nil, fmt.Errorf("make the discovery ignition: %w", err)
	}
	put(s, model.SettingDiscoveryIgnition, ignition)
	return s, nil
}

func put[T ~string](s model.Settings, key model.Setting, value T) {
	if value != "" {
		s[key] = model.ValueOf(string(value))
	}
}
