package hubobjects

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// written are a value of each setting that some object holds.
func written() setting.Settings {
	out := setting.Settings{}
	for name, value := range map[setting.Name]any{
		setting.ControlPlane: 3, setting.Workers: 2, setting.Arbiters: 1, setting.SSHKeys: "ssh-ed25519 A", setting.NetworkType: "OVNKubernetes",
		setting.MachineNet: []string{"192.168.127.0/24"}, setting.ClusterNet: []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		setting.ServiceNet: []string{"172.30.0.0/16"}, setting.APIVIPs: []string{"192.168.127.100"}, setting.IngressVIPs: []string{"192.168.127.101"},
		setting.LoadBalancer: spec.UserManaged, setting.UserManaged: true,
		setting.Platform: spec.Platform{Type: spec.External, External: &spec.ExternalPlatform{Name: "oci", CloudControllerManager: "External"}},
		setting.Proxy:    spec.Proxy{HTTP: "http://u:p@proxy:1", HTTPS: "http://proxy:2", No: []string{"a", "b"}},
		setting.NTP:      []string{"ntp.example.com"}, setting.ExtraNTP: []string{"more.example.com"},
		setting.Hyperthreads: spec.RoleSet{"control-plane"}, setting.SchedulableCP: true,
		setting.DiskEncrypt: spec.DiskEncryption{Mode: spec.Tang, On: spec.RoleSet{"control-plane", "worker"}, Tang: []spec.TangServer{{URL: "http://t", Thumbprint: "x"}}},
		setting.IgnEndpoint: spec.IgnitionEndpoint{URL: "https://e"}, setting.InstallConfig: `{"fips":true}`,
		setting.Ignored: spec.IgnoreValidations{Cluster: []string{"all"}, Hosts: []string{"a", "b"}}, setting.Tags: []string{"blue"},
		setting.Arch: "arm64", setting.TrustBundle: "PEM", setting.DiscIgnition: `{"ignition":{}}`, setting.ImageType: "minimal",
		setting.KernelArgs: []string{"a=1"}, setting.NetworkDelay: 30, setting.OSVersion: "4.21", setting.AgentLabels: map[string]string{"zone": "a"},
		setting.NodeLabels: map[string]string{"site": "north"}, setting.IPXE: spec.IPXEBootOrder,
		setting.Ironic:   spec.Ironic{Agent: true, Image: "i", IPFamilies: []spec.IPFamily{"v4", "v6"}},
		setting.Approved: true, setting.Role: "control-plane", setting.Hostname: "cp-0", setting.Disk: "/dev/sda", setting.Pool: "infra",
		setting.Args: []string{"--append-karg", "x"}, setting.Ignition: `{"ignition":{}}`, setting.Labels: map[string]string{"rack": "1"},
		setting.StaticNetworks:  []setting.StaticNetwork{{YAML: `{"interfaces":[{"mtu":9000,"name":"eth0"}]}`, MACs: []spec.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}}}},
		setting.EndpointHeaders: map[string]string{"k": "v"}, setting.EndpointToken: setting.TokenSet, setting.Fencing: "192.0.2.1",
	} {
		out[name] = setting.ValueOf(value)
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
	held := map[setting.Name]bool{}
	for kind, table := range tables() {
		for _, row := range table {
			want, known := written()[row.Setting]
			held[row.Setting] = true
			if !known {
				t.Errorf("%s: nothing is written to %s here", kind, row.Setting)
				continue
			}
			object := Fields{}
			if err := table.Write(object, setting.Settings{row.Setting: want}); err != nil {
				t.Fatalf("%s: %s: %v", kind, row.Setting, err)
			}
			have, err := table.Said(object)
			switch hidden := row.Setting == setting.Fencing; {
			case err != nil:
				t.Errorf("%s: %s: %v", kind, row.Setting, err)
			case hidden && have[row.Setting] != "":
				t.Errorf("%s: %s is read back", kind, row.Setting)
			case !hidden && !setting.Same(row.Setting, want, have[row.Setting]):
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
		if err := table.Write(object, written()); err != nil {
			t.Fatal(err)
		}
		again := Fields{}
		if err := table.Write(again, table.Settings(object)); err != nil {
			t.Fatal(err)
		}
		delete(fieldsIn(object, "spec"), "fencingCredentialsSecretRef") // which no service gives back
		if diff := cmp.Diff(object, again); diff != "" {
			t.Errorf("%s (-written +written again):\n%s", kind, diff)
		}
		names := map[setting.Name]bool{}
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

// TestUnreadableFields are told by their names, and leave the others readable.
func TestUnreadableFields(t *testing.T) {
	for text, object := range map[string]Fields{
		`spec.platformType is "Cloud", and not BareMetal, None, VSphere, Nutanix or External`:           {"platformType": "Cloud"},
		`spec.loadBalancer.type is "Mine", and not ClusterManaged or UserManaged`:                       {"loadBalancer": Fields{"type": "Mine"}},
		`spec.apiVIP is 192.0.2.1 and the first of spec.apiVIPs is 192.0.2.2; they have to be the same`: {"apiVIP": "192.0.2.1", "apiVIPs": []any{"192.0.2.2"}},
		`spec.diskEncryption.tangServers is not a JSON list of {url, thumbprint}`:                       {"diskEncryption": Fields{"tangServers": "x"}},
		`spec.networking.machineNetwork has to be a []interface {}, and is a string`:                    {"networking": Fields{"machineNetwork": "10.0.0.0/8"}},
	} {
		object["sshPublicKey"] = "ssh-ed25519 A"
		have, err := InstallTable().Said(Fields{"spec": object})
		if err == nil || err.Error() != text {
			t.Errorf("%v, want %s", err, text)
		}
		if _, unset := object["loadBalancer"]; unset && InstallTable().Settings(Fields{"spec": object})[setting.LoadBalancer] != "" {
			t.Error("what cannot be read counts as left out")
		}
		if have[setting.SSHKeys].Text() != "ssh-ed25519 A" {
			t.Errorf("%s takes others with it: %v", text, slices.Sorted(maps.Keys(have)))
		}
	}
}

// TestFieldsThatFollowStay: what the object has beside the value of a setting stays when the
// setting is written again.
func TestFieldsThatFollowStay(t *testing.T) {
	ca := Fields{"name": "lab-ignition-ca", "namespace": "lab"}
	object := Fields{"spec": Fields{"ignitionEndpoint": Fields{"url": "https://old", "caCertificateReference": ca}}}
	if err := InstallTable().Write(object, setting.Settings{setting.IgnEndpoint: setting.ValueOf(spec.IgnitionEndpoint{URL: "https://new"})}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Fields{"spec": Fields{"ignitionEndpoint": Fields{"url": "https://new", "caCertificateReference": ca}}}, object); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
	env := Fields{"spec": Fields{"agentLabels": Fields{"oaictl.io/cluster": "lab"}}}
	if err := InfraEnvTable().Write(env, setting.Settings{setting.AgentLabels: setting.ValueOf(map[string]string{"zone": "a"})}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Fields{"spec": Fields{"agentLabels": Fields{"oaictl.io/cluster": "lab", "zone": "a"}}}, env); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
}
