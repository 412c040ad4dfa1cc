package spoke

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// simulated marks the ClusterVersion of a cluster that is played; its value is the cluster's id.
const simulated = "oaictl.io/simulated-cluster"

// ErrRealCluster is returned for an API server that has a ClusterVersion which nobody here has made.
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
	steps := []func(context.Context) error{s.setUpNamespaces, s.setUpRights, s.setUpOperators}
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
	version, err := s.of(kindClusterVersion, "").Get(ctx, "version", metav1.GetOptions{})
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

// setUpConfig makes what the cluster says of itself.
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
		object{kind: kindInfrastructure, name: "cluster", fields: fields{"spec": fields{"platformSpec": c.platformSpec()}, "status": c.infrastructure()}},
		object{kind: kindDNS, name: "cluster", fields: fields{"spec": fields{"baseDomain": c.domain()}}},
		object{kind: kindNetwork, name: "cluster", fields: fields{"spec": network, "status": observed}},
		object{kind: kindConfigMap, namespace: "kube-system", name: "cluster-config-v1", fields: fields{"data": fields{"install-config": c.installConfig()}}},
	)
}

// infrastructure is the status of the cluster's Infrastructure.
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

// setUpVersion makes the ClusterVersion. It is the last thing that is made, and tells that all is there.
func (s *Spoke) setUpVersion(ctx context.Context) error {
	c, now := &s.cluster, metav1.NewTime(s.clock.Now())
	capabilities := []string{"CSISnapshot", "Console", "Ingress", "Insights", "MachineAPI", "NodeTuning", "OperatorLifecycleManager", "Storage", "baremetal", "marketplace", "openshift-samples"}
	enabled := capabilities
	if !c.MachineAPI {
		enabled = slices.DeleteFunc(slices.Clone(capabilities), func(name string) bool { return name == "MachineAPI" || name == "baremetal" })
	}
	image := "quay.io/openshift-release-dev/ocp-release@sha256:" + digest(c.Version) + digest(c.Version+c.Arch)
	release := fields{"version": c.Version, "image": image}
	return s.apply(ctx, object{
		kind: kindClusterVersion, name: "version", annotations: map[string]string{simulated: c.ID},
		fields: fields{
			"spec": fields{"clusterID": c.ID, "channel": "stable-" + versionMinor(c.Version)},
			"status": fields{
				"capabilities": fields{"enabledCapabilities": texts(enabled), "knownCapabilities": texts(capabilities)},
				"desired":      release, "observedGeneration": 1, "versionHash": digest(c.Version)[:11] + "=",
				"history": []any{fields{
					"state": "Completed", "version": c.Version, "image": image, "verified": false, "startedTime": now, "completionTime": now,
				}},
				"conditions": []any{
					condition("Available", "True", "", "Done applying "+c.Version, now),
					condition("Failing", "False", "", "", now),
					condition("Progressing", "False", "", "Cluster version is "+c.Version, now),
					condition("RetrievedUpdates", "False", "RemoteFailed", "Unable to retrieve available updates: the cluster is simulated", now),
				},
			},
		},
	})
}

// operatorNames are the ClusterOperators of a release.
var operatorNames = []string{
	"authentication", "baremetal", "cloud-controller-manager", "cloud-credential", "cluster-autoscaler", "config-operator", "console",
	"control-plane-machine-set", "csi-snapshot-controller", "dns", "etcd", "image-registry", "ingress", "insights", "kube-apiserver",
	"kube-controller-manager", "kube-scheduler", "kube-storage-version-migrator", "machine-api", "machine-approver", "machine-config",
	"marketplace", "monitoring", "network", "node-tuning", "olm", "openshift-apiserver", "openshift-controller-manager", "openshift-samples",
	"operator-lifecycle-manager", "operator-lifecycle-manager-catalog", "operator-lifecycle-manager-packageserver", "service-ca", "storage",
}

// setUpOperators makes the ClusterOperators, all well but for those that trouble has
// degraded. Those that are there as they should be stay.
func (s *Spoke) setUpOperators(ctx context.Context) error {
	there, err := s.of(kindClusterOperator, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list operators: %w", err)
	}
	now := metav1.NewTime(s.clock.Now())
	for _, name := range operatorNames {
		why, degraded := s.config.Trouble.DegradedOperators[name]
		well := slices.ContainsFunc(there.Items, func(u unstructured.Unstructured) bool {
			versions, _, _ := unstructured.NestedSlice(u.Object, "status", "versions")
			return u.GetName() == name && conditionOf(&u, "Degraded")["status"] == "False" && digest(fmt.Sprint(versions)) == digest(fmt.Sprint(s.versions()))
		})
		if well && !degraded || !s.cluster.MachineAPI && slices.Contains(machineOperators, name) {
			continue
		}
		is := condition("Degraded", "False", "AsExpected", "All is well", now)
		if degraded {
			is = condition("Degraded", "True", "SimulatedTrouble", why, now)
		}
		err := s.apply(ctx, object{kind: kindClusterOperator, name: name, fields: fields{"spec": fields{}, "status": fields{
			"versions": s.versions(),
			"conditions": []any{
				is,
				condition("Progressing", "False", "AsExpected", "", now),
				condition("Available", "True", "AsExpected", "", now),
				condition("Upgradeable", "True", "AsExpected", "", now),
			},
		}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// machineOperators are those that only a cluster with the Machine API has.
var machineOperators = []string{"baremetal", "cluster-autoscaler", "control-plane-machine-set", "machine-api"}

// versions are those that an operator reports.
func (s *Spoke) versions() []any {
	return []any{fields{"name": "operator", "version": s.cluster.Version}}
}

// ready is the condition of a node by whether it is.
func ready(status corev1.ConditionStatus, reason, message string, at metav1.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at,
	}
}
