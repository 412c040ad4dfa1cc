package objects

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// settingCase is a setting, the fields that write it, and the fields by which
// an object shows it.
type settingCase struct {
	value any
	body  string
	wire  string
}

func clusterCases() map[model.Setting]settingCase {
	return map[model.Setting]settingCase{
		model.SettingVersion:                 {"4.20", `{"openshift_version":"4.20"}`, `{"openshift_version":"4.20"}`},
		model.SettingReleaseImage:            {"q/r:1", `{"ocp_release_image":"q/r:1"}`, `{"ocp_release_image":"q/r:1"}`},
		model.SettingArch:                    {"arm64", `{"cpu_architecture":"arm64"}`, `{"cpu_architecture":"arm64"}`},
		model.SettingControlPlane:            {3, `{"high_availability_mode":"Full"}`, `{"control_plane_count":3}`},
		model.SettingSSHKeys:                 {"ssh-rsa A\nssh-rsa B", `{"ssh_public_key":"ssh-rsa A\nssh-rsa B"}`, `{"ssh_public_key":"ssh-rsa A\nssh-rsa B"}`},
		model.SettingNetworkType:             {"Cilium", `{"network_type":"Cilium"}`, `{"network_type":"Cilium"}`},
		model.SettingMachineNetworks:         {[]string{"10.0.0.0/24"}, `{"machine_networks":[{"cidr":"10.0.0.0/24"}]}`, `{"machine_networks":[{"cidr":"10.0.0.0/24","cluster_id":"11111111-1111-1111-1111-111111111111"}]}`},
		model.SettingServiceNetworks:         {[]string{}, `{"service_networks":[]}`, `{"service_networks":[]}`},
		model.SettingClusterNetworks:         {[]spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, `{"cluster_networks":[{"cidr":"10.128.0.0/14","host_prefix":23}]}`, `{"cluster_networks":[{"cidr":"10.128.0.0/14","host_prefix":23}]}`},
		model.SettingAPIVIPs:                 {[]string{"10.0.0.2", "fd00::2"}, `{"api_vips":[{"ip":"10.0.0.2"},{"ip":"fd00::2"}]}`, `{"api_vips":[{"ip":"10.0.0.2","verification":"succeeded"},{"ip":"fd00::2"}]}`},
		model.SettingIngressVIPs:             {[]string{"10.0.0.3"}, `{"ingress_vips":[{"ip":"10.0.0.3"}]}`, `{"ingress_vips":[{"ip":"10.0.0.3"}]}`},
		model.SettingLoadBalancer:            {"user-managed", `{"load_balancer":{"type":"user-managed"}}`, `{"load_balancer":{"type":"user-managed"}}`},
		model.SettingUserManaged:             {false, `{"user_managed_networking":false}`, `{"user_managed_networking":false}`},
		model.SettingSchedulableControlPlane: {true, `{"schedulable_masters":true}`, `{"schedulable_masters":true}`},
		model.SettingPlatform: {spec.Platform{Type: "external", External: &spec.ExternalPlatform{Name: "oci", CloudControllerManager: "External"}},
			`{"platform":{"external":{"cloud_controller_manager":"External","platform_name":"oci"},"type":"external"}}`,
			`{"platform":{"external":{"cloud_controller_manager":"External","platform_name":"oci"},"type":"external"}}`},
		model.SettingProxy: {spec.Proxy{HTTP: "http://p:1", HTTPS: "http://p:2", No: []string{".x", "y"}},
			`{"http_proxy":"http://p:1","https_proxy":"http://p:2","no_proxy":".x,y"}`, `{"http_proxy":"http://p:1","https_proxy":"http://p:2","no_proxy":".x,y"}`},
		model.SettingExtraNTP:       {[]string{"a", "b"}, `{"additional_ntp_source":"a,b"}`, `{"additional_ntp_source":"a,b"}`},
		model.SettingNTP:            {[]string{"a", "b"}, `{"ntp_sources":"a,b"}`, `{"ntp_sources":"a,b"}`},
		model.SettingHyperthreading: {spec.RoleSet{"control-plane", "worker"}, `{"hyperthreading":"masters,workers"}`, `{"hyperthreading":"masters,workers"}`},
		model.SettingDiskEncryption: {spec.DiskEncryption{On: spec.RoleSet{"all"}, Mode: "tang", Tang: []spec.TangServer{{URL: "http://t", Thumbprint: "x"}}},
			`{"disk_encryption":{"enable_on":"all","mode":"tang","tang_servers":"[{\"url\":\"http://t\",\"thumbprint\":\"x\"}]"}}`,
			`{"disk_encryption":{"enable_on":"all","mode":"tang","tang_servers":"[{\"url\":\"http://t\",\"thumbprint\":\"x\"}]"}}`},
		model.SettingIgnitionEndpoint: {spec.IgnitionEndpoint{URL: "https://e", CA: &spec.PublicSource{Inline: "PEM"}}, `{"ignition_endpoint":{"ca_certificate":"UEVN","url":"https://e"}}`, `{"ignition_endpoint":{"ca_certificate":"UEVN","url":"https://e"}}`},
		model.SettingOperators: {[]spec.Operator{{Name: "lvm", Properties: map[string]any{"a": 1}}}, `{"olm_operators":[{"name":"lvm","properties":"{\"a\":1}"}]}`,
			`{"monitored_operators":[{"name":"console","operator_type":"builtin"},{"name":"lvm","operator_type":"olm","properties":"{\"a\":1}"},{"name":"lso","operator_type":"olm","dependency_only":true}]}`},
		model.SettingBundles:                {[]spec.Bundle{{ID: "virtualization"}}, `{"operator_bundles":[{"id":"virtualization"}]}`, `{"operator_bundles":["virtualization"]}`},
		model.SettingInstallConfigOverrides: {`{"fips":true}`, "", `{"install_config_overrides":"{\"fips\":true}"}`},
		model.SettingTags:                   {[]string{"blue"}, "", `{"tags":"oaictl,oaictl_run_x, blue"}`},
	}
}

func infraEnvCases() map[model.Setting]settingCase {
	return map[model.Setting]settingCase{
		model.SettingVersion:   {"4.20", `{"openshift_version":"4.20"}`, `{"openshift_version":"4.20"}`},
		model.SettingOSVersion: {"4.21", `{"openshift_version":"4.21"}`, `{"openshift_version":"4.21"}`},
		model.SettingArch:      {"x86_64", `{"cpu_architecture":"x86_64"}`, `{"cpu_architecture":"x86_64"}`},
		model.SettingSSHKeys:   {"ssh-rsa A", `{"ssh_authorized_key":"ssh-rsa A"}`, `{"ssh_authorized_key":"ssh-rsa A"}`},
		model.SettingProxy: {spec.Proxy{HTTP: "http://p:1", HTTPS: "http://p:2", No: []string{"x"}},
			`{"proxy":{"http_proxy":"http://p:1","https_proxy":"http://p:2","no_proxy":"x"}}`, `{"proxy":{"http_proxy":"http://p:1","https_proxy":"http://p:2","no_proxy":"x"}}`},
		model.SettingExtraNTP:          {[]string{"a", "b"}, `{"additional_ntp_sources":"a,b"}`, `{"additional_ntp_sources":"a,b"}`},
		model.SettingNTP:               {[]string{"a"}, `{"ntp_sources":"a"}`, `{"ntp_sources":["a"]}`},
		model.SettingTrustBundle:       {"PEM", `{"additional_trust_bundle":"PEM"}`, `{"additional_trust_bundle":"PEM"}`},
		model.SettingKernelArguments:   {[]string{"a=1", "b"}, `{"kernel_arguments":[{"operation":"append","value":"a=1"},{"operation":"append","value":"b"}]}`, `{"kernel_arguments":"[{\"operation\":\"append\",\"value\":\"a=1\"},{\"operation\":\"append\",\"value\":\"b\"}]"}`},
		model.SettingDiscoveryIgnition: {`{"ignition":{}}`, `{"ignition_config_override":"{\"ignition\":{}}"}`, `{"ignition_config_override":"{\"ignition\":{}}"}`},
		model.SettingImageType:         {"minimal", `{"image_type":"minimal-iso"}`, `{"type":"minimal-iso"}`},
		model.SettingNetworkDelay:      {30, `{"network_discovery_delay_seconds":30}`, `{"network_discovery_delay_seconds":30}`},
		model.SettingStaticNetworks: {[]model.StaticNetwork{{YAML: "a: 1", MACs: []spec.NIC{{MAC: "aa:00:00:00:00:01", Name: "eth0"}}}},
			`{"static_network_config":[{"network_yaml":"a: 1","mac_interface_map":[{"mac_address":"aa:00:00:00:00:01","logical_nic_name":"eth0"}]}]}`,
			`{"static_network_config":"[{\"network_yaml\":\"a: 1\",\"mac_interface_map\":[{\"mac_address\":\"AA:00:00:00:00:01\",\"logical_nic_name\":\"eth0\"}]}]"}`},
	}
}

func hostCases() map[model.Setting]settingCase {
	return map[model.Setting]settingCase{
		model.SettingRole:            {spec.ControlPlane, `{"host_role":"master"}`, `{"role":"master"}`},
		model.SettingHostname:        {"cp-0", `{"host_name":"cp-0"}`, `{"requested_hostname":"cp-0"}`},
		model.SettingDisk:            {"/dev/x", `{"disks_selected_config":[{"id":"/dev/x","role":"install"}]}`, `{"installation_disk_id":"/dev/x"}`},
		model.SettingKeepDisks:       {[]string{"/dev/a", "/dev/b"}, `{"disks_skip_formatting":[{"disk_id":"/dev/a","skip_formatting":true},{"disk_id":"/dev/b","skip_formatting":true}]}`, `{"skip_formatting_disks":"/dev/a,/dev/b"}`},
		model.SettingLabels:          {map[string]string{"a/b": "c", "d": ""}, `{"node_labels":[{"key":"a/b","value":"c"},{"key":"d","value":""}]}`, `{"node_labels":"{\"d\":\"\",\"a/b\":\"c\"}"}`},
		model.SettingPool:            {"infra", `{"machine_config_pool_name":"infra"}`, `{"machine_config_pool_name":"infra"}`},
		model.SettingInstallerArgs:   {[]string{"--append-karg", "x"}, "", `{"installer_args":"[\"--append-karg\",\"x\"]"}`},
		model.SettingIgnition:        {`{"ignition":{}}`, "", `{"ignition_config_overrides":"{\"ignition\":{}}"}`},
		model.SettingFencing:         {"https://bmc", "", `{"fencing_credentials":"{\"address\":\"https://bmc\",\"username\":\"u\"}"}`},
		model.SettingEndpointToken:   {"set", "", `{"ignition_endpoint_token_set":true}`},
		model.SettingEndpointHeaders: {map[string]string{"X-B": "2", "X-A": "1"}, `{"ignition_endpoint_http_headers":[{"key":"X-A","value":"1"},{"key":"X-B","value":"2"}]}`, ""},
		model.SettingHostExtra:       {map[string]any{"host_name": "x"}, `{"host_name":"x"}`, ""},
	}
}

// Every setting is written to the right fields, and read back as it was.
func TestSettingTables(t *testing.T) {
	tables := NewTables()
	checkTable(t, "cluster", tables.Cluster, clusterCases())
	checkTable(t, "infra-env", tables.InfraEnv, infraEnvCases())
	checkTable(t, "host", tables.Host, hostCases())
}

func checkTable[W any](t *testing.T, kind string, table Table[W], cases map[model.Setting]settingCase) {
	for _, e := range table {
		c, ok := cases[e.key]
		if !ok {
			t.Errorf("%s: %s has no test", kind, e.key)
			continue
		}
		t.Run(kind+"/"+string(e.key), func(t *testing.T) {
			want := model.ValueOf(c.value)
			if c.body != "" {
				fields := must.Get(table.Fields(model.Settings{e.key: want}))(t)
				check.Equal(t, string(must.Get(json.Marshal(fields))(t)), c.body, "body")
			}
			var wire W
			if c.wire == "" { // the service does not say
				if got, said := table.Settings(&wire)[e.key]; said {
					t.Errorf("read %s", got)
				}
				return
			}
			must.Do(t, json.Unmarshal([]byte(c.wire), &wire))
			check.Equal(t, table.Settings(&wire)[e.key], want, "read")
		})
	}
}

