package spoke

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// manager owns what is written by server-side apply.
const manager = "oaictl-simulator"

type fields = map[string]any

// object is what is to be written: its kind, where it is, and all its other fields.
type object struct {
	kind            kind
	namespace, name string
	labels          map[string]string
	annotations     map[string]string
	fields          fields
}

// objectsOf are the objects of a kind, of a namespace unless it is "".
func (s *Spoke) objectsOf(k kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.objects.Resource(k.gvr())
	}
	return s.objects.Resource(k.gvr()).Namespace(namespace)
}

func (o object) shaped(f fields) (*unstructured.Unstructured, error) {
	content := maps.Clone(f)
	content["apiVersion"], content["kind"] = o.kind.apiVersion(), o.kind.name
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	u.SetNamespace(o.namespace)
	u.SetName(o.name)
	return u, nil
}

// apply writes objects by server-side apply, and forces conflicts.
func (s *Spoke) apply(ctx context.Context, objects ...object) error {
	for _, o := range objects {
		if err := s.applyOne(ctx, o); err != nil {
			return fmt.Errorf("write %s %s: %w", o.kind.name, o.name, err)
		}
	}
	return nil
}

func (s *Spoke) applyOne(ctx context.Context, o object) error {
	body := fields{}
	maps.Copy(body, o.fields)
	status := body["status"]
	if o.kind.hasStatus() {
		delete(body, "status")
	}
	u, err := o.shaped(body)
	if err != nil {
		return err
	}
	u.SetLabels(o.labels)
	u.SetAnnotations(o.annotations)
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	if _, err := s.objectsOf(o.kind, o.namespace).Apply(ctx, o.name, u, options); err != nil || status == nil || !o.kind.hasStatus() {
		return err
	}
	if u, err = o.shaped(fields{"status": status}); err != nil {
		return err
	}
	_, err = s.objectsOf(o.kind, o.namespace).ApplyStatus(ctx, o.name, u, options)
	return err
}

func (s *Spoke) create(ctx context.Context, objects ...object) error {
	for _, o := range objects {
		_, err := s.objectsOf(o.kind, o.namespace).Get(ctx, o.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			err = s.apply(ctx, o)
		case err != nil:
			err = fmt.Errorf("look for %s %s: %w", o.kind.name, o.name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kind is one of an API server's: where its objects are found, and what they are called.
type kind struct{ group, version, resource, name string }

// The kinds that are written. Those of OpenShift are in kinds.yaml, too.
var (
	kindClusterVersion  = kind{"config.openshift.io", "v1", "clusterversions", "ClusterVersion"}
	kindClusterOperator = kind{"config.openshift.io", "v1", "clusteroperators", "ClusterOperator"}
	kindInfrastructure  = kind{"config.openshift.io", "v1", "infrastructures", "Infrastructure"}
	kindDNS             = kind{"config.openshift.io", "v1", "dnses", "DNS"}
	kindNetwork         = kind{"config.openshift.io", "v1", "networks", "Network"}
	kindPool            = kind{"machineconfiguration.openshift.io", "v1", "machineconfigpools", "MachineConfigPool"}
	kindMachineConfig   = kind{"machineconfiguration.openshift.io", "v1", "machineconfigs", "MachineConfig"}
	kindEtcd            = kind{"operator.openshift.io", "v1", "etcds", "Etcd"}
	kindMachine         = kind{"machine.openshift.io", "v1beta1", "machines", "Machine"}
	kindMachineSet      = kind{"machine.openshift.io", "v1beta1", "machinesets", "MachineSet"}
	kindBareMetalHost   = kind{"metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost"}

	kindNamespace          = kind{"", "v1", "namespaces", "Namespace"}
	kindSecret             = kind{"", "v1", "secrets", "Secret"}
	kindConfigMap          = kind{"", "v1", "configmaps", "ConfigMap"}
	kindServiceAccount     = kind{"", "v1", "serviceaccounts", "ServiceAccount"}
	kindClusterRoleBinding = kind{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding"}
	kindCRD                = kind{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"}
)

func (k kind) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.group, Version: k.version, Resource: k.resource}
}

func (k kind) apiVersion() string {
	return schema.GroupVersion{Group: k.group, Version: k.version}.String()
}

// hasStatus reports whether the status of its objects is written by itself.
func (k kind) hasStatus() bool {
	switch k {
	case kindNamespace, kindSecret, kindConfigMap, kindServiceAccount, kindClusterRoleBinding, kindCRD, kindMachineConfig:
		return false
	}
	return true
}

func condition(kind, status, reason, message string, at metav1.Time) fields {
	c := fields{"type": kind, "status": status, "lastTransitionTime": at}
	if reason != "" {
		c["reason"] = reason
	}
	if message != "" {
		c["message"] = message
	}
	return c
}

func texts(list []string) []any {
	out := make([]any, 0, len(list))
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// report writes an object's status where it is another than the object has. What was changed or is gone is left to the
// next look.
func (s *Spoke) report(ctx context.Context, k kind, u *unstructured.Unstructured, status fields) error {
	if digestOf(apiobject.Status(u)) == digestOf(status) {
		return nil
	}
	u.Object["status"] = status
	_, err := s.objectsOf(k, u.GetNamespace()).UpdateStatus(ctx, u, metav1.UpdateOptions{})
	return ignoreRetriable(err, "report on "+k.name+" "+u.GetName())
}

// write writes an object but for its status; what is the work that it is done for.
func (s *Spoke) write(ctx context.Context, k kind, u *unstructured.Unstructured, what string) error {
	_, err := s.objectsOf(k, u.GetNamespace()).Update(ctx, u, metav1.UpdateOptions{})
	return ignoreRetriable(err, what+" "+k.name+" "+u.GetName())
}

func digestOf(status fields) string {
	text, err := json.Marshal(status)
	if err != nil {
		return ""
	}
	return digest(string(text))
}
