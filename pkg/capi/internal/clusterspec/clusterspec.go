// Package clusterspec translates Cluster API's objects into the library's desired state: a Cluster with its
// control plane becomes what a cluster.yaml would say, and each Machine one of its hosts.
package clusterspec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// AnnotationClusterID is on a control plane: the id of its cluster in the service. On a hub it is NAMESPACE/NAME of the
// ClusterDeployment. Over REST the annotation proves nothing: see package recordmark.
const AnnotationClusterID = "oaictl.io/cluster-id"

// AnnotationRun is on a control plane before its cluster is registered. On a hub it says that there was no
// cluster of its name before: the one that is there since then belongs to it. Over REST only earlier releases wrote it: it is
// the mark of the record that they registered.
const AnnotationRun = "oaictl.io/run"

// IDOf is the recorded id of a control plane's cluster in the service; "" before it has one. On a hub a cluster is in
// the namespace of its control plane. The annotation cannot name a cluster of another namespace.
func IDOf(plane *controlplanev1.OpenshiftAssistedControlPlane, onHub bool) (string, error) {
	id := plane.Annotations[AnnotationClusterID]
	if onHub && id != "" && !strings.HasPrefix(id, plane.Namespace+"/") {
		return "", &clusterloop.Refusal{Problems: []string{fmt.Sprintf(
			"OpenshiftAssistedControlPlane metadata.annotations[%s] names %s, and this control plane is in namespace %s: the "+
				"cluster of a control "+
				"plane is in its own namespace: remove the annotation",
			AnnotationClusterID, id, plane.Namespace)}}
	}
	return id, nil
}

// CheckIdentity refuses a cluster of the service with another OpenShift id than the cluster that was installed for the
// control plane: it only has the same name, for example on a hub that the control plane was moved to.
func CheckIdentity(plane *controlplanev1.OpenshiftAssistedControlPlane, is *model.Cluster) error {
	was := plane.Annotations[AnnotationOpenShiftID]
	if was == "" || is.OpenShiftID == "" || strings.EqualFold(was, is.OpenShiftID) {
		return nil
	}
	return &clusterloop.Refusal{Problems: []string{fmt.Sprintf(
		"the service's cluster %s is another one: its ID is %s, but the ID of this control plane's cluster is %s "+
			"(metadata.annotations[%s]). It is not changed; on a hub, move the ClusterDeployment with this name to another hub, or move "+
			"this Cluster to a hub without such a ClusterDeployment",
		is.ID, is.OpenShiftID, was, AnnotationOpenShiftID)}}
}

// Source reads what is desired of Clusters.
type Source struct {
	// Client reads Cluster API's objects from the manager's cache.
	Client client.Reader
	// Live reads Secrets and ConfigMaps: the cache has only some of them.
	Live client.Reader
	// Hub says that the service is a hub: Secrets are referred to by their names there.
	Hub bool
	// Agents is the namespace of a hub where AgentMachines take their Agents from; "" for each one's own.
	Agents string
	// Pools are the InfraEnvs that are opened to namespaces, where the service is no hub.
	Pools machines.Pools
	// Keys prove which record belongs to a Cluster, where the service is no hub.
	Keys *recordmark.Keys
	// Release gives the release image of a cluster that is not registered yet, given what else is
	// desired of it; "" where the service knows one by the version. Nil leaves that to the service.
	Release func(ctx context.Context, c *Cluster, desired *spec.Cluster) (string, error)
	// Connector makes the connections to installed clusters.
	Connector workloadclient.Connector
	// Identify is what the cluster of a kubeconfig calls itself; nil asks the cluster.
	Identify func(ctx context.Context, kubeconfig []byte) (string, error)
	// Clock is what waits are measured by; nil for that of the machine.
	Clock clock.Clock

	silent silences
}

// Cluster is a Cluster with the objects that say what it shall become.
type Cluster struct {
	*clusterv1.Cluster
	ControlPlane *controlplanev1.OpenshiftAssistedControlPlane
	Machines     []Machine
	// Workers is how many workers are wanted, whether their Machines are there or not.
	Workers int

	mark string // that its record in the service carries; "" on a hub
}

// Machine is a Machine with its config and its infrastructure object. Either may be missing yet.
type Machine struct {
	*clusterv1.Machine
	Config         *bootstrapv1.OpenshiftAssistedConfig
	Infrastructure *unstructured.Unstructured
	// Enrolled is the BareMetalHost that a Metal3Machine has; nil for none.
	Enrolled *unstructured.Unstructured
	reserved string // the host that its AgentMachine has reserved and may have; "" for none
}

