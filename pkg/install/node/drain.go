package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/drain"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

const (
	evictionsAtOnce = 10
	evictAgain      = 4 * time.Second // less than what decides leaves a pod alone for
	labelLauncher   = "kubevirt.io=virt-launcher"
)

// refusals are the evictions that were refused, by the pods' uids. They are what no object shows.
type refusals struct {
	mu  sync.Mutex
	all map[types.UID]refusal
}

type refusal struct {
	text, budget string
	since, last  time.Time // on the API server's clock
}

func (r *refusals) of(uid types.UID) refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[uid]
}

func (r *refusals) note(uid types.UID, text, budget string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[types.UID]refusal{}
	}
	before := r.all[uid]
	if before.since.IsZero() {
		before.since = now
	}
	r.all[uid] = refusal{text: text, budget: budget, since: before.since, last: now}
}

func (r *refusals) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, uid)
}

// drainer is kubectl's, with which pods are told apart and asked to leave. It waits for nothing
// here.
func (c *connection) drainer(ctx context.Context, o install.DrainOptions) (*drain.Helper, error) {
	clientset, err := c.clientset()
	if err != nil {
		return nil, err
	}
	return &drain.Helper{
		Ctx: ctx, Client: clientset, Force: o.Force, GracePeriodSeconds: o.GracePeriod, IgnoreAllDaemonSets: o.IgnoreDaemonSets,
		DeleteEmptyDirData: o.DeleteEmptyDirData, PodSelector: o.PodSelector, DisableEviction: o.DisableEviction,
		SkipWaitForDeleteTimeoutSeconds: o.SkipWaitForDelete, ChunkSize: podsAtOnce, Out: io.Discard, ErrOut: io.Discard,
	}, nil
}

const podsAtOnce = 500

// readDrain reads which pods are to leave a node, and which may not.
func (c *connection) readDrain(ctx context.Context, node string, o install.DrainOptions, budgets []policyv1.PodDisruptionBudget) (model.NodeDrain, error) {
	out := model.NodeDrain{Node: node}
	launchers, err := c.core.Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node, LabelSelector: labelLauncher})
	if err != nil {
		return out, listFault("virtual machines", err)
	}
	for i := range launchers.Items {
		pod := &launchers.Items[i]
		out.Machines = append(out.Machines, pod.Namespace+"/"+cmp.Or(pod.Annotations["kubevirt.io/domain"], pod.Name))
	}
	drainer, err := c.drainer(ctx, o)
	if err != nil {
		return out, err
	}
	list, errs := drainer.GetPodsForDeletion(node)
	if list == nil {
		return out, listFault("pods", errors.Join(errs...))
	}
	for _, err := range errs {
		refused, is := readRefusal(err.Error())
		if !is {
			return out, listFault("pods", err)
		}
		out.Refused = append(out.Refused, refused)
	}
	slices.SortFunc(out.Refused, func(a, b model.DrainRefusal) int { return cmp.Compare(a.Reason, b.Reason) })
	for _, pod := range list.Pods() {
		out.Pods = append(out.Pods, c.readPod(&pod, budgets))
	}
	slices.SortFunc(out.Pods, func(a, b model.Pod) int { return cmp.Compare(a.ID(), b.ID()) })
	return out, nil
}

// readRefusal reads what kubectl says of pods that it does not make leave:
// "cannot delete REASON: NAMESPACE/NAME, NAMESPACE/NAME". Anything else is no refusal.
func readRefusal(text string) (model.DrainRefusal, bool) {
	rest, is := strings.CutPrefix(text, "cannot delete ")
	at := strings.LastIndex(rest, ": ")
	if !is || at < 0 {
		return model.DrainRefusal{}, false
	}
	reason, pods := rest[:at], strings.Split(rest[at+2:], ", ")
	if !strings.Contains(reason, "(use --") && !strings.HasSuffix(reason, " not found") {
		return model.DrainRefusal{}, false // it could not be told
	}
	if !strings.Contains(reason, "(use --") { // the DaemonSet of a pod is gone
		reason += " (use --force to delete its pods)"
	}
	slices.Sort(pods)
	return model.DrainRefusal{Reason: reason, Pods: pods}, true
}

