//go:build e2e && linux

package controller

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/host/controller/rights"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// kinds are those of OpenShift that the controller reads. Whether a kind has namespaces is in the last column.
var kinds = []struct {
	group, version, resource, kind string
	spaced                         bool
}{
	{"config.openshift.io", "v1", "clusterversions", "ClusterVersion", false},
	{"config.openshift.io", "v1", "clusteroperators", "ClusterOperator", false},
	{"config.openshift.io", "v1", "proxies", "Proxy", false},
	{"machine.openshift.io", "v1beta1", "machines", "Machine", true},
	{"machineconfiguration.openshift.io", "v1", "machineconfigpools", "MachineConfigPool", false},
	{"metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost", true},
	{"metal3.io", "v1alpha1", "provisionings", "Provisioning", false},
	{"operators.coreos.com", "v1alpha1", "subscriptions", "Subscription", true},
	{"operators.coreos.com", "v1alpha1", "clusterserviceversions", "ClusterServiceVersion", true},
	{"operators.coreos.com", "v1alpha1", "installplans", "InstallPlan", true},
}

// stage is a real API server that plays a new cluster.
type stage struct {
	t     *testing.T
	kube  *kubetest.Cluster
	admin dynamic.Interface
}

// apply makes an object, with its status.
func (s *stage) apply(group, version, resource, kind string, o hosttest.Object) {
	s.t.Helper()
	o["apiVersion"], o["kind"] = strings.TrimPrefix(group+"/"+version, "/"), kind
	u := &unstructured.Unstructured{Object: hosttest.Copy(s.t, o)}
	at := s.admin.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(u.GetNamespace())
	gone := int64(0)
	if err := at.Delete(s.t.Context(), u.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &gone}); err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	made := must.Get(at.Create(s.t.Context(), u, metav1.CreateOptions{}))(s.t, resource)
	if status, has := o["status"]; has {
		made.Object["status"] = hosttest.Copy(s.t, hosttest.Object{"s": status})["s"]
		must.Get(at.UpdateStatus(s.t.Context(), made, metav1.UpdateOptions{}))(s.t, resource)
	}
}

// define makes the kinds that the API server does not have.
func (s *stage) define() {
	crds := s.admin.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, k := range kinds {
		scope := "Cluster"
		if k.spaced {
			scope = "Namespaced"
		}
		crd := &unstructured.Unstructured{Object: hosttest.Copy(s.t, hosttest.Object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": hosttest.Object{
				"name": k.resource + "." + k.group, "annotations": hosttest.Object{"api-approved.kubernetes.io": "unapproved, for a test"},
			},
			"spec": hosttest.Object{
				"group": k.group, "scope": scope, "names": hosttest.Object{"plural": k.resource, "singular": strings.ToLower(k.kind), "kind": k.kind},
				"versions": []any{hosttest.Object{
					"name": k.version, "served": true, "storage": true, "subresources": hosttest.Object{"status": hosttest.Object{}},
					"schema": hosttest.Object{"openAPIV3Schema": hosttest.Object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
			},
		})}
		if _, err := crds.Create(s.t.Context(), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			s.t.Fatal(err)
		}
	}
	for _, k := range kinds {
		at := s.admin.Resource(schema.GroupVersionResource{Group: k.group, Version: k.version, Resource: k.resource})
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if _, err := at.List(s.t.Context(), metav1.ListOptions{}); err == nil {
				break
			} else if time.Now().After(end) {
				s.t.Fatalf("%s: %v", k.resource, err)
			}
		}
	}
}