// An object that says nothing has no settings that it would have to say, and
// garbage in the texts is nothing said.
func TestSettingsOfNothing(t *testing.T) {
	tables := NewTables()
	cluster := slices.Sorted(maps.Keys(tables.Cluster.Settings(&Cluster{})))
	check.Same(t, []model.Setting{
		model.SettingTags, model.SettingAPIVIPs, model.SettingClusterNetworks, model.SettingMachineNetworks, model.SettingServiceNetworks,
		model.SettingIngressVIPs, model.SettingLoadBalancer, model.SettingOperators, model.SettingProxy,
	}, cluster, cmp.Transformer("sort", func(s []model.Setting) []string {
		var out []string
		for _, v := range s {
			out = append(out, string(v))
		}
		slices.Sort(out)
		return out
	}))
	var host Host
	must.Do(t, json.Unmarshal([]byte(`{"installer_args":"{","node_labels":"[]","fencing_credentials":7,"skip_formatting_disks":""}`), &host))
	for key := range tables.Host.Settings(&host) {
		if key != model.SettingRole && key != model.SettingKeepDisks {
			t.Errorf("%s out of nothing", key)
		}
	}
	if _, said := tables.InfraEnv.Settings(&InfraEnv{})[model.SettingNetworkDelay]; said {
		t.Errorf("%s out of nothing", model.SettingNetworkDelay)
	}
}

// The optional operators of a bundle are sent with it and not shown.
func TestOptionalOperatorsOfABundle(t *testing.T) {
	fields := must.Get(NewTables().Cluster.Fields(model.Settings{model.SettingBundles: model.ValueOf([]spec.Bundle{{ID: "a", Optional: []string{"x", "y"}}, {ID: "b"}})}))(t)
	got, err := json.Marshal(fields)
	if want := `{"operator_bundles":[{"id":"a","operators":["x","y"]},{"id":"b"}]}`; err != nil || string(got) != want {
		t.Errorf("got %s, want %s (%v)", got, want, err)
	}
}

func TestUnknownSettingIsRefused(t *testing.T) {
	if _, err := NewTables().Host.Fields(model.Settings{model.SettingVersion: `"4.20"`}); err == nil {
		t.Error("a host has no version")
	}
	if _, err := NewTables().Cluster.Fields(model.Settings{model.SettingControlPlane: `"three"`}); err == nil {
		t.Error("three is no number")
	}
}

func TestTags(t *testing.T) {
	text := WriteTags("2026-11-21 a/b", []string{"blue sky"})
	check.Equal(t, text, "oaictl,oaictl_run_2026_11_21_a_b,blue sky")
	owned, run, users := readTags(text, "2026-11-21 a/b")
	if !owned || run != "2026-11-21 a/b" || !slices.Equal(users, []string{"blue sky"}) {
		t.Errorf("got %v %s %v", owned, run, users)
	}
	if owned, run, _ := readTags("not oaictl, oaictl_run_x", ""); owned || run != "x" {
		t.Errorf("got %v %s", owned, run)
	}
}

func FuzzTags(f *testing.F) {
	f.Add("run", "a,b,oaictl")
	f.Add("ü-1", ",,oaictl_run_,")
	f.Fuzz(func(t *testing.T, run, tags string) {
		readTags(tags, run)
		owned, got, _ := readTags(WriteTags(run, nil), run)
		if !owned || (runMark(run) != "" && got != run) {
			t.Errorf("run %q came back as %q", run, got)
		}
		for _, r := range WriteTags(run, nil) {
			if r != ',' && r != '_' && (r < '0' || r > 'z') {
				t.Errorf("%q is not allowed in a tag", r)
			}
		}
	})
}