func (c *connection) readPod(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget) model.Pod {
	out := model.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.Owner = owner.Kind + "/" + owner.Name
	}
	out.Local = slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
	if pod.DeletionTimestamp != nil {
		out.Deleting = pod.DeletionTimestamp.Time
		if pod.DeletionGracePeriodSeconds != nil {
			out.Deleting = out.Deleting.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
		}
		return out
	}
	if r := c.refusals.of(pod.UID); r.text != "" {
		out.Refusal, out.Budget, out.Held, out.Refused = r.text, r.budget, r.since, r.last
		return out
	}
	if pod.Status.Phase != corev1.PodRunning { // no budget holds any other
		return out
	}
	for i := range budgets {
		b := &budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && b.Namespace == pod.Namespace && b.Status.DisruptionsAllowed <= 0 && selector.Matches(labels.Set(pod.Labels)) {
			out.Budget = b.Name
		}
	}
	return out
}

// evict asks each pod of a node once to leave it. That one may not is no error: the next
// observation says so.
func (c *connection) evict(ctx context.Context, a install.Action, o install.DrainOptions) error {
	if node, there := c.nodes.get(a.Name); there && node.UID != a.Target {
		return c.failed("evict the pods of", a.Name, errOther)
	}
	helper, err := c.drainer(ctx, o)
	if err != nil {
		return c.failed("evict the pods of", a.Name, err)
	}
	list, errs := helper.GetPodsForDeletion(a.Name)
	if len(errs) > 0 {
		return c.failed("evict the pods of", a.Name, errors.Join(errs...))
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, evictionsAtOnce)
		fails []error
	)
	for _, pod := range list.Pods() {
		if pod.DeletionTimestamp != nil || c.there().Sub(c.refusals.of(pod.UID).last) < evictAgain {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := c.evictOne(helper, &pod); err != nil {
				mu.Lock()
				defer mu.Unlock()
				fails = append(fails, fmt.Errorf("%s/%s: %w", pod.Namespace, pod.Name, err))
			}
		})
	}
	group.Wait()
	const most = 3
	return c.failed("evict the pods of", a.Name, errors.Join(fails[:min(len(fails), most)]...))
}

// evictOne asks one pod to leave, as kubectl does, and no other one that has its name by now.
func (c *connection) evictOne(helper *drain.Helper, pod *corev1.Pod) error {
	uid := pod.UID
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if helper.GracePeriodSeconds >= 0 {
		options.GracePeriodSeconds = new(int64(helper.GracePeriodSeconds))
	}
	ask := func() error { return c.core.Pods(pod.Namespace).Delete(helper.Ctx, pod.Name, options) }
	if !helper.DisableEviction {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, DeleteOptions: &options}
		ask = func() error { return c.policy.Evictions(pod.Namespace).Evict(helper.Ctx, eviction) }
	}
	switch refused := ask(); {
	case refused == nil, apierrors.IsNotFound(refused), apierrors.IsConflict(refused):
		c.refusals.forget(pod.UID)
		return nil
	case apierrors.IsTooManyRequests(refused):
		c.refusals.note(pod.UID, refused.Error(), budgetIn(refused), c.there())
		return nil
	case apierrors.IsForbidden(refused) && apierrors.HasStatusCause(refused, corev1.NamespaceTerminatingCause):
		c.refusals.note(pod.UID, "its namespace is being deleted", "", c.there())
		return nil
	default:
		return refused
	}
}

// budgetIn is the budget that an eviction was refused for: "The disruption budget NAME needs ...".
func budgetIn(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	for _, cause := range status.Status().Details.Causes {
		rest, is := strings.CutPrefix(cause.Message, "The disruption budget ")
		if name, _, more := strings.Cut(rest, " "); is && more && cause.Type == policyv1.DisruptionBudgetCause {
			return name
		}
	}
	return ""
}
