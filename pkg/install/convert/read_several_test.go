package convert_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// several is a cluster on a hub whose machines boot two images and are bound
// later.
const several = `
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: mix, namespace: mix}
spec:
  baseDomain: example.com
  clusterName: mix
  clusterInstallRef: {group: extensions.hive.openshift.io, kind: AgentClusterInstall, name: mix, version: v1beta1}
  platform: {agentBareMetal: {agentSelector: {}}}
  pullSecretRef: {name: pull}
---
apiVersion: extensions.hive.openshift.io/v1beta1
kind: AgentClusterInstall
metadata: {name: mix, namespace: mix}
spec:
  clusterDeploymentRef: {name: mix}
  imageSetRef: {name: openshift-v4.20.1-multi}
  apiVIPs: [10.0.0.5]
  ingressVIPs: [10.0.0.6]
  networking: {machineNetwork: [{cidr: 10.0.0.0/24}]}
  provisionRequirements: {controlPlaneAgents: 3, workerAgents: 1}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata: {name: x86, namespace: mix}
spec:
  pullSecretRef: {name: pull}
  cpuArchitecture: x86_64
  additionalNTPSources: [10.0.0.1]
  nmStateConfigLabelSelector: {matchLabels: {env: x86}}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata: {name: arm, namespace: mix}
spec:
  pullSecretRef: {name: pull}
  cpuArchitecture: aarch64
  additionalNTPSources: [10.0.0.2]
  nmStateConfigLabelSelector: {matchLabels: {env: arm}}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: mix-worker, namespace: mix, labels: {env: arm}}
spec:
  interfaces: [{name: eth0, macAddress: "52:54:00:00:00:09"}]
  config: {interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: Agent
metadata: {name: 5d8ab4a1-04c4-4c1e-8b2c-6b8c6e0d5a11, namespace: mix}
spec: {approved: true, role: worker, hostname: arm-0, installation_disk_path: /dev/sda, clusterDeploymentName: {name: mix, namespace: mix}}
status: {inventory: {interfaces: [{macAddress: "52:54:00:00:00:09"}]}}
`

func TestReadSeveralInfraEnvs(t *testing.T) {
	c := must.Get(convert.Read(t.Context(), "-", convert.Options{Data: []byte(several), AcceptUnknownHosts: true}))(t)
	cluster := load(t, c)
	host := cluster.Host("worker")
	if host == nil {
		t.Fatalf("the host is not there:\n%s", c.Document)
	}
	for what, ok := range map[string]bool{
		"architecture of the cluster": cluster.Spec.OpenShift.Arch == spec.Multi,
		"architecture of the host":    host.Arch == spec.ARM,
		"binding":                     cluster.Spec.InfraEnv.Bind == spec.BindLate,
		"version":                     cluster.Spec.OpenShift.Version == "4.20.1-multi",
		"role":                        host.Role == spec.Worker,
		"hostname":                    host.Hostname == "arm-0",
		"id":                          host.Match.UUID == "5d8ab4a1-04c4-4c1e-8b2c-6b8c6e0d5a11",
		"disk":                        host.Disk.Hints.DeviceName == "/dev/sda",
	} {
		if !ok {
			t.Errorf("%s:\n%s", what, c.Document)
		}
	}
	if len(c.Losses) != 1 || c.Losses[0].Path != "InfraEnv/arm:spec.additionalNTPSources" {
		t.Errorf("lost: %+v", c.Losses)
	}
}
