package metal3

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What CAPM3 reads and writes on a Metal3Machine and its host beside their specs and statuses.
const (
	kindMachine         = "Metal3Machine"
	finalizerMachine    = "metal3machine.infrastructure.cluster.x-k8s.io"
	annotationHost      = "metal3.io/BareMetalHost"
	annotationBlockMove = "clusterctl.cluster.x-k8s.io/block-move"
	pausedByCAPM3       = "metal3.io/capm3"
	labelControlPlane   = "cluster.x-k8s.io/control-plane"
)

// requeueAfter is how often CAPM3 looks at objects that it does not watch.
const requeueAfter = 30 * time.Second

type metal3Machine struct {
	*operator
	*object

	key              key
	before           *object
	machine, cluster *object
}

// reconcileMachine is CAPM3's look at a Metal3Machine, step by step as there
// (controllers/metal3machine_controller.go).
func (o *operator) reconcileMachine(ctx context.Context, k key) (time.Duration, error) {
	u := o.get(k)
	if u == nil {
		return 0, nil
	}
	m := &metal3Machine{operator: o, object: u, key: k, before: u.DeepCopy()}
	after, err := m.look(ctx)
	if saved := m.save(ctx); err == nil {
		err = saved
	}
	return after, err
}

func (m *metal3Machine) look(ctx context.Context) (time.Duration, error) {
	owner := ownerOf(m.object, coreGroup, "Machine")
	if owner != "" {
		m.machine = m.get(key{coreMachine, m.key.namespace, owner})
	}
	if m.machine == nil {
		m.associated(no, "WaitingForMetal3MachineOwnerRef", "Waiting for Machine Controller to set OwnerRef on Metal3Machine")
		return 0, nil
	}
	if domain := apiobject.Text(m.machine, "spec", "failureDomain"); domain != apiobject.Text(m.object, "spec", "failureDomain") {
		set(m.object, domain, "spec", "failureDomain")
	}
	m.cluster = m.get(key{coreCluster, m.key.namespace, m.machine.GetLabels()[labelCluster]})
	if m.cluster == nil {
		m.associated(no, "WaitingForClusterInfrastructureReady", "Machine is missing cluster label or cluster does not exist")
		return 0, nil
	}
	if !apiobject.Truth(m.cluster, "status", "initialization", "infrastructureProvisioned") {
		m.associated(no, "WaitingForClusterInfrastructureReady", "Waiting for Metal3Cluster Controller to create cluster infrastructure")
		return 0, nil
	}
	if paused, err := m.pause(ctx); paused || err != nil {
		return 0, err
	}
	if m.GetDeletionTimestamp() != nil {
		return m.release(ctx)
	}
	return m.proceed(ctx)
}

// pause passes the pause of a cluster on to the host, as a move needs it, and reports whether
// anything is paused.
func (m *metal3Machine) pause(ctx context.Context) (bool, error) {
	h, hostKey := m.host()
	clusterPaused := apiobject.Truth(m.cluster, "spec", "paused")
	if h != nil {
		if err := m.pauseHost(ctx, hostKey, h, clusterPaused); err != nil {
			return true, err
		}
	}
	if _, has := m.GetAnnotations()[annotationPause]; clusterPaused || has {
		m.associated(no, "Paused", "")
		setConditions(m.object, condition{"Paused", yes, "Paused", ""})
		return true, nil
	}
	setConditions(m.object, condition{"Paused", no, "NotPaused", ""})
	return false, nil
}

// pauseHost keeps a host from being moved while it is not paused, and gives it its status along once it is.
func (m *metal3Machine) pauseHost(ctx context.Context, hostKey key, h *object, paused bool) error {
	before := h.DeepCopy()
	notes := h.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	_, isPaused := notes[annotationPaused]
	switch {
	case paused && !isPaused:
		status, _, _ := unstructured.NestedMap(h.Object, "status")
		delete(status, "hardware")
		notes[annotationPaused], notes[annotationStatus] = pausedByCAPM3, printed(status)
		delete(notes, annotationBlockMove)
	case paused:
		delete(notes, annotationBlockMove)
	case isPaused && notes[annotationPaused] == pausedByCAPM3 && h.GetLabels()[labelCluster] == m.cluster.GetName():
		delete(notes, annotationPaused)
	case !isPaused && m.consumes(h):
		notes[annotationBlockMove] = ""
	}
	h.SetAnnotations(notes)
	if reflect.DeepEqual(before.GetAnnotations(), h.GetAnnotations()) {
		return nil
	}
	return m.update(ctx, hostKey, h)
}