func FuzzInventory(f *testing.F) {
	for _, seed := range []string{"", "{}", "[]", "null", `{"cpu":{"count":"x"}}`, `{"disks":[null,{"size_bytes":1.5}]}`, `{"hostname":"host-1","interfaces":[{"mac_address":"52:54:00:00:00:01","name":"eth0","has_carrier":true}],"future":[1]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inventory := readInventory(text, "id")
		if inventory.Known && inventory.UUID != "id" {
			t.Error("the machine has no id")
		}
	})
}

func FuzzValidations(f *testing.F) {
	f.Add(`{"network":[{"id":"a","status":"failure","message":"m"}],"x":7}`)
	f.Add(`{"network":null}`)
	f.Fuzz(func(_ *testing.T, text string) { readValidations(text) })
}

func FuzzHost(f *testing.F) {
	f.Add(`{"id":"x","status":"known","ntp_sources":"[]","fencing_credentials":"{"}`)
	f.Add(`{"id":"x","status":"known","progress":null,"progress_stages":["a"],"disks_to_be_formatted":"a,b"}`)
	f.Fuzz(func(_ *testing.T, text string) {
		var wire Host
		if json.Unmarshal([]byte(text), &wire) == nil {
			tables := NewTables()
			tables.HostOf(&wire)
		}
	})
}

func TestInventory(t *testing.T) {
	got := readInventory(`{"hostname":"h","bmc_address":"0.0.0.0","bmc_v6address":"fd00::1/64","cpu":{"count":8,"architecture":"aarch64"},
		"memory":{"physical_bytes":17179869184},"system_vendor":{"serial_number":"S1","manufacturer":"M","product_name":"P"},
		"interfaces":[{"name":"eth0","mac_address":"AA:BB:CC:00:11:22","ipv4_addresses":["10.0.0.1/24"],"ipv6_addresses":["fd00::2/64"],"has_carrier":true}],
		"disks":[{"id":"d","path":"/dev/sda","by_id":"i","by_path":"p","hctl":"0:0:0:0","name":"sda","drive_type":"SSD","size_bytes":5,"holders":"dm-0,dm-1","removable":true,
		"installation_eligibility":{"eligible":false,"not_eligible_reasons":["small"]},"is_installation_media":true,"wwn":"w","serial":"s","model":"m","vendor":"v"}],
		"boot":{"current_boot_mode":"uefi"},"routes":[]}`, "uuid")
	want := model.Inventory{
		Known: true, Hostname: "h", Serial: "S1", UUID: "uuid", Manufacturer: "M", Product: "P", BMC: "fd00::1", CPUs: 8, MemoryBytes: 17179869184, Arch: "arm64",
		Interfaces: []model.Interface{{Name: "eth0", MAC: "aa:bb:cc:00:11:22", Addresses: []string{"10.0.0.1/24", "fd00::2/64"}, Up: true}},
		Disks: []model.Disk{{
			ID: "d", Path: "/dev/sda", ByID: "i", ByPath: "p", HCTL: "0:0:0:0", Name: "sda", Model: "m", Vendor: "v", Serial: "s", WWN: "w",
			Type: "SSD", SizeBytes: 5, Holders: []string{"dm-0", "dm-1"}, Removable: true, Media: true, Reasons: []string{"small"},
		}},
	}
	check.Same(t, want, got)
	if got := readInventory(`{"hostname":"h","cpu":{"count":"many"},"disks":[{"id":"d"}]}`, "x"); !got.Known || got.Hostname != "h" || len(got.Disks) != 1 {
		t.Errorf("one odd field took others with it: %+v", got)
	}
	for _, text := range []string{"", "null", "7", "[1]", "{"} {
		if readInventory(text, "x").Known {
			t.Errorf("%q is an inventory", text)
		}
	}
}

// The number of control plane machines is sent in the form that all releases of the service accept, and as a count only
// if that form cannot express it; it is read in both forms.
func TestControlPlaneOfAllReleases(t *testing.T) {
	table := NewTables().Cluster
	for count, want := range map[int]string{
		1: `{"high_availability_mode":"None"}`, 2: `{"control_plane_count":2}`, 3: `{"high_availability_mode":"Full"}`, 5: `{"control_plane_count":5}`,
	} {
		fields := must.Get(table.Fields(model.Settings{model.SettingControlPlane: model.ValueOf(count)}))(t)
		if sent, err := json.Marshal(fields); err != nil || string(sent) != want {
			t.Errorf("%d: sent %s (%v), want %s", count, sent, err, want)
		}
	}
	for shown, want := range map[string]model.Value{
		`{"high_availability_mode":"None"}`: "1", `{"high_availability_mode":"Full"}`: "3", `{"high_availability_mode":"Full","control_plane_count":5}`: "5", `{}`: "",
	} {
		var wire Cluster
		must.Do(t, json.Unmarshal([]byte(shown), &wire))
		if got := table.Settings(&wire)[model.SettingControlPlane]; got != want {
			t.Errorf("%s: read %q, want %q", shown, got, want)
		}
	}
}
