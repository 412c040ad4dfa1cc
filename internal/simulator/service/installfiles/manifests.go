package installfiles

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// addSystemManifests puts the service's own manifests beside the user's. Their names are
// the service's; what stands in them is not, but for what an installer reads.
func addSystemManifests(c *model.Cluster, roles []string) {
	add := func(name, content string) {
		c.Manifests["openshift/"+name] = model.Manifest{Content: []byte(content), System: true}
	}
	for _, role := range roles {
		add("50-"+role+"s-chrony-configuration.yaml", machineConfig(role, "50-"+role+"s-chrony-configuration"))
		add("50-"+role+"s-iscsi-nic-reapply.yaml", machineConfig(role, "50-"+role+"s-iscsi-nic-reapply"))
		if mode := encryptionManifest(c, role); mode != "" {
			add(fmt.Sprintf("99-openshift-%s-%s-encryption.yaml", role, mode), machineConfig(role, role+"-"+mode))
		}
	}
	if model.Value(c.SchedulableMasters) || model.Value(c.SchedulableMastersForced) {
		add("cluster-scheduler-02-config.yml.patch_ai_set_masters_schedulable", "- op: replace\n  path: /spec/mastersSchedulable\n  value: true\n")
	}
	if c.IsSingle() {
		add("dnsmasq-bootstrap-in-place.yaml", machineConfig(model.RoleMaster, "50-master-dnsmasq-configuration"))
	}
	addOperatorManifests(c, add)
}

// controllerManifest is what the controller in the new cluster applies for an operator
// once that is there.
type controllerManifest struct{ Name, Content string }

func addOperatorManifests(c *model.Cluster, add func(name, content string)) {
	var later []controllerManifest
	for _, o := range c.MonitoredOperators {
		if o.OperatorType != "olm" {
			continue
		}
		content := "# What the service has for " + o.Name + " stands here.\n"
		for _, name := range versions.OperatorManifests(o.Name) {
			add(name, content)
		}
		later = append(later, controllerManifest{o.Name, base64.StdEncoding.EncodeToString([]byte(content))})
	}
	if len(later) == 0 {
		return
	}
	c.Objects["custom_manifests.json"] = []byte(model.InString(later))
	add("olm_operator_manifests.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: olm-operator-manifests\n  namespace: assisted-installer\n")
}

// encryptionManifest is how the disks of a role are encrypted, in the words of its manifest.
func encryptionManifest(c *model.Cluster, role string) string {
	d := c.DiskEncryption
	if d == nil || d.EnableOn != "all" && !strings.Contains(d.EnableOn, role) {
		return ""
	}
	return strings.TrimSuffix(d.Mode, "v2")
}

func machineConfig(role, name string) string {
	return "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  labels:\n    machineconfiguration.openshift.io/role: " + role + "\n  name: " + name + "\n"
}
