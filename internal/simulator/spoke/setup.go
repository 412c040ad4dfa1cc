package spoke

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// simulated marks the ClusterVersion of a cluster that is played; its value is the cluster's id.
const simulated = "oaictl.io/simulated-cluster"

// ErrRealCluster is returned for an API server with a ClusterVersion that the simulator has not made.
var ErrRealCluster = errors.New("it is a real OpenShift cluster")

// SetUp makes the API server that of the cluster, as its installation would leave it. On
// one that is the same cluster already, it only adds what is missing of its kinds, rights
// and operators: what has become of nodes since then stays.
func (s *Spoke) SetUp(ctx context.Context) error {
	err := s.timely(ctx, s.setUp)
	if err != nil {
		return fmt.Errorf("set up the simulated cluster %s: %w", s.cluster.domain(), err)
	}
	s.logf("%s is OpenShift %s with %d nodes", s.cluster.domain(), s.cluster.Version, len(s.cluster.members())+len(s.cluster.Workers))
	return nil
}

func (s *Spoke) setUp(ctx context.Context) error {
	done, err := s.isSetUp(ctx)
	if err != nil {
		return err
	}
	if err := s.setUpKinds(ctx); err != nil {
		return err
	}
	steps := []func(context.Context) error{s.setUpNamespaces, s.setUpRights}
	if !s.config.Shared {
		steps = append(steps, s.setUpOperators)
	}
	if !done {
		steps = append(steps, s.setUpConfig, s.setUpSecrets, s.setUpPools, s.setUpNodes, s.setUpEtcd, s.setUpMachines, s.setUpVersion)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isSetUp reports whether the API server is this very cluster. A real cluster is an error.
func (s *Spoke) isSetUp(ctx context.Context) (bool, error) {
	version, err := s.objectsOf(kindClusterVersion, "").Get(ctx, "version", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for a cluster that is there: %w", err)
	case version.GetAnnotations()[simulated] == "":
		return false, ErrRealCluster
	}
	return version.GetAnnotations()[simulated] == s.cluster.ID, nil
}

// namespaceNames are those of the release that day 2 has to do with, with the Machine API or without it.
var namespaceNames = []string{
	"kube-system", "openshift-config", "openshift-config-managed", "openshift-etcd", "openshift-etcd-operator", "openshift-ingress",
	"openshift-kube-apiserver", nsMachineAPI, nsMachineConfig, "openshift-monitoring",
}

const (
	nsMachineAPI    = "openshift-machine-api"
	nsMachineConfig = "openshift-machine-config-operator"
	nsEtcd          = "openshift-etcd"
)

func (s *Spoke) setUpNamespaces(ctx context.Context) error {
	for _, name := range namespaceNames {
		if err := s.create(ctx, object{kind: kindNamespace, name: name}); err != nil {
			return err
		}
	}
	return nil
}

// bootstrapper is the ServiceAccount whose token kubelets ask for their first certificate with.
const bootstrapper = "node-bootstrapper"

// setUpRights lets kubelets do what they may. On a real cluster a node's rights come from
// the API server's node authorizer, which one for tests may be without.
func (s *Spoke) setUpRights(ctx context.Context) error {
	const csr = "system:certificates.k8s.io:certificatesigningrequests:"
	account := fields{"kind": "ServiceAccount", "name": bootstrapper, "namespace": nsMachineConfig}
	group := fields{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": nodesGroup}
	bind := func(name, role string, subject fields) object {
		return object{kind: kindClusterRoleBinding, name: name, fields: fields{
			"roleRef":  fields{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
			"subjects": []any{subject},
		}}
	}
	return s.apply(ctx,
		object{kind: kindServiceAccount, namespace: nsMachineConfig, name: bootstrapper},
		bind("system-bootstrap-node-bootstrapper", "system:node-bootstrapper", account),
		bind("system-bootstrap-node-renewal", csr+"selfnodeclient", group),
		bind("simulated-node-authorizer", "system:node", group),
	)
}

func (s *Spoke) setUpConfig(ctx context.Context) error {
	c := &s.cluster
	clusterNetworks := []any{}
	for _, n := range c.ClusterNetworks {
		clusterNetworks = append(clusterNetworks, fields{"cidr": n.CIDR, "hostPrefix": n.HostPrefix})
	}
	network := fields{"clusterNetwork": clusterNetworks, "serviceNetwork": texts(c.ServiceNetworks), "networkType": "OVNKubernetes"}
	observed := fields{"clusterNetworkMTU": 1400}
	for name, value := range network {
		observed[name] = value
	}
	return s.apply(ctx,
		object{
			kind: kindInfrastructure, name: "cluster",
			fields: fields{"spec": fields{"platformSpec": c.platformSpec()}, "status": c.infrastructure()},
		},
		object{kind: kindDNS, name: "cluster", fields: fields{"spec": fields{"baseDomain": c.domain()}}},
		object{kind: kindNetwork, name: "cluster", fields: fields{"spec": network, "status": observed}},
		object{
			kind: kindConfigMap, namespace: "kube-system", name: "cluster-config-v1",
			fields: fields{"data": fields{"install-config": c.installConfig()}},
		},
	)
}

func (c *Cluster) infrastructure() fields {
	topology := "HighlyAvailable"
	if len(c.ControlPlane) == 1 {
		topology = "SingleReplica"
	}
	workers := topology
	if len(c.Workers) == 1 {
		workers = "SingleReplica"
	} else if len(c.Workers) > 1 {
		workers = "HighlyAvailable"
	}
	return fields{
		"apiServerURL": "https://api." + c.domain() + ":6443", "apiServerInternalURI": "https://api-int." + c.domain() + ":6443",
		"controlPlaneTopology": topology, "infrastructureTopology": workers, "cpuPartitioning": "None", "etcdDiscoveryDomain": "",
		"infrastructureName": c.infraName(), "platform": string(c.Platform), "platformStatus": c.platformStatus(),
	}
}

func (c *Cluster) platformSpec() fields {
	switch c.Platform {
	case BareMetal:
		return fields{"type": string(c.Platform), "baremetal": fields{
			"apiServerInternalIPs": texts(c.APIVIPs), "ingressIPs": texts(c.IngressVIPs), "machineNetworks": texts(c.MachineNetworks),
		}}
	case External:
		return fields{"type": string(c.Platform), "external": fields{"platformName": "Unknown"}}
	}
	return fields{"type": string(c.Platform)}
}

func (c *Cluster) platformStatus() fields {
	switch c.Platform {
	case BareMetal:
		status := fields{
			"apiServerInternalIPs": texts(c.APIVIPs), "ingressIPs": texts(c.IngressVIPs), "machineNetworks": texts(c.MachineNetworks),
			"loadBalancer": fields{"type": "OpenShiftManagedDefault"},
		}
		if len(c.APIVIPs) > 0 {
			status["apiServerInternalIP"] = c.APIVIPs[0]
		}
		if len(c.IngressVIPs) > 0 {
			status["ingressIP"] = c.IngressVIPs[0]
		}
		return fields{"type": string(c.Platform), "baremetal": status}
	case External:
		return fields{"type": string(c.Platform), "external": fields{"cloudControllerManager": fields{"state": ""}}}
	}
	return fields{"type": string(c.Platform)}
}

func ready(status corev1.ConditionStatus, reason, message string, at metav1.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at,
	}
}