func (m *metal3Machine) host() (*object, key) {
	note := m.GetAnnotations()[annotationHost]
	if note == "" {
		return nil, key{}
	}
	k := key{hosts, m.key.namespace, lastOf(note)}
	return m.get(k), k
}

func (m *metal3Machine) consumes(h *object) bool {
	return apiobject.Text(h, "spec", "consumerRef", "kind") == kindMachine && apiobject.Text(h, "spec", "consumerRef", "name") == m.key.name &&
		apiobject.Text(h, "spec", "consumerRef", "namespace") == m.key.namespace
}

func (m *metal3Machine) proceed(ctx context.Context) (time.Duration, error) {
	apiobject.AddFinalizer(m.object, finalizerMachine)
	provisioned := apiobject.Text(m.object, "spec", "providerID") != "" && apiobject.Truth(m.object, "status", "initialization", "provisioned")
	if provisioned && apiobject.Text(m.machine, "status", "nodeRef", "name") != "" {
		return 0, m.refresh(ctx)
	}
	if !m.bootstrapReady() {
		m.associated(no, "WaitingForBootstrapData", "Waiting for bootstrap data to be ready before proceeding")
		return 0, nil
	}
	if m.GetAnnotations()[annotationHost] == "" {
		return m.associate(ctx)
	}
	m.associated(yes, "AssociateBareMetalHostSuccess", "")
	setConditions(m.object, condition{"AssociateMetal3MachineMetaData", yes, "AssociateMetal3MachineMetaDataSuccess", ""})
	if err := m.refresh(ctx); err != nil {
		return 0, err
	}
	if h, _ := m.host(); h == nil || apiobject.Text(h, "status", "provisioning", "state") != stateProvisioned {
		return 0, nil
	}
	return m.findNode(ctx)
}

// bootstrapReady reports whether there are bootstrap data: for a machine with a config, once core says so.
func (m *metal3Machine) bootstrapReady() bool {
	if apiobject.Text(m.machine, "spec", "bootstrap", "configRef", "name") == "" {
		return apiobject.Text(m.machine, "spec", "bootstrap", "dataSecretName") != ""
	}
	list, _, _ := unstructured.NestedSlice(m.machine.Object, "status", "deprecated", "v1beta1", "conditions")
	return slices.ContainsFunc(list, func(each any) bool {
		c, is := each.(map[string]any)
		return is && c["type"] == "BootstrapReady" && c["status"] == yes
	})
}

func (m *metal3Machine) userData() map[string]any {
	if has, _, _ := unstructured.NestedMap(m.object.Object, "status", "userData"); has != nil {
		return has
	}
	own, _, _ := unstructured.NestedMap(m.object.Object, "spec", "userData")
	name := apiobject.Text(m.machine, "spec", "bootstrap", "dataSecretName")
	if name == "" {
		name = apiobject.Text(m.machine, "spec", "bootstrap", "configRef", "name")
	}
	if name != "" {
		return map[string]any{"name": name, "namespace": m.key.namespace}
	}
	return own
}

func (m *metal3Machine) associate(ctx context.Context) (time.Duration, error) {
	h, err := m.choose()
	if err != nil {
		return 0, err
	}
	if h == nil {
		m.associated(no, "AssociateBareMetalHostFailed", "no available host found. Requeuing")
		return requeueAfter, nil
	}
	set(m.object, m.userData(), "status", "userData")
	k := key{hosts, m.key.namespace, h.GetName()}
	labels := h.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelCluster] = apiobject.Text(m.machine, "spec", "clusterName")
	h.SetLabels(labels)
	m.setHost(h)
	if err := m.update(ctx, k, h); err != nil {
		return 0, err // another machine may have taken it
	}
	m.logf("%s takes %s", m.key, k)
	notes := m.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[annotationHost] = k.namespace + "/" + k.name
	m.SetAnnotations(notes)
	m.associated(yes, "AssociateBareMetalHostSuccess", "")
	return time.Millisecond, nil
}

