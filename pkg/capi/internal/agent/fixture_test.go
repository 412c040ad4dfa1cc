package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/pkg/capi/api"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// root is the folder of the project.
func root() string { return filepath.Join("..", "..", "..", "..") }

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// service plays a service: it shows what a test sets, and records what it was asked to do.
type service struct {
	install.Backend

	mu       sync.Mutex
	observed *model.Observed
	hosts    map[string][]model.Host // by InfraEnv
	acted    []model.Action
	act      func(model.Action) error
}

func (s *service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.observed == nil {
		return &model.Observed{At: clock.Real().Now()}, nil
	}
	copied := *s.observed
	copied.At = clock.Real().Now()
	return &copied, nil
}

func (s *service) Act(_ context.Context, _ *model.Desired, action model.Action) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acted = append(s.acted, action)
	if s.act != nil {
		return s.act(action)
	}
	return nil
}

func (s *service) Close() {}

func (s *service) ListInfraEnvs(context.Context, string) ([]model.InfraEnv, error) {
	return []model.InfraEnv{{ID: "id-of-other", Name: "rack"}, {ID: "id-of-rack", Name: "rack"}}, nil
}

func (s *service) ListHosts(_ context.Context, id string) ([]model.Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]model.Host{}, s.hosts[id]...), nil
}

// actions are those of a kind that the service was asked for.
func (s *service) actions(kind model.Kind) []model.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of []model.Action
	for _, a := range s.acted {
		if a.Kind == kind {
			of = append(of, a)
		}
	}
	return of
}

// objectOf is an object of a YAML text.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// conditionsOf are those of an Agent that can be installed, or is.
func conditionsOf(a *agentinstall.Agent, bindable, installed bool) {
	is := func(kind string, status bool, reason string) hubapi.Condition {
		c := hubapi.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(clock.Real().Now())}
		if status {
			c.Status = metav1.ConditionTrue
		}
		return c
	}
	reason := map[bool]string{true: hubapi.ReasonInstallationCompleted, false: "InstallationNotStarted"}[installed]
	a.Status.Conditions = []hubapi.Condition{
		is(hubapi.ConditionSpecSynced, true, "SyncOK"), is(hubapi.ConditionConnected, true, "AgentIsConnected"), is(hubapi.ConditionValidated, bindable, "ValidationsPassing"),
		is(hubapi.ConditionRequirementsMet, bindable, "AgentIsReady"), is(hubapi.ConditionInstalled, installed, reason), is(hubapi.ConditionBound, a.Spec.ClusterDeploymentName != nil, "Bound"),
	}
}

func toUnstructured(t *testing.T, agent *agentinstall.Agent) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(agent)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgent))
	return u
}

func conditionOf(object interface{ GetConditions() []metav1.Condition }, kind string) metav1.Condition {
	for _, c := range object.GetConditions() {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

func describe(object interface{ GetConditions() []metav1.Condition }) string {
	var parts []string
	for _, c := range object.GetConditions() {
		parts = append(parts, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(parts, ", ")
}

// hostOfPool is a host of a service that can be bound.
func hostOfPool(id, arch string) model.Host {
	return model.Host{
		ID: id, InfraEnvID: "id-of-rack", Hostname: "host-of-" + id, State: model.HostUnbound, Status: "known-unbound", Role: spec.Auto,
		Inventory: model.Inventory{
			Known: true, CPUs: 8, MemoryBytes: 32 << 30, Arch: arch, Manufacturer: "Example Inc", Disks: []model.Disk{{ID: "disk", SizeBytes: 500e9, Eligible: true, Type: "SSD"}},
			Interfaces: []model.Interface{{Name: "eth0", Up: true, Addresses: []string{"192.0.2.20/24"}}},
		},
	}
}

// installed is a service with an installed cluster of the name c, and what is desired of it: nothing.
func installed(namespace string) (*service, func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error)) {
	s := &service{observed: &model.Observed{Cluster: &model.Cluster{
		ClusterRef: model.ClusterRef{ID: namespace + "/c", Name: "c", BaseDomain: "example.com", Owned: true}, State: model.ClusterAddingHosts,
	}}}
	return s, func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
		one := 3
		cluster := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: "c"}}
		cluster.Spec.BaseDomain, cluster.Spec.Topology.ControlPlane = "example.com", &one
		return &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true, Unattended: true}}, nil
	}
}

// change changes a host of the service.
func (s *service) change(id string, change func(*model.Host)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hosts := range s.hosts {
		for i := range hosts {
			if hosts[i].ID == id {
				change(&hosts[i])
			}
		}
	}
}
