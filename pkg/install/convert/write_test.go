package convert_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// formats are the writers, each as one text: files, then losses.
func formats() map[string]func(*testing.T, *spec.Cluster, convert.Options) (string, []convert.Loss) {
	ofFiles := func(format convert.Format) func(*testing.T, *spec.Cluster, convert.Options) (string, []convert.Loss) {
		return func(t *testing.T, c *spec.Cluster, o convert.Options) (string, []convert.Loss) {
			t.Helper()
			files, lost, err := convert.Write(c, format, o)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, file := range files {
				mark := ""
				if file.Secret {
					mark = " (secret)"
				}
				fmt.Fprintf(&out, "-- %s%s --\n%s", file.Path, mark, file.Content)
				if !strings.HasSuffix(string(file.Content), "\n") {
					out.WriteString("\n")
				}
			}
			return out.String(), lost
		}
	}
	return map[string]func(*testing.T, *spec.Cluster, convert.Options) (string, []convert.Loss){
		"ztp":   ofFiles(convert.FormatZTP),
		"agent": ofFiles(convert.FormatAgent),
		"clusterinstance": func(t *testing.T, c *spec.Cluster, o convert.Options) (string, []convert.Loss) {
			t.Helper()
			files, lost, err := convert.Write(c, convert.FormatClusterInstance, o)
			if err != nil {
				t.Fatal(err)
			}
			return string(files[0].Content), lost
		},
	}
}

// TestFormats compares what every example, and every field, becomes in every
// format, and what is lost.
func TestFormats(t *testing.T) {
	for format, write := range formats() {
		for name, load := range sample.All(t) {
			t.Run(format+"/"+name, func(t *testing.T) {
				text, lost := write(t, load(), convert.Options{Secrets: true})
				report := must.Get(json.MarshalIndent(lost, "", "  "))(t)
				text += "-- losses --\n" + string(report) + "\n"
				sample.Golden(t, *update, format+"/"+name+".txt", text)
				if again, _ := write(t, load(), convert.Options{Secrets: true}); !strings.HasPrefix(text, again) {
					t.Error("the second run wrote something else")
				}
			})
		}
	}
}

// TestFormatsKeepSecrets: unasked, no format has a secret, and each is told as
// lost; asked, the report still has none.
func TestFormatsKeepSecrets(t *testing.T) {
	for format, write := range formats() {
		for _, asked := range []bool{false, true} {
			text, lost := write(t, sample.Parse(t, sample.EveryField()), convert.Options{Secrets: asked})
			report := must.Get(json.Marshal(lost))(t)
			if !asked {
				report = append(report, text...)
				if !slices.ContainsFunc(lost, func(l convert.Loss) bool { return l.Path == "spec.pullSecret" }) {
					t.Errorf("%s: the pull secret is not told of", format)
				}
			}
			for _, secret := range []string{"calvin", "t0ken", "dXNlcjpwYXNz", "user:pass", `{"auths`} {
				for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
					if strings.Contains(string(report), strings.TrimRight(form, "=")) {
						t.Errorf("%s, asked %v: %s can be read", format, asked, secret)
					}
				}
			}
		}
	}
}

// lostBy is what a format has no place for.
func lostBy(format string) map[string]string {
	if format == "clusterinstance" {
		return fields.Lost("writers", format)
	}
	return fields.Lost("writers", "agent-based", format)
}

// carried are the fields that each format has a place for.
func carried() map[string][]string {
	identity := []string{"spec.import", // refused
		"apiVersion", "kind", "metadata.name", "spec.baseDomain", "spec.pullSecret", "spec.sshKeys"}
	network := []string{
		"spec.network.type", "spec.network.machine", "spec.network.cluster", "spec.network.service", "spec.network.vips",
		"spec.network.userManaged", // by the platform, or as it is
		"spec.network.mtu", "spec.network.ntp", "spec.network.defaults", "spec.platform", "spec.proxy", "spec.fips",
		"spec.registry", "spec.manifests", "spec.overrides.installConfig", "spec.topology.controlPlane", "spec.topology.workers", "spec.topology.arbiters",
	}
	hosts := []string{"spec.hosts.name", "spec.hosts.role", "spec.hosts.match.mac", "spec.hosts.disk.hints", "spec.hosts.net", "spec.hosts.arch", "spec.hosts.hostname"}
	fencing := []string{"spec.topology.fencing", "spec.hosts.fencing"}
	shared := slices.Concat(identity, network, hosts)
	return map[string][]string{
		"ztp": slices.Concat(shared, fencing, []string{
			"metadata.tags", "spec.openshift", "spec.network.loadBalancer", "spec.diskEncryption", "spec.hyperthreading", "spec.schedulableControlPlane", "spec.operators", "spec.discovery",
		}),
		"agent": slices.Concat(shared, fencing, []string{"spec.openshift.arch", "spec.network.loadBalancer", "spec.hyperthreading", "spec.boot.image", "spec.hosts.bmc"}),
		"clusterinstance": slices.Concat(shared, []string{
			"metadata.tags", "spec.openshift", "spec.diskEncryption", "spec.hold", "spec.discovery.ignition", "spec.ignoreValidations",
			"spec.hub.nodeLabels", "spec.hub.ironic", "spec.hub.classifications", "spec.hosts.bmc", "spec.hosts.labels", "spec.hosts.machineConfigPool", "spec.hosts.installerArgs", "spec.hosts.ignition",
		}),
	}
}

