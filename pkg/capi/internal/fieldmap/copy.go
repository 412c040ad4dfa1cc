package fieldmap

import (
	"reflect"
	"strings"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Copy says in a cluster.yaml what a control plane says of the cluster, as far as no other object adds to it.
func Copy(c *spec.Cluster, from *controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) {
	for _, f := range sameFields() {
		if f.by == ByControlPlane {
			copyAt(reflect.ValueOf(c).Elem(), f.file, reflect.ValueOf(from).Elem(), strings.TrimPrefix(f.at, "config."))
		}
	}
	c.Spec.Topology.Fencing = from.Fencing != nil
	c.Spec.Proxy = Proxy(from.Proxy)
}

// CopyHost says of a host in cluster.yaml what a config says of the machine, as far as no other object adds to it.
func CopyHost(to *spec.Host, from *bootstrapv1.OpenshiftAssistedConfigSpec) {
	for _, f := range sameFields() {
		if f.by == ByConfig {
			copyAt(reflect.ValueOf(to).Elem(), strings.TrimPrefix(f.file, "spec.hosts[]."), reflect.ValueOf(from).Elem(), f.at)
		}
	}
}

// Proxy is a proxy as cluster.yaml has it.
func Proxy(p *bootstrapv1.Proxy) spec.Proxy {
	if p == nil {
		return spec.Proxy{}
	}
	out := spec.Proxy{HTTP: spec.ProxyURL(p.HTTPProxy), HTTPS: spec.ProxyURL(p.HTTPSProxy)}
	for entry := range strings.SplitSeq(p.NoProxy, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out.No = append(out.No, entry)
		}
	}
	return out
}
