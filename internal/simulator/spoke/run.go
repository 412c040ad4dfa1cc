package spoke

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The operators look at the cluster this often, but no more often than that takes little of the machine.
const (
	lookEvery = 2 * time.Second
	lookSoon  = 150 * time.Millisecond // real time
)

// Run plays the cluster's operators until ctx ends, and returns its cause.
func (s *Spoke) Run(ctx context.Context) error {
	p := newOperators(s)
	said := ""
	for {
		err := s.timely(ctx, p.look)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			s.logf("operators: %v", err)
		}
		if err := s.clock.Sleep(ctx, s.atLeast(lookEvery, lookSoon)); err != nil {
			return err
		}
	}
}

// operators are those of a cluster, with what they remember between two looks.
type operators struct {
	*Spoke
	began     time.Time
	leases    map[string]lastLease // by node
	firstSeen map[string]time.Time
	updating  map[string]time.Time // by node, since when its config is being changed
	update    *update              // nil while none runs
	etcd      etcdMemory
	approvals approvalMemory
	made      map[int]int // by trouble with requests, how many were made
	replays   map[string]recorded
	deleting  map[string]time.Time // Machines and hosts, by namespace and name
	missing   map[string]time.Time // nodes that pods are bound to and that are gone
}

// sighting is what was last seen of something that ought to change, and when that was new.
type sighting struct {
	what string
	at   time.Time
}

func newOperators(s *Spoke) *operators {
	return &operators{
		Spoke: s, began: s.clock.Now(),
		leases: map[string]lastLease{}, firstSeen: map[string]time.Time{}, updating: map[string]time.Time{},
		etcd: newEtcdMemory(s), approvals: newApprovalMemory(), made: map[int]int{}, replays: map[string]recorded{},
		deleting: map[string]time.Time{}, missing: map[string]time.Time{},
	}
}

type snapshot struct {
	now      metav1.Time
	nodes    []corev1.Node
	leases   map[string]*coordinationv1.Lease
	pods     []corev1.Pod
	requests []certificatesv1.CertificateSigningRequest
	pools    []unstructured.Unstructured
	machines []unstructured.Unstructured
	sets     []unstructured.Unstructured
	hosts    []unstructured.Unstructured
	silent   map[string]bool // nodes that do not report, by name
}

func (w *snapshot) node(name string) *corev1.Node {
	i := slices.IndexFunc(w.nodes, func(n corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &w.nodes[i]
}

type part struct {
	name string
	do   func(context.Context, *snapshot) error
}

// look does everything that is to be done now. Each operator goes on where another one fails.
func (p *operators) look(ctx context.Context) error {
	w, err := p.observe(ctx)
	if err != nil {
		return err
	}
	var first error
	parts := []part{
		{"nodes", p.watchNodes}, {"pods", p.runPods}, {"machine configs", p.configure}, {"version", p.keepVersion}, {"etcd", p.keepEtcd},
		{"machines", p.keepMachines}, {"requests", p.makeTrouble}, {"approvals", p.approve}, {"answered requests", p.removeAnswered},
	}
	if p.config.Shared {
		parts = []part{{"nodes", p.watchNodes}, {"approvals", p.approve}, {"answered requests", p.removeAnswered}}
	}
	for _, part := range parts {
		if err := part.do(ctx, w); err != nil {
			first = cmp.Or(first, fmt.Errorf("%s: %w", part.name, err))
		}
	}
	return first
}

func (p *operators) observe(ctx context.Context) (*snapshot, error) {
	w := &snapshot{now: metav1.NewTime(p.clock.Now()), leases: map[string]*coordinationv1.Lease{}, silent: map[string]bool{}}
	all := metav1.ListOptions{}
	nodes, err := p.core.CoreV1().Nodes().List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	leases, err := p.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	pods, err := p.core.CoreV1().Pods("").List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	requests, err := p.core.CertificatesV1().CertificateSigningRequests().List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	w.nodes, w.pods, w.requests = nodes.Items, pods.Items, requests.Items
	for i := range leases.Items {
		w.leases[leases.Items[i].Name] = &leases.Items[i]
	}
	lists := map[kind]*[]unstructured.Unstructured{kindPool: &w.pools}
	if p.cluster.MachineAPI {
		lists[kindMachine], lists[kindMachineSet], lists[kindBareMetalHost] = &w.machines, &w.sets, &w.hosts
	}
	for k, into := range lists {
		list, err := p.objectsOf(k, "").List(ctx, all)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.resource, err)
		}
		*into = list.Items
	}
	return w, nil
}