// Desire is what a Cluster shall become, given the last observation of it. It is what clusterloop.Config.Desire wants:
// if the desired state of a cluster that is in the service cannot be determined, the cluster can still be observed.
func (s *Source) Desire(ctx context.Context, key clusterloop.Key, observed *model.Observed) (*model.Desired, error) {
	c, err := s.Read(ctx, key)
	if err != nil {
		return nil, err
	}
	id, err := IDOf(c.ControlPlane, s.Hub)
	if err != nil {
		return nil, err
	}
	isKnown := id != "" || c.ControlPlane.Annotations[AnnotationRun] != ""
	if !s.Hub {
		if c.mark, err = s.Keys.Mark(ctx, c.Cluster); err != nil {
			return nil, err
		}
		isKnown = c.mark != ""
	}
	if !isKnown {
		return nil, fmt.Errorf("it is not known yet which cluster of the service Cluster %s is: %w", key, clusterloop.ErrNotYet)
	}
	for i := range c.Machines {
		c.Machines[i].reserved = s.reservation(&c.Machines[i], observed)
	}
	if err := s.checkCopied(ctx, c); err != nil {
		return nil, err
	}
	desired, err := s.Of(ctx, c, observed)
	if desired == nil && id != "" {
		return s.toObserve(ctx, c, observed), err
	}
	return desired, err
}

// toObserve is a Cluster as far as that is needed to observe what there is of it.
func (s *Source) toObserve(ctx context.Context, c *Cluster, observed *model.Observed) *model.Desired {
	part := takePart(c, observed)
	out := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: nameOf(c)}}
	out.Spec.BaseDomain, out.Spec.OpenShift.Arch = c.ControlPlane.Spec.Config.BaseDomain, archOf(c)
	out.Spec.Topology = spec.Topology{ControlPlane: &part.controlPlane, Workers: &part.workers, Arbiters: &part.arbiters}
	for _, m := range part.machines {
		out.Spec.Hosts = append(out.Spec.Hosts, knownHost(c, m))
	}
	if part.installed {
		if kubeconfig, err := s.importedKubeconfig(ctx, c); err == nil {
			out.Spec.Import = &spec.Import{ClusterID: c.ControlPlane.Annotations[AnnotationOpenShiftID],
				Kubeconfig: spec.NewSecret(kubeconfig).Source()}
		}
	}
	return &model.Desired{Spec: out, Options: s.options(c, part, observed)}
}

// Read reads a Cluster with its objects. Among them, the Machines and their infrastructure objects are the cache's own,
// and must not be changed. One without a control plane of ours has nothing to be installed.
func (s *Source) Read(ctx context.Context, key clusterloop.Key) (*Cluster, error) {
	c := &Cluster{Cluster: &clusterv1.Cluster{}}
	switch err := s.Client.Get(ctx, key, c.Cluster); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no Cluster %s: %w: %w", key, clusterloop.ErrGone, clusterloop.ErrNotYet)
	case err != nil:
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	ref := c.Spec.ControlPlaneRef
	if ref.Kind != "OpenshiftAssistedControlPlane" || ref.APIGroup != controlplanev1.GroupVersion().Group {
		return nil, fmt.Errorf("Cluster %s has no OpenshiftAssistedControlPlane: %w", key, clusterloop.ErrNotYet)
	}
	c.ControlPlane = &controlplanev1.OpenshiftAssistedControlPlane{}
	switch err := s.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name}, c.ControlPlane); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the control plane %s of Cluster %s is not there: %w", ref.Name, key, clusterloop.ErrNotYet)
	case err != nil:
		return nil, fmt.Errorf("read the control plane %s: %w", ref.Name, err)
	}
	if err := s.readMachines(ctx, c); err != nil {
		return nil, err
	}
	return c, s.countWorkers(ctx, c)
}

// uncopied reads what is not to be changed: a cache gives away its own objects.
type uncopied struct{ client.Reader }

func (u uncopied) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return u.Reader.Get(ctx, key, into, append(options, client.UnsafeDisableDeepCopy)...)
}

func (u uncopied) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return u.Reader.List(ctx, into, append(options, client.UnsafeDisableDeepCopy)...)
}

func (s *Source) readMachines(ctx context.Context, c *Cluster) error {
	list, cached := &clusterv1.MachineList{}, uncopied{s.Client}
	if err := cached.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Name}); err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", c.Name, err)
	}
	for i := range list.Items {
		m := Machine{Machine: &list.Items[i]}
		var err error
		if m.Infrastructure, err = machines.Infrastructure(ctx, cached, m.Machine); err != nil {
			return err
		}
		m.reserved = s.reservation(&m, nil)
		if m.Enrolled, err = machines.BareMetalHost(ctx, cached, m.Infrastructure); err != nil {
			return err
		}
		if ref := m.Spec.Bootstrap.ConfigRef; ref.Kind == "OpenshiftAssistedConfig" {
			config := &bootstrapv1.OpenshiftAssistedConfig{}
			switch err := s.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, config); {
			case err == nil:
				m.Config = config
			case !apierrors.IsNotFound(err):
				return fmt.Errorf("read the config %s of Machine %s: %w", ref.Name, m.Name, err)
			}
		}
		c.Machines = append(c.Machines, m)
	}
	slices.SortFunc(c.Machines, func(a, b Machine) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// countWorkers counts the workers that are wanted: the replicas of MachineDeployments and of MachineSets that stand
// alone, and Machines that no controller replicates. MachinePools are not counted: no component installs their
// machines.
func (s *Source) countWorkers(ctx context.Context, c *Cluster) error {
	within := []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Name}}
	deployments, sets, cached := &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, uncopied{s.Client}
	if err := errors.Join(cached.List(ctx, deployments, within...), cached.List(ctx, sets, within...)); err != nil {
		return fmt.Errorf("list the MachineDeployments and MachineSets of Cluster %s: %w", c.Name, err)
	}
	replicas := func(count *int32) int {
		if count == nil {
			return 1 // Cluster API's default
		}
		return int(*count)
	}
	for i := range deployments.Items {
		c.Workers += replicas(deployments.Items[i].Spec.Replicas)
	}
	for i := range sets.Items {
		if !ownedBy(sets.Items[i].OwnerReferences, "MachineDeployment") {
			c.Workers += replicas(sets.Items[i].Spec.Replicas)
		}
	}
	for _, m := range c.Machines {
		if !machines.IsControlPlane(m.Machine) && !ownedBy(m.OwnerReferences, "MachineSet") {
			c.Workers++
		}
	}
	return nil
}