func (m *metal3Machine) refresh(ctx context.Context) error {
	h, k := m.host()
	if h == nil {
		return fmt.Errorf("BareMetalHost not found for machine %s", m.machine.GetName())
	}
	before := h.DeepCopy()
	m.setHost(h)
	if !reflect.DeepEqual(before.Object["spec"], h.Object["spec"]) {
		if err := m.update(ctx, k, h); err != nil {
			return err
		}
	}
	if addresses := addressesOf(h); len(addresses) > 0 {
		set(m.object, addresses, "status", "addresses")
	}
	return nil
}

// setHost is what CAPM3 writes into the spec of a machine's host. An image that is there stays.
func (m *metal3Machine) setHost(h *object) {
	set(
		h, map[string]any{"kind": kindMachine, "name": m.key.name, "namespace": m.key.namespace, "apiVersion": infraGroup + "/v1beta2"},
		"spec", "consumerRef",
	)
	userData, _, _ := unstructured.NestedMap(m.object.Object, "status", "userData")
	if apiobject.Text(h, "spec", "image", "url") == "" && apiobject.Text(h, "spec", "customDeploy", "method") == "" && userData != nil {
		image := map[string]any{}
		for from, to := range map[string]string{"url": "url", "checksum": "checksum", "checksumType": "checksumType", "diskFormat": "format"} {
			if value := apiobject.Text(m.object, "spec", "image", from); value != "" {
				image[to] = value
			}
		}
		set(h, image, "spec", "image")
		set(h, userData, "spec", "userData")
		for _, field := range []string{"metaData", "networkData"} {
			if own, _, _ := unstructured.NestedMap(m.object.Object, "spec", field); own != nil {
				own["namespace"] = m.key.namespace
				set(h, own, "spec", field)
			}
		}
	}
	if mode := apiobject.Text(m.object, "spec", "automatedCleaningMode"); mode != "" {
		set(h, mode, "spec", "automatedCleaningMode")
	}
	set(h, true, "spec", "online")
}

// addressesOf are the addresses of a machine, by what the inspection of its host has found.
func addressesOf(h *object) []any {
	var list []any
	nics, _, _ := unstructured.NestedSlice(h.Object, "status", "hardware", "nics")
	for _, each := range nics {
		if nic, is := each.(map[string]any); is && nic["ip"] != "" && nic["ip"] != nil {
			list = append(list, map[string]any{"type": "InternalIP", "address": nic["ip"]})
		}
	}
	if name := apiobject.Text(h, "status", "hardware", "hostname"); name != "" {
		list = append(list, map[string]any{"type": "Hostname", "address": name}, map[string]any{"type": "InternalDNS", "address": name})
	}
	return list
}

// associated is the condition that says which host the machine has.
func (m *metal3Machine) associated(status, reason, message string) {
	setConditions(m.object, condition{"AssociateBareMetalHost", status, reason, message})
}

func (m *metal3Machine) summarize() {
	list, _, _ := unstructured.NestedSlice(m.object.Object, "status", "conditions")
	ready := condition{"Ready", yes, "Ready", ""}
	for _, each := range list {
		c, is := each.(map[string]any)
		if !is || c["type"] != "AssociateBareMetalHost" && c["type"] != "AssociateMetal3MachineMetaData" || c["status"] == yes {
			continue
		}
		ready = condition{"Ready", no, "NotReady", fmt.Sprintf("* %s: %s", c["type"], c["message"])}
	}
	setConditions(m.object, ready)
}

// keepTimes has conditions that came and went within one look be as old as they were before it.
func (m *metal3Machine) keepTimes() {
	before, _, _ := unstructured.NestedSlice(m.before.Object, "status", "conditions")
	list, _, _ := unstructured.NestedSlice(m.object.Object, "status", "conditions")
	for _, each := range list {
		c, is := each.(map[string]any)
		at := slices.IndexFunc(before, func(each any) bool {
			old, isOld := each.(map[string]any)
			return is && isOld && old["type"] == c["type"] && old["status"] == c["status"]
		})
		if at >= 0 {
			c["lastTransitionTime"] = before[at].(map[string]any)["lastTransitionTime"]
		}
	}
	if list != nil {
		set(m.object, list, "status", "conditions")
	}
}

func (m *metal3Machine) save(ctx context.Context) error {
	m.summarize()
	m.keepTimes()
	changed := !reflect.DeepEqual(m.object.Object["spec"], m.before.Object["spec"]) ||
		!reflect.DeepEqual(m.object.Object["metadata"], m.before.Object["metadata"])
	var err error
	m.object, err = m.write(ctx, m.key, m.before, m.object, changed)
	return err
}
