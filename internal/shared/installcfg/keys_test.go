package installcfg_test

import (
	"fmt"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/installcfg"
)

func TestCheck(t *testing.T) {
	type object = map[string]any
	tests := []struct {
		name      string
		overrides object
		want      string
	}{
		{"nothing", nil, "[]"},
		{"known", object{"featureSet": "TechPreviewNoUpgrade", "capabilities": object{"additionalEnabledCapabilities": []any{"Ingress"}}, "fips": true}, "[]"},
		{"known below lists", object{"platform": object{"baremetal": object{"hosts": []any{object{"bmc": object{"address": "a"}}}}}}, "[]"},
		{"another letter case", object{"FeatureSet": "x"}, "[]"},
		{"unknown", object{"publish": "Internal"}, "[{publish " + installcfg.UnknownKey + "}]"},
		{"unknown below", object{"networking": object{"ovnKubernetesConfig": object{}, "clusterNetworkMTU": 1}}, "[{networking.clusterNetworkMTU " + installcfg.UnknownKey + "} {networking.ovnKubernetesConfig " + installcfg.UnknownKey + "}]"},
		{"unknown in a list", object{"imageDigestSources": []any{object{"source": "a"}, object{"sourcePolicy": "b"}}}, "[{imageDigestSources[1].sourcePolicy " + installcfg.UnknownKey + "}]"},
		{"text for a number", object{"controlPlane": object{"replicas": "3"}}, "[{controlPlane.replicas cannot be text: the service expects a number}]"},
		{"a map for a list", object{"featureGates": object{"a": true}}, "[{featureGates cannot be a map: the service expects a list}]"},
		{"text for true", object{"fips": "true"}, "[{fips cannot be text: the service expects true or false}]"},
	}
	for _, test := range tests {
		check.Equal(t, fmt.Sprint(installcfg.Check(test.overrides)), test.want, test.name)
	}
}

func TestHas(t *testing.T) {
	for path, want := range map[[2]string]bool{
		{"platform", "vsphere"}: true, {"platform", "aws"}: false, {"networking", "networkType"}: true, {"networking", "ovnKubernetesConfig"}: false, {"fips", "x"}: false,
	} {
		check.Equal(t, installcfg.Has(path[0], path[1]), want, path)
	}
}