// TestEveryFieldIsCarriedOrLost: a field is in the list of its format, or in the
// report on a file that says something in it.
func TestEveryFieldIsCarriedOrLost(t *testing.T) {
	for format, fields := range carried() {
		table := map[string]bool{}
		for _, field := range fields {
			table[field] = true
		}
		for field := range lostBy(format) {
			if table[field] {
				t.Errorf("%s: %s is carried, and lost", format, field)
			}
			table[field] = true
		}
		used := map[string]bool{}
		for _, field := range sample.Fields() {
			owner := sample.OwnerOf(table, field)
			if owner == "" {
				t.Errorf("%s: nothing becomes of %s", format, field)
			}
			used[owner] = true
		}
		for field := range table {
			if !used[field] {
				t.Errorf("%s: there is no field %s", format, field)
			}
		}
	}
}

// TestLossesAreTold: what a format has no place for is in the report with its
// path, its value and why.
func TestLossesAreTold(t *testing.T) {
	want := map[string]map[string]any{
		"ztp": {
			"spec.hosts[1].labels": map[string]any{"rack": "a", "node-role.kubernetes.io/infra": ""}, "spec.topology.required": map[string]any{"workers": float64(0), "within": "1h0m0s"},
			"spec.hold": true, "spec.hosts[2].arch": "arm64", "spec.ignitionEndpoint": map[string]any{"url": "https://api-int.lab.example.com:22623/config", "ca": map[string]any{"env": "CA"}},
		},
		"agent":           {"spec.discovery": map[string]any{"kernelArgs": []any{"console=ttyS0"}, "ignition": map[string]any{"ignition": map[string]any{"version": "3.2.0"}}, "networkDelay": "30s", "osVersion": "4.21"}, "metadata.tags": []any{"blue"}},
		"clusterinstance": {"spec.hyperthreading": []any{"control-plane", "arbiter"}, "spec.hosts[3].bmc": nil},
	}
	for format, write := range formats() {
		_, lost := write(t, sample.Parse(t, sample.EveryField()), convert.Options{Secrets: true})
		data := must.Get(json.Marshal(lost))(t)
		var report []convert.Loss
		must.Do(t, json.Unmarshal(data, &report))
		for path, value := range want[format] {
			i := slices.IndexFunc(report, func(l convert.Loss) bool { return l.Path == path })
			if i < 0 || report[i].Why == "" {
				t.Errorf("%s: %s is not told of", format, path)
			} else if diff := cmp.Diff(value, report[i].Value); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", format, path, diff)
			}
		}
	}
}