// fill makes the objects of a cluster that is nearly installed, with a request that is to be approved and one that is not.
func (s *stage) fill(w *world) {
	for _, space := range []string{
		"assisted-installer", "openshift-config", "openshift-config-managed", "openshift-machine-api", marketplace, configServerSpace, "local", "storage",
	} {
		namespaces := s.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
		made := &unstructured.Unstructured{Object: hosttest.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": hosttest.Object{"name": space}}}
		if _, err := namespaces.Create(s.t.Context(), made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			s.t.Fatal(err)
		}
	}
	served := map[string]struct{ version, kind string }{
		"configmaps": {"v1", "ConfigMap"}, "jobs": {"v1", "Job"},
	}
	for _, k := range kinds {
		served[k.resource] = struct{ version, kind string }{k.version, k.kind}
	}
	for _, at := range slices.Sorted(maps.Keys(w.api.Objects)) {
		parts := strings.Split(at, "/")
		k, known := served[parts[1]]
		if !known || parts[1] == "jobs" {
			continue
		}
		o := hosttest.Copy(s.t, w.api.Objects[at])
		for _, own := range []string{"resourceVersion", "uid", "creationTimestamp", "ownerReferences"} {
			delete(o["metadata"].(hosttest.Object), own)
		}
		if parts[1] == "baremetalhosts" { // whose kind is the real one
			o["spec"].(hosttest.Object)["online"] = true
			delete(o, "status")
		}
		s.apply(parts[0], k.version, parts[1], k.kind, o)
	}
	for i, name := range []string{"m-1", "m-2"} {
		s.apply("", "v1", "nodes", "Node", hosttest.Object{"metadata": hosttest.Object{"name": name}, "status": hosttest.Object{
			"conditions": []any{hosttest.Object{"type": "Ready", "status": "True"}},
			"addresses":  []any{hosttest.Object{"type": "InternalIP", "address": fmt.Sprintf("10.0.0.%d", i+1)}},
		}})
	}
	s.apply("batch", "v1", "jobs", "Job", hosttest.Object{
		"metadata": hosttest.Object{"name": "bad", "namespace": marketplace}, "spec": hosttest.Object{"suspend": true, "template": hosttest.Object{"spec": hosttest.Object{
			"restartPolicy": "Never", "containers": []any{hosttest.Object{"name": "a", "image": "quay.io/a"}},
		}}}, "status": hosttest.Object{"failed": 1},
	})
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(s.t)
	w.request("first", "m-3", key)
	w.request("foreign", "evil", key)
	for _, name := range []string{"first", "foreign"} {
		o := w.api.Get("certificates.k8s.io", "certificatesigningrequests", "", name)
		spec := o["spec"].(hosttest.Object)
		as := rest.CopyConfig(s.kube.Config)
		as.Impersonate = rest.ImpersonationConfig{UserName: bootstrapper, Groups: []string{
			"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator",
		}}
		s.kube.Grant(s.t, as, bootstrapper, "", rbacv1.PolicyRule{
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create"},
		})
		u := &unstructured.Unstructured{Object: hosttest.Object{
			"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": hosttest.Object{"name": name},
			"spec": hosttest.Object{"request": spec["request"], "signerName": spec["signerName"], "usages": spec["usages"]},
		}}
		at := schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"}
		if err := s.admin.Resource(at).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		must.Get(must.Get(dynamic.NewForConfig(as))(s.t).Resource(at).Create(s.t.Context(), u, metav1.CreateOptions{}))(s.t)
	}
}

// TestRightsOfRealAPIServer: with our rules, and with those of the original, a user of a real API server can install a cluster.
func TestRightsOfRealAPIServer(t *testing.T) {
	s := &stage{t: t, kube: server.Start(t)}
	s.admin = must.Get(dynamic.NewForConfig(s.kube.Config))(t)
	s.define()
	for name, rules := range map[string][]rights.Rule{"ours": rights.Rules(), "original": original()} {
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, kube: s.kube, admin: s.admin}
			w := newWorld(t, "m-1", "m-2", "m-3")
			everything(w)
			bareMetalMachine(w)
			w.env["NOTIFY_NUM_REBOOTS"] = "" // there is no kubelet
			w.operator("console", "True", "False", "All is well")
			w.service.files[manifestsFile] = fmt.Sprintf(`[{"Name":"odf","Content":%q}]`, encoded("{apiVersion: v1, kind: ConfigMap, metadata: {name: applied}}"))
			s.fill(w)
			var granted []rbacv1.PolicyRule
			for _, r := range rules {
				granted = append(granted, rbacv1.PolicyRule{APIGroups: r.Groups, Resources: r.Resources, ResourceNames: r.Names, Verbs: r.Verbs})
			}
			user := s.kube.User(t, "controller-"+name, granted...)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			ticking := clock.Scaled(60)
			go s.join(ctx)
			code := Program{
				Getenv: func(name string) string { return w.env[name] }, Files: hostfile.Files{Root: w.root}, Temporary: w.temp, Runner: w.runner,
				Clock: ticking, Log: slog.New(slog.NewTextHandler(w.log, nil)), Recent: w.log.Bytes,
				Connect: func(kubeconfig []byte) (*kube.Client, error) {
					if kubeconfig != nil {
						return kube.New(s.kube.Config)
					}
					return kube.New(user)
				},
				Service: func(Access) (Service, error) { return w.service, nil },
			}.Run(ctx)
			check.Equal(t, code, ExitDone)
			check.Equal(t, w.service.status(), models.ClusterStatusInstalled)
			for line := range strings.Lines(w.text()) {
				if strings.Contains(line, "forbidden") {
					t.Error(line)
				}
			}
			s.result(w)
			if t.Failed() {
				t.Log(string(bytes.TrimSpace(w.log.Bytes())))
			}
		})
	}
}