// Of is the desired state of a Cluster that was read. What is wrong with it is a *spec.Problems whose fields are those
// of the objects. In an installed cluster, Machines with errors are left alone: see [model.Options].
func (s *Source) Of(ctx context.Context, c *Cluster, observed *model.Observed) (*model.Desired, error) {
	if observed != nil && observed.Cluster != nil {
		if err := CheckIdentity(c.ControlPlane, observed.Cluster); err != nil {
			return nil, err
		}
	}
	part := takePart(c, observed)
	if wanted := replicasOf(c.ControlPlane); part.before && part.controlPlane < wanted {
		return nil, fmt.Errorf("the control plane of Cluster %s has %d Machines of %d: %w", c.Name, part.controlPlane, wanted,
			clusterloop.ErrNotYet)
	}
	var out *spec.Cluster
	var err error
	if part.installed {
		out, err = s.installed(ctx, c, observed)
	} else {
		out, err = s.cluster(ctx, c, part)
	}
	if err != nil {
		return nil, err
	}
	known, ownNames, left := hostsOf(c, observed), map[int]bool{}, map[string]string{}
	for i, m := range part.machines {
		host, ownName, err := s.host(ctx, c, &out.Spec, m, known[m.Name])
		switch {
		case err == nil:
		case part.installed && ctx.Err() == nil:
			host, ownName, left[m.Name] = knownHost(c, m), true, err.Error()
		default:
			return nil, err
		}
		out.Spec.Hosts, ownNames[i] = append(out.Spec.Hosts, host), ownName
	}
	if err := out.Resolve(ctx, ".", spec.Env{}); err != nil {
		if problems := rewording.Problems(err); problems != nil {
			return nil, &clusterloop.Refusal{Problems: problems}
		}
		return nil, err
	}
	if unregistered := observed != nil && observed.Cluster == nil && !out.Imported(); unregistered && s.Release != nil &&
		out.Spec.OpenShift.ReleaseImage == "" && out.Spec.OpenShift.ImageSet == "" {
		if out.Spec.OpenShift.ReleaseImage, err = s.Release(ctx, c, out); err != nil {
			return nil, err
		}
	}
	for i := range ownNames {
		if ownNames[i] {
			out.Spec.Hosts[i].Hostname = "" // and not the filled-in one
		}
	}
	of := &model.Desired{Spec: out, Options: s.options(c, part, observed)}
	of.Options.LeftAlone = left
	return of, nil
}

// options are how the cluster is known, and what is done to it.
func (s *Source) options(c *Cluster, part participants, observed *model.Observed) model.Options {
	adopt, run, former := c.ControlPlane.Annotations[AnnotationClusterID], c.ControlPlane.Annotations[AnnotationRun], ""
	if part.installed && observed != nil && observed.Cluster == nil && !observed.Unproven {
		adopt = "" // the service has no record of it
	}
	if !s.Hub {
		run, former = c.mark, recordmark.Former(run)
	}
	var leftOut []spec.Host
	unwanted := map[string]string{}
	for _, m := range part.leftOut {
		leftOut = append(leftOut, spec.Host{Name: m.Name, Match: matchOf(m)})
		if !m.DeletionTimestamp.IsZero() {
			unwanted[m.Name] = "its Machine is being deleted"
		}
	}
	return model.Options{
		LeftOut: leftOut, Unwanted: unwanted, Adopt: adopt, Run: run, FormerRun: former, Exact: !s.Hub,
		AddNodes: part.installed, WatchEtcd: part.installed, AcceptControlPlane: true, Unattended: true,
		Labels: map[string]string{clusterv1.ClusterNameLabel: c.Name},
	}
}

func replicasOf(controlPlane *controlplanev1.OpenshiftAssistedControlPlane) int {
	if controlPlane.Spec.Replicas == nil {
		return 3
	}
	return int(*controlPlane.Spec.Replicas)
}
