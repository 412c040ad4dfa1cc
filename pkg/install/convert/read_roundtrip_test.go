package convert_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// meaning is a cluster in a form in which two descriptions of the same are equal:
// what the service is asked for, rather than how the file says it.
func meaning(t *testing.T, c *spec.Cluster) map[string]any {
	t.Helper()
	s := c.Spec
	overrides, err := c.InstallConfigOverrides()
	if err != nil {
		t.Fatal(err)
	}
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{
		"name": c.Metadata.Name, "tags": c.Metadata.Tags, "domain": s.BaseDomain,
		"version": s.OpenShift.Version, "releaseImage": s.OpenShift.ReleaseImage, "imageSet": s.OpenShift.ImageSet, "arch": s.OpenShift.Arch,
		"pullSecret": digest(c.PullSecret().Reveal()), "sshKey": c.SSHKey(), "trust": c.TrustBundle(), "mirrors": c.RegistriesConf(),
		"machines": []int{c.ControlPlaneCount(), c.WorkerCount(), c.ArbiterCount()}, "fencing": s.Topology.Fencing,
		"machineNetwork": s.Network.Machine, "clusterNetwork": s.Network.Cluster, "serviceNetwork": s.Network.Service, "networkType": s.Network.Type,
		"vips": s.Network.VIPs, "balancer": s.Network.LoadBalancer, "ntp": s.Network.NTP, "addedNTP": s.Network.Defaults.NTP,
		"platform": s.Platform, "proxy": []string{s.Proxy.HTTP.Reveal(), s.Proxy.HTTPS.Reveal(), strings.Join(s.Proxy.No, ",")},
		"encryption": s.DiskEncryption, "hyperthreading": s.Hyperthreading, "schedulable": s.SchedulableControlPlane,
		"overrides": decoded(t, overrides), "ignition": decoded(t, ignition), "kernelArgs": s.Discovery.KernelArgs, "delay": s.Discovery.NetworkDelay.String(),
		"image": s.Boot.Image, "method": s.Boot.Method, "bind": s.InfraEnv.Bind, "hold": s.Hold, "operators": s.Operators, "ignored": s.IgnoreValidations,
	}
	for _, m := range c.ManifestFiles() {
		all["manifest "+string(m.Folder)+"/"+m.Name] = m.Content
	}
	for i := range s.Hosts {
		h := &s.Hosts[i]
		network, macs, _ := c.StaticNetwork(h)
		ignition, err := h.Ignition.JSON()
		if err != nil {
			t.Fatal(err)
		}
		host := map[string]any{
			"role": h.Role, "hostname": h.Hostname, "match": h.Match, "hints": h.Disk.Hints, "arch": h.Arch, "labels": h.Labels, "pool": h.MachineConfigPool,
			"installerArgs": h.InstallerArgs, "ignition": decoded(t, ignition), "network": network != "", "nics": macs,
		}
		if h.BMC != nil {
			user, password, _ := h.BMC.Credentials.Login()
			host["bmc"] = []any{user, digest(password.Reveal()), h.BMC.Insecure}
		}
		all["host "+h.Name] = host
	}
	return all
}

// digest is shown in place of a secret.
func digest(secret string) string { return strings.Repeat("*", len(secret)) }