// join makes the last Node once its request is approved.
func (s *stage) join(ctx context.Context) {
	at := schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"}
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if s.answered(ctx, at, "first") {
			s.apply("", "v1", "nodes", "Node", hosttest.Object{"metadata": hosttest.Object{"name": "m-3"}, "status": hosttest.Object{
				"conditions": []any{hosttest.Object{"type": "Ready", "status": "True"}},
			}})
			return
		}
	}
}

func (s *stage) answered(ctx context.Context, at schema.GroupVersionResource, name string) bool {
	o, err := s.admin.Resource(at).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return len(conditions) > 0
}

// bareMetalMachine has the Machine of the worker from the beginning.
func bareMetalMachine(w *world) {
	w.api.Put("machine.openshift.io", "machines", hosttest.Object{"metadata": hosttest.Object{
		"name": "machine-w", "namespace": "openshift-machine-api", "labels": hosttest.Object{"machine.openshift.io/cluster-api-machine-role": "worker"},
	}})
}

// result checks what the controller has changed in the cluster, and cleans up what would be in the way of the next.
func (s *stage) result(w *world) {
	t, ctx := s.t, s.t.Context()
	requests := schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"}
	check.Equal(t, s.answered(ctx, requests, "first"), true)
	check.Equal(t, s.answered(ctx, requests, "foreign"), false)
	get := func(group, version, resource, space, name string) hosttest.Object {
		at := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
		o, err := s.admin.Resource(at).Namespace(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Errorf("%s %s: %v", resource, name, err)
			return hosttest.Object{}
		}
		return o.Object
	}
	worker := get("metal3.io", "v1alpha1", "baremetalhosts", "openshift-machine-api", "w-2")
	check.Equal(t, hosttest.Text(worker, "spec", "consumerRef", "name"), "machine-w")
	master := get("metal3.io", "v1alpha1", "baremetalhosts", "openshift-machine-api", "m-1")
	check.Equal(t, hosttest.Text(master, "status", "hardware", "hostname"), "m-1")
	check.Equal(t, hosttest.Text(get("", "v1", "nodes", "", "m-2"), "metadata", "labels", "zone"), "a")
	get("", "v1", "configmaps", "default", "applied")
	events := s.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"})
	about := must.Get(events.Namespace("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=foreign"}))(t)
	if len(about.Items) == 0 || hosttest.Text(about.Items[0].Object, "reason") != "UnknownName" {
		t.Errorf("events about the foreign request: %v", about.Items)
	}
	event := get("", "v1", "events", "assisted-installer", readyEvent)
	check.Equal(t, hosttest.Text(event, "reason"), readyEvent)
	if len(event) > 0 {
		check.Do(t, events.Namespace("assisted-installer").Delete(ctx, readyEvent, metav1.DeleteOptions{}))
	}
	check.Do(t, s.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Delete(ctx, "m-3", metav1.DeleteOptions{}))
}
