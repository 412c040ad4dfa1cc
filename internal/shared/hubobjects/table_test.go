package hubobjects

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// written are a value of each setting that some object holds.
func written() model.Settings {
	out := model.Settings{}
	for name, value := range map[model.Setting]any{
		model.SettingControlPlane: 3, model.SettingWorkers: 2, model.SettingArbiters: 1, model.SettingSSHKeys: "ssh-ed25519 A", model.SettingNetworkType: "OVNKubernetes",
		model.SettingMachineNetworks: []string{"192.168.127.0/24"}, model.SettingClusterNetworks: []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		model.SettingServiceNetworks: []string{"172.30.0.0/16"}, model.SettingAPIVIPs: []string{"192.168.127.100"}, model.SettingIngressVIPs: []string{"192.168.127.101"},
		model.SettingLoadBalancer: spec.UserManaged, model.SettingUserManaged: true,
		model.SettingPlatform: spec.Platform{Type: spec.External, External: &spec.ExternalPlatform{Name: "oci", CloudControllerManager: "External"}},
		model.SettingProxy:    spec.Proxy{HTTP: "http://u:p@proxy:1", HTTPS: "http://proxy:2", No: []string{"a", "b"}},
		model.SettingNTP:      []string{"ntp.example.com"}, model.SettingExtraNTP: []string{"more.example.com"},
		model.SettingHyperthreading: spec.RoleSet{"control-plane"}, model.SettingSchedulableControlPlane: true,
		model.SettingDiskEncryption:   spec.DiskEncryption{Mode: spec.Tang, On: spec.RoleSet{"control-plane", "worker"}, Tang: []spec.TangServer{{URL: "http://t", Thumbprint: "x"}}},
		model.SettingIgnitionEndpoint: spec.IgnitionEndpoint{URL: "https://e"}, model.SettingInstallConfigOverrides: `{"fips":true}`,
		model.SettingIgnoredValidations: spec.IgnoreValidations{Cluster: []string{"all"}, Hosts: []string{"a", "b"}}, model.SettingTags: []string{"blue"},
		model.SettingArch: "arm64", model.SettingTrustBundle: "PEM", model.SettingDiscoveryIgnition: `{"ignition":{}}`, model.SettingImageType: "minimal",
		model.SettingKernelArguments: []string{"a=1"}, model.SettingNetworkDelay: 30, model.SettingOSVersion: "4.21", model.SettingAgentLabels: map[string]string{"zone": "a"},
		model.SettingNodeLabels: map[string]string{"site": "north"}, model.SettingIPXE: spec.IPXEBootOrder,
		model.SettingIronic:   spec.Ironic{Agent: true, Image: "i", IPFamilies: []spec.IPFamily{"v4", "v6"}},
		model.SettingApproved: true, model.SettingRole: "control-plane", model.SettingHostname: "cp-0", model.SettingDisk: "/dev/sda", model.SettingPool: "infra",
		model.SettingInstallerArgs: []string{"--append-karg", "x"}, model.SettingIgnition: `{"ignition":{}}`, model.SettingLabels: map[string]string{"rack": "1"},
		model.SettingStaticNetworks:  []model.StaticNetwork{{YAML: `{"interfaces":[{"mtu":9000,"name":"eth0"}]}`, MACs: []spec.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}}}},
		model.SettingEndpointHeaders: map[string]string{"k": "v"}, model.SettingEndpointToken: clustersettings.TokenSet, model.SettingFencing: "192.0.2.1",
	} {
		out[name] = model.ValueOf(value)
	}
	return out
}

func tables() map[string]Table {
	return map[string]Table{
		"AgentClusterInstall": InstallTable(), "InfraEnv": InfraEnvTable(), "NMStateConfig": NMStateConfigTable(), "Agent": AgentTable(HostSecrets{Namespace: "lab", Fencing: "f", Token: "t"}),
	}
}