func decoded(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// differences are the keys in which two clusters mean something else.
func differences(t *testing.T, a, b *spec.Cluster) map[string]string {
	t.Helper()
	x, y := meaning(t, a), meaning(t, b)
	found := map[string]string{}
	for key := range x {
		if diff := cmp.Diff(x[key], y[key]); diff != "" {
			found[key] = diff
		}
	}
	for key := range y {
		if _, both := x[key]; !both {
			found[key] = "only there afterwards"
		}
	}
	return found
}

// TestRoundTripHub renders every example as objects of a hub and reads it back:
// nothing is lost, and nothing else is meant. Objects that no BareMetalHost goes
// with say nothing of a host but its network.
func TestRoundTripHub(t *testing.T) {
	for _, name := range sample.Examples(t) {
		t.Run(name, func(t *testing.T) {
			before := sample.Example(t, name)
			objects, err := render.Hub(before, render.Options{Secrets: true})
			if err != nil {
				t.Skipf("a hub cannot say it: %v", err)
			}
			var out bytes.Buffer
			if err := objects.WriteYAML(&out); err != nil {
				t.Fatal(err)
			}
			c, err := convert.Read(t.Context(), "hub.yaml", convert.Options{Data: out.Bytes(), AcceptUnknownHosts: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, loss := range c.Losses {
				t.Errorf("lost: %+v", loss)
			}
			for key, diff := range differences(t, before, load(t, c)) {
				// The hub says of hosts only what it has to know before they are there.
				if strings.HasPrefix(key, "host ") || key == "method" {
					continue
				}
				t.Errorf("%s:\n%s", key, diff)
			}
		})
	}
}

// TestRoundTripMachines has the hub boot the machines of an example: what is said
// of each stands on its BareMetalHost, and comes back.
func TestRoundTripMachines(t *testing.T) {
	before := sample.Example(t, "redfish")
	before.Spec.Boot.Method = spec.BootMetal3
	for i := range before.Spec.Hosts {
		h := &before.Spec.Hosts[i]
		if !strings.Contains(h.BMC.Address, "/redfish/") {
			h.BMC.System = "1"
		}
		h.Labels = map[string]string{"rack": "7", "example.com/room": "a"}
		h.InstallerArgs = []string{"--append-karg", "ip=dhcp"}
	}
	objects, err := render.Hub(before, render.Options{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := objects.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	c, err := convert.Read(t.Context(), "hub.yaml", convert.Options{Data: out.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Losses) > 0 {
		t.Errorf("lost: %+v", c.Losses)
	}
	for key, diff := range differences(t, before, load(t, c)) {
		t.Errorf("%s:\n%s", key, diff)
	}
}

// writeAs writes a cluster in a format below dir.
func writeAs(t *testing.T, format convert.Format, c *spec.Cluster, dir string, o convert.Options) ([]convert.Loss, error) {
	t.Helper()
	files, lost, err := convert.Write(c, format, o)
	if err == nil {
		err = convert.WriteFiles(dir, files)
	}
	return lost, err
}

// TestRoundTripFiles writes every example for the agent-based installer and as
// ClusterInstance, and reads it back: what differs is what the writers have told.
func TestRoundTripFiles(t *testing.T) {
	secrets := convert.Options{Secrets: true}
	for _, name := range sample.Examples(t) {
		for _, format := range []convert.Format{convert.FormatAgent, convert.FormatZTP, convert.FormatClusterInstance} {
			t.Run(name+"/"+string(format), func(t *testing.T) {
				before := sample.Example(t, name)
				dir := filepath.Join(t.TempDir(), "out")
				lost, err := writeAs(t, format, before, dir, secrets)
				if err != nil {
					t.Fatal(err)
				}
				c, err := convert.Read(t.Context(), dir, convert.Options{Version: before.Spec.OpenShift.Version})
				if err != nil {
					t.Fatalf("%v\n%s", err, tree(t, dir))
				}
				if c.Format != format {
					t.Errorf("it was read as %s", c.Format)
				}
				for _, loss := range c.Losses {
					t.Errorf("reading lost %+v", loss)
				}
				after := load(t, c)
				delete(after.Spec.Overrides.InstallConfig, "additionalTrustBundlePolicy") // the writer says what the service does anyway
				for key, diff := range differences(t, before, after) {
					if !told(key, lost) {
						t.Errorf("%s:\n%s\ntold: %v", key, diff, paths(lost))
					}
				}
			})
		}
	}
}

// told reports whether the writer has reported a difference.
func told(key string, lost []convert.Loss) bool {
	field := map[string]string{
		"version": "spec.openshift", "releaseImage": "spec.openshift", "imageSet": "spec.openshift", "arch": "spec.openshift.arch",
		"addedNTP": "spec.network.ntp", "ntp": "spec.network.ntp", "image": "spec.boot", "method": "spec.boot", "tags": "metadata.tags",
		"mirrors": "spec.registry", "trust": "spec.registry", "ignition": "spec.discovery", "kernelArgs": "spec.discovery", "delay": "spec.discovery",
		"encryption": "spec.diskEncryption", "schedulable": "spec.schedulableControlPlane", "operators": "spec.operators", "hold": "spec.hold",
		"ignored": "spec.ignoreValidations", "hyperthreading": "spec.hyperthreading", "balancer": "spec.network.loadBalancer", "bind": "spec.infraEnv",
	}[key]
	switch {
	case strings.HasPrefix(key, "host "):
		field = "spec.hosts"
	case strings.HasPrefix(key, "manifest "):
		field = "spec.manifests"
	}
	return field != "" && slices.ContainsFunc(lost, func(l convert.Loss) bool { return strings.HasPrefix(l.Path, field) })
}

func paths(lost []convert.Loss) []string {
	var list []string
	for _, l := range lost {
		list = append(list, l.Path)
	}
	return list
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("--- " + file + "\n" + string(data))
	}
	return out.String()
}
