package spec

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// afterHosts is where further fields of spec can be put.
const afterHosts = "  # more\n"

func TestRefusesHubFields(t *testing.T) {
	hub := func(text string) edit { return edit{afterHosts, afterHosts + "  hub: {" + text + "}\n"} }
	metal3 := edit{afterHosts, "    bmc: {address: 10.0.0.1, credentials: {file: bmc}, metal3: {bootMode: legacy}}\n" + afterHosts}
	hinted := func(hints string) edit {
		return edit{afterHosts, "    bmc: {address: 10.0.0.1, credentials: {file: bmc}}\n    disk: {hints: {" + hints + "}}\n  boot: {method: metal3}\n"}
	}
	runRefusals(t, []refusal{
		{"hint that the hub ignores", hinted(`wwnWithExtension: "0x5001b448b1a00002"`), "19:38: spec.hosts[2].disk.hints.wwnWithExtension: is not supported by the Assisted Installer, which chooses the disk here: it would be ignored"},
		{"hint beside another", hinted(`wwn: "0x5001b448b1a00002", wwnVendorExtension: "0x1"`), "spec.hosts[2].disk.hints.wwnVendorExtension: is not supported by the Assisted Installer"},
		{"link that the hub does not compare", hinted(`deviceName: /dev/disk/by-id/wwn-0x5001b448b1a00002`), "only compares it with /dev/NAME and /dev/disk/by-path/…"},
		{"spelling of a WWN", hinted(`wwn: "5001B448B1A00003"`), `write "0x5001b448b1a00003"`},
		{"label key", hub(`agentLabels: {"a b": c}`), `spec.hub.agentLabels.a b: "a b" cannot be the key of a label`},
		{"label value", hub(`nodeLabels: {a: "b c"}`), `19:25: spec.hub.nodeLabels.a: "b c" cannot be the value of a label`},
		{"label of oaictl", hub(`nodeLabels: {oaictl.io/cluster: x}`), "is a label that oaictl uses to find its objects"},
		{"iPXE", hub("ipxe: disk"), `"disk" is not known here; it is one of always, boot-order`},
		{"family", hub("ironic: {ipFamilies: [v5]}"), `spec.hub.ironic.ipFamilies[0]: "v5" is not known here`},
		{"families", hub("ironic: {ipFamilies: [v4, v4]}"), "v4 appears here twice"},
		{"image", hub(`ironic: {image: "https://a"}`), "spec.hub.ironic.image: is not the reference of an image"},
		{"no label", hub("classifications: [{value: a, query: .cpu}]"), "spec.hub.classifications[0].label: is missing"},
		{"label with a domain", hub("classifications: [{label: a/b, value: a, query: .cpu}]"), "without a domain: the hub adds its own"},
		{"no value", hub("classifications: [{label: a, query: .cpu}]"), "spec.hub.classifications[0].value: is missing"},
		{"no query", hub("classifications: [{label: a, value: b}]"), "spec.hub.classifications[0].query: is missing"},
		{"reserved value", hub("classifications: [{label: a, value: QUERYERROR-a, query: .cpu}]"), "begins with QUERYERROR"},
		{"twice", hub("classifications: [{label: a, value: b, query: .cpu}, {label: A, value: b, query: .memory}]"), "spec.hub.classifications[1]: A with the value b appears twice here"},
		{"pool", edit{afterHosts, afterHosts + "  infraEnv: {ref: pool}\n  hub: {ipxe: always}\n"}, "spec.hub.ipxe: is a matter of the InfraEnv pool"},
		{"version of a pool's image", edit{afterHosts, afterHosts + "  infraEnv: {ref: pool}\n  discovery: {osVersion: \"4.21\"}\n"}, "spec.discovery.osVersion: is a matter of the InfraEnv pool"},
		{"version of the image", edit{afterHosts, afterHosts + "  discovery: {osVersion: new}\n"}, `spec.discovery.osVersion: "new" is not a version of OpenShift`},
		{"metal3 with another method", metal3, "spec.hosts[2].bmc.metal3: needs boot.method metal3, but the method is iso"},
		{"drained without end", append(append(edit{}, metal3...), "bootMode: legacy", "drainTimeout: 5m", afterHosts, afterHosts+"  boot: {method: metal3}\n"), "removeNode is not true"},
		{"firmware", append(append(edit{}, metal3...), "legacy", "bios", afterHosts, afterHosts+"  boot: {method: metal3}\n"), `"bios" is not known here; it is one of UEFI, UEFISecureBoot, legacy`},
	}, map[string]string{"bmc": "root:calvin"})
}

// imported is a cluster that is installed already, to which a host is added.
const imported = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {file: pull-secret.json}
  import: {kubeconfig: {file: kubeconfig}, clusterID: 11111111-2222-3333-4444-555555555555}
  network: {defaults: {gateway: 192.168.10.1, dns: [192.168.10.1]}}
  hosts:
  - {name: w-0, match: {mac: "52:54:00:00:00:01"}, net: {ip: 192.168.10.20/24}}
  - {name: w-1, role: worker, match: {mac: "52:54:00:00:00:02"}}
`

func TestImportedCluster(t *testing.T) {
	files := map[string]string{"bmc": "root:calvin", "kubeconfig": "apiVersion: v1\nkind: Config\n"}
	c := must.Get(parse(t, imported, files))(t)
	if c.ControlPlaneCount() != 0 || c.WorkerCount() != 2 || c.SingleNode() || c.Spec.Import.Kubeconfig.Secret().IsZero() {
		t.Errorf("%d control plane machines, %d workers, single node: %v", c.ControlPlaneCount(), c.WorkerCount(), c.SingleNode())
	}
	for name, test := range map[string]struct {
		edit edit
		want string
	}{
		"an id that is none":    {edit{"11111111-2222", "11111111"}, "8:55: spec.import.clusterID"},
		"how it was installed":  {edit{"{defaults:", "{machine: [192.168.10.0/24], defaults:"}, "9:13: spec.network.machine: says how a cluster is installed, but this one is installed already"},
		"operators":             {edit{"  hosts:", "  operators: [{name: lvm}]\n  hosts:"}, "10:3: spec.operators: says how"},
		"fencing":               {edit{"role: worker", "fencing: {address: 10.0.0.1, credentials: {file: bmc}}"}, "spec.hosts[1].fencing"},
		"no hosts":              {edit{imported[strings.Index(imported, "  hosts:"):], ""}, "there is nothing to add"},
		"a kubeconfig in place": {edit{"{file: kubeconfig}", "kubeconfig"}, "a secret must not be in the file itself"},
		"nowhere":               {edit{"{file: kubeconfig}", "{}"}, "has no source"},
	} {
		_, err := parse(t, test.edit.apply(t, imported), files)
		check.Says(t, err, test.want, name)
	}
}

// TestHintsOfOaictl: where oaictl chooses the disk, or may, it reads all hints in each spelling.
func TestHintsOfOaictl(t *testing.T) {
	for _, hints := range []string{`wwnWithExtension: "0x5001b448b1a00002"`, `wwn: "5001B448B1A00003"`, `deviceName: /dev/disk/by-id/a`} {
		text := strings.Replace(imported, "net: {ip: 192.168.10.20/24}", "disk: {hints: {"+hints+"}}", 1)
		check.Do(t, check.Err(parse(t, text, map[string]string{"kubeconfig": "apiVersion: v1\nkind: Config\n"})), hints)
	}
}