// TestTablesReadWhatTheyWrite: a setting is read back from the fields that it was written
// to, from no others, and each is a setting of some object.
func TestTablesReadWhatTheyWrite(t *testing.T) {
	held := map[model.Setting]bool{}
	for kind, table := range tables() {
		for _, row := range table {
			want, known := written()[row.Setting]
			held[row.Setting] = true
			if !known {
				t.Errorf("%s: nothing is written to %s here", kind, row.Setting)
				continue
			}
			object := Fields{}
			if err := table.Write(object, model.Settings{row.Setting: want}); err != nil {
				t.Fatalf("%s: %s: %v", kind, row.Setting, err)
			}
			have, err := table.ReadSettings(object)
			switch hidden := row.Setting == model.SettingFencing; {
			case err != nil:
				t.Errorf("%s: %s: %v", kind, row.Setting, err)
			case hidden && have[row.Setting] != "":
				t.Errorf("%s: %s is read back", kind, row.Setting)
			case !hidden && !clustersettings.Same(row.Setting, want, have[row.Setting]):
				t.Errorf("%s: %s is %s, and was written as %s", kind, row.Setting, have[row.Setting], want)
			}
			for _, path := range row.Paths {
				taken, _ := at(object, path...)
				if taken == nil && len(row.Paths) == 1 {
					t.Errorf("%s: nothing of %s is at %v", kind, row.Setting, path)
				}
			}
		}
	}
	for name := range written() {
		if !held[name] {
			t.Errorf("no object holds %s", name)
		}
	}
}

// TestTablesWriteWhatTheyRead: all settings together are read back from one object, with
// nothing said twice.
func TestTablesWriteWhatTheyRead(t *testing.T) {
	for kind, table := range tables() {
		object := Fields{}
		must.Do(t, table.Write(object, written()))
		again := Fields{}
		must.Do(t, table.Write(again, table.Settings(object)))
		delete(fieldsIn(object, "spec"), "fencingCredentialsSecretRef") // which no service gives back
		if diff := cmp.Diff(object, again); diff != "" {
			t.Errorf("%s (-written +written again):\n%s", kind, diff)
		}
		names := map[model.Setting]bool{}
		for _, row := range table {
			if names[row.Setting] {
				t.Errorf("%s has two rows for %s", kind, row.Setting)
			}
			names[row.Setting] = true
		}
	}
}

func fieldsIn(object Fields, name string) Fields {
	fields, _ := object[name].(Fields)
	return fields
}

// TestUnreadableFields are reported by their names, and leave the others readable.
func TestUnreadableFields(t *testing.T) {
	for text, object := range map[string]Fields{
		`spec.platformType is "Cloud", and not BareMetal, None, VSphere, Nutanix or External`:           {"platformType": "Cloud"},
		`spec.loadBalancer.type is "Mine", and not ClusterManaged or UserManaged`:                       {"loadBalancer": Fields{"type": "Mine"}},
		`spec.apiVIP is 192.0.2.1 and the first of spec.apiVIPs is 192.0.2.2; they have to be the same`: {"apiVIP": "192.0.2.1", "apiVIPs": []any{"192.0.2.2"}},
		`spec.diskEncryption.tangServers is not a JSON list of {url, thumbprint}`:                       {"diskEncryption": Fields{"tangServers": "x"}},
		`spec.networking.machineNetwork has to be a []interface {}, and is a string`:                    {"networking": Fields{"machineNetwork": "10.0.0.0/8"}},
	} {
		object["sshPublicKey"] = "ssh-ed25519 A"
		have, err := InstallTable().ReadSettings(Fields{"spec": object})
		if err == nil || err.Error() != text {
			t.Errorf("%v, want %s", err, text)
		}
		if _, unset := object["loadBalancer"]; unset && InstallTable().Settings(Fields{"spec": object})[model.SettingLoadBalancer] != "" {
			t.Error("what cannot be read counts as left out")
		}
		if have[model.SettingSSHKeys].Text() != "ssh-ed25519 A" {
			t.Errorf("%s takes others with it: %v", text, slices.Sorted(maps.Keys(have)))
		}
	}
}

// TestFieldsThatFollowStay: what the object has beside the value of a setting stays when the
// setting is written again.
func TestFieldsThatFollowStay(t *testing.T) {
	ca := Fields{"name": "lab-ignition-ca", "namespace": "lab"}
	object := Fields{"spec": Fields{"ignitionEndpoint": Fields{"url": "https://old", "caCertificateReference": ca}}}
	must.Do(t, InstallTable().Write(object, model.Settings{model.SettingIgnitionEndpoint: model.ValueOf(spec.IgnitionEndpoint{URL: "https://new"})}))
	if diff := cmp.Diff(Fields{"spec": Fields{"ignitionEndpoint": Fields{"url": "https://new", "caCertificateReference": ca}}}, object); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
	env := Fields{"spec": Fields{"agentLabels": Fields{"oaictl.io/cluster": "lab"}}}
	must.Do(t, InfraEnvTable().Write(env, model.Settings{model.SettingAgentLabels: model.ValueOf(map[string]string{"zone": "a"})}))
	if diff := cmp.Diff(Fields{"spec": Fields{"agentLabels": Fields{"oaictl.io/cluster": "lab", "zone": "a"}}}, env); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
}
