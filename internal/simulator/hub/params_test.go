package hub

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

func inputsOf(t *testing.T, text string) *clusterInputs {
	t.Helper()
	spec, err := objects.Spec[objects.InstallSpec](parse(t, hubapi.KindAgentClusterInstall, text))
	if err != nil {
		t.Fatal(err)
	}
	return &clusterInputs{name: "c", domain: "example.com", spec: spec, release: versions.Release{Version: "4.21.28", CPUArchitecture: "x86_64"}, pullSecret: "s"}
}

// TestClusterParams reads what is sent for some specs, as far as they say something.
func TestClusterParams(t *testing.T) {
	for name, row := range map[string]struct{ spec, want string }{
		"three nodes": {
			`spec: {apiVIPs: [192.0.2.1], ingressVIP: 192.0.2.2, sshPublicKey: k, networking: {clusterNetwork: [{cidr: 10.0.0.0/8, hostPrefix: 23}], serviceNetwork: [172.30.0.0/16]}, provisionRequirements: {controlPlaneAgents: 3}}`,
			`{"api_vips":[{"ip":"192.0.2.1"}],"base_dns_domain":"example.com","cluster_networks":[{"cidr":"10.0.0.0/8","host_prefix":23}],"control_plane_count":3,"cpu_architecture":"x86_64","hyperthreading":"all","ingress_vips":[{"ip":"192.0.2.2"}],"name":"c","openshift_version":"4.21.28","pull_secret":"s","schedulable_masters":false,"service_networks":[{"cidr":"172.30.0.0/16"}],"ssh_public_key":"k","user_managed_networking":false}`,
		},
		"vSphere": {
			`spec: {platformType: VSphere, networking: {}, provisionRequirements: {controlPlaneAgents: 3}}`,
			`{"api_vips":[],"base_dns_domain":"example.com","control_plane_count":3,"cpu_architecture":"x86_64","hyperthreading":"all","ingress_vips":[],"name":"c","openshift_version":"4.21.28","platform":{"type":"vsphere"},"pull_secret":"s","schedulable_masters":false,"user_managed_networking":false}`,
		},
		"single node": {
			`spec: {networking: {machineNetwork: [{cidr: 192.0.2.0/24}]}, provisionRequirements: {controlPlaneAgents: 1}, controlPlane: {name: master, hyperthreading: Disabled}}`,
			`{"base_dns_domain":"example.com","control_plane_count":1,"cpu_architecture":"x86_64","high_availability_mode":"None","hyperthreading":"none","machine_networks":[{"cidr":"192.0.2.0/24"}],"name":"c","openshift_version":"4.21.28","pull_secret":"s","schedulable_masters":false,"user_managed_networking":true}`,
		},
		"external": {
			`spec: {platformType: External, external: {platformName: oci, cloudControllerManager: External}, networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}, mastersSchedulable: true, loadBalancer: {type: UserManaged}, diskEncryption: {enableOn: all, mode: tpmv2}, ntpSources: [a, b], proxy: {httpProxy: "http://p"}}`,
			`{"base_dns_domain":"example.com","control_plane_count":3,"cpu_architecture":"x86_64","disk_encryption":{"enable_on":"all","mode":"tpmv2","tang_servers":""},"http_proxy":"http://p","hyperthreading":"all","load_balancer":{"type":"user-managed"},"name":"c","ntp_sources":"a,b","openshift_version":"4.21.28","platform":{"external":{"cloud_controller_manager":"External","platform_name":"oci"},"type":"external"},"pull_secret":"s","schedulable_masters":true,"user_managed_networking":true}`,
		},
	} {
		if diff := cmp.Diff(row.want, objects.ToJSON(inputsOf(t, row.spec).create())); diff != "" {
			t.Errorf("%s: -want +have\n%s", name, diff)
		}
	}
}

