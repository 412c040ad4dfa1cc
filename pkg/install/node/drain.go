package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install/model"
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

// podsOf are the pods of a node that a drain looks at.
func (c *connection) podsOf(ctx context.Context, node string, o model.DrainOptions) ([]corev1.Pod, error) {
	list, err := c.Core.Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node, LabelSelector: o.PodSelector})
	if err != nil {
		return nil, listFault("pods", err)
	}
	return list.Items, nil
}

// Why kubectl drain does not have a pod leave, in its words.
const (
	ofDaemonSet  = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
	localStorage = "Pods with local storage (use --delete-emptydir-data to override)"
	unmanaged    = "Pods that declare no controller (use --force to override)"
)

// leaves reports whether a drain has a pod leave. One that does not is passed over where refused is "". The rules are
// those of kubectl drain: pods of DaemonSets and static pods stay, and a flag has to allow that data or a pod without
// a controller is lost.
func (c *connection) leaves(ctx context.Context, pod *corev1.Pod, o model.DrainOptions) (leaves bool, refused string, err error) {
	patience := o.SkipWaitForDelete // whole seconds, as kubectl counts them
	if patience > 0 && pod.DeletionTimestamp != nil && int(c.there().Sub(pod.DeletionTimestamp.Time).Seconds()) > patience {
		return false, "", nil
	}
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	owner := metav1.GetControllerOf(pod)
	if !finished && owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String() {
		sets := c.Metadata.Resource(appsv1.SchemeGroupVersion.WithResource("daemonsets")).Namespace(pod.Namespace)
		switch _, err := sets.Get(ctx, owner.Name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err) && !o.Force:
			return false, fmt.Sprintf("Pods of the DaemonSet %s, which does not exist any more (use --force to delete its pods)", owner.Name), nil
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, "", fmt.Errorf("get the DaemonSet %s/%s: %w", pod.Namespace, owner.Name, err)
		case !o.IgnoreDaemonSets:
			return false, ofDaemonSet, nil
		default:
			return false, "", nil
		}
	}
	switch {
	case static:
		return false, "", nil
	case finished:
		return true, "", nil
	case hasLocalStorage(pod) && !o.DeleteEmptyDirData:
		return false, localStorage, nil
	case owner == nil && !o.Force:
		return false, unmanaged, nil
	}
	return true, "", nil
}

func hasLocalStorage(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

// readDrain reads which pods are to leave a node, and which may not.
func (c *connection) readDrain(ctx context.Context, node string, o model.DrainOptions,
	budgets []policyv1.PodDisruptionBudget) (model.NodeDrain, error) {
	out := model.NodeDrain{Node: node}
	launchers, err := c.Core.Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node, LabelSelector: labelLauncher})
	if err != nil {
		return out, listFault("virtual machines", err)
	}
	for i := range launchers.Items {
		pod := &launchers.Items[i]
		out.Machines = append(out.Machines, pod.Namespace+"/"+cmp.Or(pod.Annotations["kubevirt.io/domain"], pod.Name))
	}
	pods, err := c.podsOf(ctx, node, o)
	if err != nil {
		return out, err
	}
	refusals := map[string][]string{}
	for i := range pods {
		pod := &pods[i]
		leaves, refused, err := c.leaves(ctx, pod, o)
		switch {
		case err != nil:
			return out, err
		case leaves:
			out.Pods = append(out.Pods, c.readPod(pod, budgets))
		case refused != "":
			refusals[refused] = append(refusals[refused], pod.Namespace+"/"+pod.Name)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		slices.Sort(refusals[reason])
		out.Refused = append(out.Refused, model.DrainRefusal{Reason: reason, Pods: refusals[reason]})
	}
	slices.SortFunc(out.Pods, func(a, b model.Pod) int { return cmp.Compare(a.ID(), b.ID()) })
	return out, nil
}

func (c *connection) readPod(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget) model.Pod {
	out := model.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.Owner = owner.Kind + "/" + owner.Name
	}
	out.Local = hasLocalStorage(pod)
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
func (c *connection) evict(ctx context.Context, a model.Action, o model.DrainOptions) error {
	if uid := c.nodes.Get(a.Name).UID; uid != "" && uid != a.Target {
		return c.failed("evict the pods of", a.Name, errOther)
	}
	pods, err := c.podsOf(ctx, a.Name, o)
	if err != nil {
		return c.failed("evict the pods of", a.Name, err)
	}
	var leaving []*corev1.Pod
	for i := range pods {
		leaves, refused, err := c.leaves(ctx, &pods[i], o)
		if refused != "" {
			err = errors.New(refused)
		}
		switch id := pods[i].Namespace + "/" + pods[i].Name; {
		case err != nil:
			return c.failed("evict the pods of", a.Name, fmt.Errorf("%s: %w", id, err))
		case leaves:
			leaving = append(leaving, &pods[i])
		}
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, evictionsAtOnce)
		fails []error
	)
	for _, pod := range leaving {
		if pod.DeletionTimestamp != nil || c.there().Sub(c.refusals.of(pod.UID).last) < evictAgain {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := c.evictOne(ctx, pod, o); err != nil {
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
func (c *connection) evictOne(ctx context.Context, pod *corev1.Pod, o model.DrainOptions) error {
	uid := pod.UID
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if o.GracePeriod >= 0 {
		options.GracePeriodSeconds = new(int64(o.GracePeriod))
	}
	ask := func() error { return c.Core.Pods(pod.Namespace).Delete(ctx, pod.Name, options) }
	if !o.DisableEviction {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, DeleteOptions: &options}
		ask = func() error { return c.Policy.Evictions(pod.Namespace).Evict(ctx, eviction) }
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
