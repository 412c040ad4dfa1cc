package spoke

import (
	"context"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// setUpVersion makes the ClusterVersion. It is the last thing that is made, and tells that all is there.
func (s *Spoke) setUpVersion(ctx context.Context) error {
	c, now := &s.cluster, metav1.NewTime(s.clock.Now())
	capabilities := []string{
		"CSISnapshot", "Console", "Ingress", "Insights", "MachineAPI", "NodeTuning", "OperatorLifecycleManager", "Storage", "baremetal",
		"marketplace", "openshift-samples",
	}
	enabled := capabilities
	if !c.MachineAPI {
		enabled = slices.DeleteFunc(slices.Clone(capabilities), func(name string) bool { return name == "MachineAPI" || name == "baremetal" })
	}
	image := c.imageOf(c.Version)
	applied := fields{"state": "Completed", "version": c.Version, "image": image, "verified": false, "startedTime": now, "completionTime": now}
	is := []any{
		condition("Available", "True", "", "Done applying "+c.Version, now),
		condition("Failing", "False", "", "", now),
		condition("Progressing", "False", "", "Cluster version is "+c.Version, now),
	}
	if c.Joining {
		applied = fields{"state": "Partial", "version": c.Version, "image": image, "verified": false, "startedTime": now, "completionTime": nil}
		is = []any{
			condition("Available", "False", "", "", now),
			condition("Failing", "False", "", "", now),
			condition("Progressing", "True", "", "Working towards "+c.Version, now),
		}
	}
	status := fields{
		"capabilities": fields{"enabledCapabilities": texts(enabled), "knownCapabilities": texts(capabilities)},
		"desired":      fields{"version": c.Version, "image": image}, "observedGeneration": 1, "versionHash": digest(c.Version)[:11] + "=",
		"history": []any{applied},
	}
	retrieved := condition("RetrievedUpdates", "False", "RemoteFailed", "Unable to retrieve available updates: the cluster is simulated", now)
	if len(c.Updates) > 0 {
		retrieved = condition("RetrievedUpdates", "True", "", "", now)
		status["availableUpdates"] = c.updatesFrom(c.Version)
	}
	status["conditions"] = append(is, retrieved)
	return s.apply(ctx, object{
		kind: kindClusterVersion, name: "version", annotations: map[string]string{simulated: c.ID},
		fields: fields{"spec": fields{"clusterID": c.ID, "channel": "stable-" + versionMinor(c.Version)}, "status": status},
	})
}

// updatesFrom are the releases that a version may be updated to, as a ClusterVersion lists them: the newest first.
func (c *Cluster) updatesFrom(version string) []any {
	list := []any{}
	for _, u := range slices.Backward(c.Updates) {
		if u.Version == version {
			break
		}
		channels := u.Channels
		if channels == nil {
			channels = []string{"stable-" + versionMinor(u.Version)}
		}
		list = append(list, fields{"version": u.Version, "image": c.imageOf(u.Version), "channels": texts(channels)})
	}
	return list
}

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
	there, err := s.objectsOf(kindClusterOperator, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list operators: %w", err)
	}
	for _, name := range operatorNames {
		_, degraded := s.config.Trouble.DegradedOperators[name]
		well := slices.ContainsFunc(there.Items, func(u unstructured.Unstructured) bool {
			return u.GetName() == name && apiobject.Condition(&u, "Degraded")["status"] == "False" && apiobject.Condition(&u,
				"Available")["status"] == "True" &&
				s.isVersion(&u)
		})
		if well && !degraded || !s.cluster.MachineAPI && slices.Contains(machineOperators, name) {
			continue
		}
		if err := s.setUpOperator(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// setUpOperator makes one of them: not available before the installation is over.
func (s *Spoke) setUpOperator(ctx context.Context, name string) error {
	now := metav1.NewTime(s.clock.Now())
	is := condition("Degraded", "False", "AsExpected", "All is well", now)
	if why, degraded := s.config.Trouble.DegradedOperators[name]; degraded {
		is = condition("Degraded", "True", "SimulatedTrouble", why, now)
	}
	available, progressing := condition("Available", "True", "AsExpected", "", now), condition("Progressing", "False", "AsExpected", "", now)
	s.mu.Lock()
	if !s.joined {
		available, progressing = condition("Available", "False", "Installing", "", now), condition("Progressing", "True", "Installing", "", now)
	}
	s.mu.Unlock()
	return s.apply(ctx, object{kind: kindClusterOperator, name: name, fields: fields{"spec": fields{}, "status": fields{
		"versions":   []any{fields{"name": "operator", "version": s.versionOf("")}},
		"conditions": []any{is, progressing, available, condition("Upgradeable", "True", "AsExpected", "", now)},
	}}})
}

func (s *Spoke) isVersion(u *unstructured.Unstructured) bool {
	versions, _, _ := unstructured.NestedSlice(u.Object, "status", "versions")
	return digest(fmt.Sprint(versions)) == digest(fmt.Sprint([]any{fields{"name": "operator", "version": s.versionOf("")}}))
}

var machineOperators = []string{"baremetal", "cluster-autoscaler", "control-plane-machine-set", "machine-api"}

// Installed ends the installation of a Joining cluster: all operators become available, and the release is applied.
func (s *Spoke) Installed(ctx context.Context) error {
	s.mu.Lock()
	done := s.joined
	s.joined = true
	s.mu.Unlock()
	if done {
		return nil
	}
	err := s.timely(ctx, func(ctx context.Context) error {
		if err := s.setUpOperators(ctx); err != nil {
			return err
		}
		return s.applied(ctx, s.versionOf(""))
	})
	if err != nil {
		s.mu.Lock()
		s.joined = false
		s.mu.Unlock()
		return fmt.Errorf("finish the simulated cluster %s: %w", s.cluster.domain(), err)
	}
	s.logf("%s is installed", s.cluster.domain())
	return nil
}
