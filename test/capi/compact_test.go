package capi

import (
	"fmt"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

const compact = `apiVersion: v1
kind: Secret
metadata: {name: pull}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"quay.io":{"auth":"dTpw"}}}'}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: lab}
spec:
  clusterNetwork:
    pods: {cidrBlocks: [10.128.0.0/14]}
    services: {cidrBlocks: [172.30.0.0/16]}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: OpenshiftAssistedControlPlane, name: lab}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: lab}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3Cluster
metadata: {name: lab}
spec:
  controlPlaneEndpoint: {host: 192.168.127.100, port: 6443}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata: {name: lab-control-plane}
spec:
  template:
    spec:
      image: {url: "http://images.example.com/rhcos.qcow2", checksum: "http://images.example.com/rhcos.qcow2.sha256", checksumType: sha256, format: qcow2}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: OpenshiftAssistedControlPlane
metadata: {name: lab}
spec:
  replicas: 3
  distributionVersion: "4.20.33"
  config:
    baseDomain: example.com
    apiVIPs: [192.168.127.100]
    ingressVIPs: [192.168.127.101]
    pullSecretRef: {name: pull}
    sshAuthorizedKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFX/z0ah+fbuI7LXW5tFC4gxw1DoQCnu9xhS4IRmywpu me@example.com
  openshiftAssistedConfigSpec:
    pullSecretRef: {name: pull}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: lab-control-plane}
`

// TestCompact takes a cluster of three machines from its manifests to Available.
func TestCompact(t *testing.T) {
	r := newRig(t, 3)
	r.apply(compact)
	r.until("the cluster", 3*time.Minute, func() (bool, string) {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{}
		if !r.get("lab", plane) {
			return false, "no control plane"
		}
		cluster := &clusterv1.Cluster{}
		r.get("lab", cluster)
		return conditions.IsTrue(cluster, clusterv1.ClusterAvailableCondition), fmt.Sprintf("%s %s; %s", plane.Status.Installation.State, conditions.GetMessage(plane, clusterv1.AvailableCondition), cluster.Status.Phase)
	})
}