// TestClusterInstanceTellsOfReleaseImage: it names a ClusterImageSet, and has no
// place for an image beside it.
func TestClusterInstanceTellsOfReleaseImage(t *testing.T) {
	c := sample.Parse(t, sample.EveryField())
	c.Spec.OpenShift.ImageSet, c.Spec.OpenShift.ReleaseImage = "stable", "quay.io/a/ocp-release:4.20.1"
	_, lost, err := convert.Write(c, convert.FormatClusterInstance, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(paths(lost), "spec.openshift.releaseImage") {
		t.Errorf("lost %v", paths(lost))
	}
}

// TestFormatsRefuseAnImportedCluster: they describe clusters that are to be
// installed.
func TestFormatsRefuseAnImportedCluster(t *testing.T) {
	c := sample.Parse(t, sample.Imported)
	_, _, ztp := convert.Write(c, convert.FormatZTP, convert.Options{})
	_, _, agent := convert.Write(c, convert.FormatAgent, convert.Options{})
	_, _, instance := convert.Write(c, convert.FormatClusterInstance, convert.Options{})
	for format, err := range map[string]error{"ztp": ztp, "agent": agent, "clusterinstance": instance} {
		check.Says(t, err, "cluster.yaml:8:3: spec.import: is a cluster that is installed already", format)
	}
}

// TestFormatsRefuseNodes: no cluster can be made of hosts for one.
// TestFormatsRefuseHints: what is written is read by the service, which chooses the disk by it. A hint that it
// ignores, or that no disk fits, is refused with its place.
func TestFormatsRefuseHints(t *testing.T) {
	for hints, want := range map[string]string{
		`wwnWithExtension: "0x5001b448b1a00002"`: "9:89: spec.hosts[0].disk.hints.wwnWithExtension: is not supported by the Assisted Installer",
		`wwn: "5001B448B1A00003"`:                `spec.hosts[0].disk.hints.wwn: "5001B448B1A00003" matches no disk`,
		`deviceName: /dev/disk/by-id/a`:          `spec.hosts[0].disk.hints.deviceName: "/dev/disk/by-id/a" matches no disk`,
	} {
		c := sample.Parse(t, `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24]}
  hosts: [{name: a, match: {mac: "52:54:00:00:00:00"}, disk: {hints: {`+hints+`}}}]
`)
		for _, format := range []convert.Format{convert.FormatAgent, convert.FormatZTP, convert.FormatClusterInstance} {
			if _, _, err := convert.Write(c, format, convert.Options{Secrets: true}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", format, err, want)
			}
		}
	}
}

func TestFormatsRefuseNodes(t *testing.T) {
	const text = "apiVersion: oaictl.io/v1alpha1\nkind: Nodes\nspec:\n  cluster: lab\n  hosts: [{name: w-5, match: {mac: \"52:54:00:00:00:15\"}}]\n"
	c := must.Get(spec.Parse(t.Context(), "nodes.yaml", []byte(text), spec.Env{Nodes: true}))(t)
	for _, format := range []convert.Format{convert.FormatZTP, convert.FormatAgent, convert.FormatClusterInstance} {
		if _, _, err := convert.Write(c, format, convert.Options{}); err == nil || !strings.Contains(err.Error(), "nodes.yaml:2:7: kind: is Nodes, and this format describes a cluster that is to be installed") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestFormatsLoseNodes: what is of the node that a machine becomes is told by its place.
func TestFormatsLoseNodes(t *testing.T) {
	text := strings.Replace(sample.EveryField(), "role: arbiter,", `role: arbiter, taints: [{key: slow, effect: NoExecute}], addresses: [192.168.127.77], providerID: "metal3://a/b",`, 1)
	for format, write := range formats() {
		_, lost := write(t, sample.Parse(t, text), convert.Options{Secrets: true})
		for path, value := range map[string]any{
			"spec.hosts[2].taints": []any{map[string]any{"key": "slow", "effect": "NoExecute"}}, "spec.hosts[2].addresses": []any{"192.168.127.77"}, "spec.hosts[2].providerID": "metal3://a/b",
		} {
			i := slices.IndexFunc(lost, func(l convert.Loss) bool { return l.Path == path })
			if i < 0 || !strings.Contains(lost[i].Why, "no format of installs speaks of nodes") {
				t.Errorf("%s: %s is not told of", format, path)
			} else if diff := cmp.Diff(value, lost[i].Value); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", format, path, diff)
			}
		}
	}
}

// TestWriteFiles: secrets are their owner's alone, nothing is left half done,
// and nothing that stands there is mixed with what is written.
func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	files, _, err := convert.Write(sample.Parse(t, sample.EveryField()), convert.FormatZTP, convert.Options{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, convert.WriteFiles(dir, files))
	for name, mode := range map[string]os.FileMode{"cluster-manifests/pull-secret.yaml": 0o600, "cluster-manifests/infraenv.yaml": 0o600, "openshift/50-x.yaml": 0o600, "cluster-manifests/cluster-deployment.yaml": 0o644, "hostconfig/cp-0/role": 0o644} {
		check.Equal(t, must.Get(os.Stat(filepath.Join(dir, name)))(t).Mode().Perm(), mode, name)
	}
	if left, err := filepath.Glob(dir + "/*/.new-*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	check.Says(t, convert.WriteFiles(dir, files), "not empty", "written over others")
	blocked := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(blocked, nil, 0o600))
	check.Says(t, convert.WriteFiles(blocked, files), blocked, "a file was taken for a folder")
}
