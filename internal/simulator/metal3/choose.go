package metal3

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Marks of hosts that are not to be taken, and the domain that one is in.
const (
	annotationUnhealthy    = "capm3.metal3.io/unhealthy"
	annotationUnhealthyOld = "capi.metal3.io/unhealthy"
	labelFailureDomain     = "infrastructure.cluster.x-k8s.io/failure-domain"
)

// choose is a free host that fits the machine: of its failure domain where there is one, and
// by name, where CAPM3 takes any. It is nil while there is none.
func (m *metal3Machine) choose() (*object, error) {
	selector, err := m.selector()
	if err != nil {
		return nil, err
	}
	var free []*object
	for _, h := range m.list(hosts, m.key.namespace) {
		if !selector.Matches(labels.Set(h.GetLabels())) {
			continue
		}
		if m.consumes(h) {
			return h.DeepCopy(), nil
		}
		if isFree(h) {
			free = append(free, h)
		}
	}
	if len(free) == 0 {
		return nil, nil
	}
	domain := apiobject.Text(m.object, "spec", "failureDomain")
	near := slices.DeleteFunc(slices.Clone(free), func(h *object) bool { return h.GetLabels()[labelFailureDomain] != domain })
	if domain != "" && len(near) > 0 {
		free = near
	}
	slices.SortFunc(free, func(a, b *object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return free[0].DeepCopy(), nil
}

func isFree(h *object) bool {
	notes := h.GetAnnotations()
	for _, mark := range []string{annotationPaused, annotationUnhealthy, annotationUnhealthyOld} {
		if _, marked := notes[mark]; marked {
			return false
		}
	}
	_, consumed, _ := unstructured.NestedMap(h.Object, "spec", "consumerRef")
	return !consumed && h.GetDeletionTimestamp() == nil && apiobject.Text(h, "status", "errorMessage") == "" &&
		apiobject.Text(h, "status", "provisioning", "state") == stateAvailable
}

func (m *metal3Machine) selector() (labels.Selector, error) {
	selector := labels.NewSelector()
	add := func(name, operator string, values []string) error {
		r, err := labels.NewRequirement(name, selection.Operator(strings.ToLower(operator)), values)
		if err != nil {
			return fmt.Errorf("read its hostSelector: %w", err)
		}
		selector = selector.Add(*r)
		return nil
	}
	matched, _, _ := unstructured.NestedStringMap(m.object.Object, "spec", "hostSelector", "matchLabels")
	for name, value := range matched {
		if err := add(name, string(selection.Equals), []string{value}); err != nil {
			return nil, err
		}
	}
	expressions, _, _ := unstructured.NestedSlice(m.object.Object, "spec", "hostSelector", "matchExpressions")
	for _, each := range expressions {
		expression := &object{Object: map[string]any{"e": each}}
		values, _, _ := unstructured.NestedStringSlice(expression.Object, "e", "values")
		if err := add(apiobject.Text(expression, "e", "key"), apiobject.Text(expression, "e", "operator"), values); err != nil {
			return nil, err
		}
	}
	return selector, nil
}

// release gives the host back: it is deprovisioned, and free once that is over.
func (m *metal3Machine) release(ctx context.Context) (time.Duration, error) {
	setConditions(m.object, condition{"AssociateMetal3MachineMetaData", no, "Deleting", ""})
	h, k := m.host()
	if h == nil || !m.consumes(h) {
		apiobject.DropFinalizer(m.object, finalizerMachine)
		return 0, nil
	}
	before := printed(h.Object["spec"])
	for _, field := range []string{"image", "customDeploy", "userData", "metaData", "networkData"} {
		set(h, nil, "spec", field)
	}
	set(h, apiobject.Truth(h, "spec", "disablePowerOff"), "spec", "online")
	if printed(h.Object["spec"]) != before {
		if err := m.update(ctx, k, h); err != nil {
			return 0, err
		}
		m.logf("%s gives %s back", m.key, k)
		return time.Second, nil
	}
	switch apiobject.Text(h, "status", "provisioning", "state") {
	case stateNone, stateUnmanaged, stateRegistering, stateInspecting, stateAvailable:
	case stateExternally:
		if apiobject.Truth(h, "status", "poweredOn") {
			return requeueAfter, nil
		}
	default:
		return requeueAfter, nil
	}
	set(h, nil, "spec", "consumerRef")
	marks := h.GetLabels()
	if marks[labelCluster] == apiobject.Text(m.machine, "spec", "clusterName") {
		delete(marks, labelCluster)
	}
	h.SetLabels(marks)
	notes := h.GetAnnotations()
	delete(notes, annotationBlockMove) // it would block the moves of a free host
	if notes[annotationPaused] == pausedByCAPM3 {
		delete(notes, annotationPaused)
	}
	h.SetAnnotations(notes)
	if err := m.update(ctx, k, h); err != nil {
		return 0, err
	}
	apiobject.DropFinalizer(m.object, finalizerMachine)
	return 0, nil
}

func options() metav1.UpdateOptions { return metav1.UpdateOptions{FieldManager: manager} }

func printed(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "" // which what was read as JSON does not cause
	}
	return string(data)
}

func lastOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }
