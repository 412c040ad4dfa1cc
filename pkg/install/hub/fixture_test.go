package hub

import (
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterText is a cluster; %s is its name.
const clusterText = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 3, workers: 1}
  network:
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    defaults: {ntp: [ntp.example.com]}
  proxy: {http: "http://proxy.example.com:3128", no: [.example.com]}
  fips: true
  hyperthreading: [control-plane]
  diskEncryption: {mode: tpm}
  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
  discovery: {kernelArgs: [console=ttyS0], networkDelay: 30s}
  ignitionEndpoint: {url: "https://api-int.example.com:22623/config"}
  ignoreValidations: {hosts: [ntp-synced]}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}, labels: {rack: a}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:01"}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
  - {name: w-0, role: worker, match: {mac: "52:54:00:00:00:03"}}
`

func parseCluster(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	values := map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dTpw"}}}`, "BMC": "admin:secret"}
	return must.Get(spec.Parse(t.Context(), filepath.Join(t.TempDir(), "cluster.yaml"), []byte(text), spec.Env{
		LookupEnv: func(name string) (string, bool) { v, set := values[name]; return v, set },
	}))(t)
}

func object(version, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func conditionOf(kind, status, reason string) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": reason, "lastTransitionTime": now, "lastProbeTime": now}
}

// agentWith is an Agent as it is after cp-0 was configured.
func agentWith(condition map[string]any) *unstructured.Unstructured {
	u := object("agent-install.openshift.io/v1beta1", "Agent", "lab", "00000000-0000-0000-0000-000000000000", map[string]any{
		"spec": map[string]any{"approved": true, "role": "master", "hostname": "cp-0", "clusterDeploymentName": map[string]any{"name": "lab", "namespace": "lab"}},
		"status": map[string]any{
			"role": "master", "kind": "Host", "conditions": []any{condition}, "debugInfo": map[string]any{"state": "known", "stateInfo": "known"},
			"inventory": map[string]any{"hostname": "cp-0", "interfaces": []any{map[string]any{"name": "eth0", "macAddress": "52:54:00:00:00:00", "ipV4Addresses": []any{}, "ipV6Addresses": []any{}, "flags": []any{}}}, "disks": []any{}},
		},
	})
	u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": "lab"})
	u.SetResourceVersion("1")
	return u
}