// TestReleaseThatIsNotListed names the image of one that the service does not know by its version.
func TestReleaseThatIsNotListed(t *testing.T) {
	in := inputsOf(t, "spec: {provisionRequirements: {controlPlaneAgents: 3}}")
	if image, named := in.create()["ocp_release_image"]; named {
		t.Errorf("one that is listed is named: %v", image)
	}
	const okd = "quay.io/okd/scos-release:4.19.0-okd-scos.19"
	var known bool
	if in.release, known = versions.ReleaseByURL(okd); !known {
		t.Fatal("the service does not take the image")
	}
	if image := in.create()["ocp_release_image"]; image != okd {
		t.Errorf("the image is %v", image)
	}
}

// TestClusterUpdate sends only what differs, and nothing that the service works
// out itself.
func TestClusterUpdate(t *testing.T) {
	const spec = `spec: {apiVIPs: [192.0.2.1], ingressVIPs: [192.0.2.2], networking: {machineNetwork: [{cidr: 192.0.2.0/24}]}, provisionRequirements: {controlPlaneAgents: 3}}`
	const same = `{"name":"c","base_dns_domain":"example.com","api_vips":[{"ip":"192.0.2.1","cluster_id":"x"}],"ingress_vips":[{"ip":"192.0.2.2"}],"control_plane_count":3,"hyperthreading":"all"}`
	for name, row := range map[string]struct{ spec, have, want string }{
		"nothing":          {spec, same, `{}`},
		"a VIP":            {`spec: {apiVIPs: [192.0.2.9], ingressVIPs: [192.0.2.2], provisionRequirements: {controlPlaneAgents: 3}}`, same, `{"api_vips":[{"ip":"192.0.2.9"}]}`},
		"a key taken away": {spec, `{"ssh_public_key":"k",` + same[1:], `{"ssh_public_key":""}`},
		"a platform": {`spec: {platformType: None, networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}`, same,
			`{"platform":{"type":"none"},"user_managed_networking":true}`},
	} {
		var have map[string]any
		if err := json.Unmarshal([]byte(row.have), &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, objects.ToJSON(inputsOf(t, row.spec).update(have))); diff != "" {
			t.Errorf("%s: -want +have\n%s", name, diff)
		}
	}
}

// TestAsPrinted drops what the service's types do not print, and adds what they
// always do.
func TestAsPrinted(t *testing.T) {
	for name, row := range map[string]struct {
		kind        objects.Kind
		given, want string
	}{
		"AgentClusterInstall": {hubapi.KindAgentClusterInstall, "spec: {holdInstallation: false, networking: {userManagedNetworking: false}, provisionRequirements: {controlPlaneAgents: 3, workerAgents: 0}, compute: []}",
			`{"networking":{"userManagedNetworking":false},"provisionRequirements":{"controlPlaneAgents":3}}`},
		"ClusterDeployment": {hubapi.KindClusterDeployment, "spec: {baseDomain: a}", `{"baseDomain":"a","controlPlaneConfig":{"servingCertificates":{}},"installed":false}`},
		"InfraEnv":          {hubapi.KindInfraEnv, "spec: {sshAuthorizedKey: ''}", `{"nmStateConfigLabelSelector":{}}`},
	} {
		if diff := cmp.Diff(row.want, objects.ToJSON(objects.AsPrinted(row.kind, parse(t, row.kind, row.given)).Object["spec"])); diff != "" {
			t.Errorf("%s: -want +have\n%s", name, diff)
		}
	}
}

// TestInventoryWithNulls reads one in which a part is null as one without it.
func TestInventoryWithNulls(t *testing.T) {
	status := map[string]any{}
	if err := setInventory(status, `{"hostname":"a","boot":null,"cpu":null,"memory":null,"system_vendor":null}`); err != nil {
		t.Fatal(err)
	}
	if inventory, _ := status["inventory"].(map[string]any); inventory["hostname"] != "a" {
		t.Errorf("have %v", status)
	}
}
