package fieldmap

import (
	"reflect"
	"testing"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestCopy has cluster.yaml say what the objects say of a cluster and of a machine, and nothing where they say nothing.
func TestCopy(t *testing.T) {
	config := controlplanev1.OpenshiftAssistedControlPlaneConfigSpec{
		BaseDomain: "example.com", Tags: []string{"lab"}, ReleaseImage: "quay.io/ocp@sha256:1", Fencing: &controlplanev1.Fencing{},
		MastersSchedulable: new(true), FIPS: new(true), Bundles: []controlplanev1.Bundle{{Name: "virtualization", Optional: []string{"nmstate"}}},
		Proxy:             &bootstrapv1.Proxy{HTTPProxy: "http://proxy:1", NoProxy: "a, ,b"},
		IgnoreValidations: controlplanev1.IgnoreValidations{Cluster: []string{"ntp"}, Hosts: []string{"cpu"}},
	}
	config.NetworkType, config.MTU, config.UserManagedNetworking = "OVNKubernetes", 9000, new(false)
	config.APIVIPs, config.IngressVIPs = []string{"192.0.2.1"}, []string{"192.0.2.2"}
	config.NTPSources, config.AdditionalNTPSources = []string{"a.ntp"}, []string{"b.ntp"}
	config.MachineNetwork = []controlplanev1.MachineNetworkEntry{{CIDR: "192.0.2.0/24"}}
	config.ClusterNetwork = []controlplanev1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}}
	config.ServiceNetwork = []string{"172.30.0.0/16"}
	config.LoadBalancer = &controlplanev1.LoadBalancer{Type: controlplanev1.UserManagedLoadBalancer}
	config.Hyperthreading = "masters,workers"
	config.Platform.External = &controlplanev1.ExternalPlatformSpec{PlatformName: "oci", CloudControllerManager: "External"}
	var want, got spec.Cluster
	want.Metadata.Tags = []string{"lab"}
	want.Spec = spec.ClusterSpec{
		BaseDomain: "example.com", OpenShift: spec.OpenShift{ReleaseImage: "quay.io/ocp@sha256:1"}, Topology: spec.Topology{Fencing: true},
		Network: spec.Network{
			Type: "OVNKubernetes", Machine: []string{"192.0.2.0/24"}, Cluster: []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
			Service: []string{"172.30.0.0/16"}, VIPs: spec.VIPs{API: []string{"192.0.2.1"}, Ingress: []string{"192.0.2.2"}},
			LoadBalancer: spec.UserManaged, UserManaged: new(false), MTU: 9000, NTP: []string{"a.ntp"},
		},
		Platform:                spec.Platform{External: &spec.ExternalPlatform{Name: "oci", CloudControllerManager: "External"}},
		Proxy:                   spec.Proxy{HTTP: "http://proxy:1", No: []string{"a", "b"}},
		Hyperthreading:          spec.RoleSet{"control-plane", "worker"},
		SchedulableControlPlane: new(true), FIPS: new(true),
		IgnoreValidations: spec.IgnoreValidations{Cluster: []string{"ntp"}, Hosts: []string{"cpu"}},
		Bundles:           []spec.Bundle{{ID: "virtualization", Optional: []string{"nmstate"}}},
	}
	want.Spec.Network.Defaults.NTP = []string{"b.ntp"}
	if Copy(&got, &config); !reflect.DeepEqual(want, got) {
		t.Errorf("it says %+v, and not %+v", got, want)
	}
	nothing := spec.Cluster{}
	if Copy(&nothing, &controlplanev1.OpenshiftAssistedControlPlaneConfigSpec{}); !reflect.DeepEqual(nothing, spec.Cluster{}) {
		t.Errorf("it says %+v, and not %+v", nothing, spec.Cluster{})
	}
	config.LoadBalancer.Type = controlplanev1.ClusterManagedLoadBalancer
	if Copy(&got, &config); got.Spec.Network.LoadBalancer != spec.ClusterManaged {
		t.Errorf("the load balancer is %q", got.Spec.Network.LoadBalancer)
	}

	var host, plain spec.Host
	CopyHost(&host, &bootstrapv1.OpenshiftAssistedConfigSpec{
		KeepDisks: []string{"/dev/sdb"}, AllowedAddresses: []string{"192.0.2.7"}, MachineConfigPool: "gpu",
		RootDeviceHints: &bootstrapv1.RootDeviceHints{Model: "NVMe", MinSizeGigabytes: 100, Rotational: new(false)},
		Taints:          []bootstrapv1.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
	})
	wanted := spec.Host{
		Disk:      spec.Disk{Keep: []string{"/dev/sdb"}, Hints: spec.DiskHints{Model: "NVMe", MinSizeGigabytes: 100, Rotational: new(false)}},
		Addresses: []string{"192.0.2.7"}, MachineConfigPool: "gpu", Taints: []spec.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
	}
	if !reflect.DeepEqual(wanted, host) {
		t.Errorf("it says %+v, and not %+v", host, wanted)
	}
	if CopyHost(&plain, &bootstrapv1.OpenshiftAssistedConfigSpec{}); !reflect.DeepEqual(plain, spec.Host{}) {
		t.Errorf("it says %+v, and not %+v", plain, spec.Host{})
	}
}
