package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

const (
	// askAgain is how soon a cluster that is being upgraded is looked at again.
	askAgain = 15 * time.Second
	// askBlocked is how soon a cluster is read whose upgrade waits for a person. Changes of nodes and operators wake, too.
	askBlocked = 2 * time.Minute
	// asksAgain is how often a cluster that runs what is wanted is asked which updates it could have, and what its
	// API server is trusted by.
	asksAgain = 10 * time.Minute
)

// Workloads are clients of installed clusters, each kept as long as its kubeconfig stays the same. The
// zero value is ready. It is safe for concurrent use.
type Workloads struct {
	// Connector guards the connections.
	Connector workloadclient.Connector

	clients workloadclient.Clients
	mu      sync.Mutex
	asked   map[clusterloop.Key]queryTimes
}

// queryTimes is when a client of a cluster has asked it what. Another client asks anew.
type queryTimes struct {
	client *workloadclient.Client
	at     map[question]time.Time
}

// question is what an installed cluster is asked now and then.
type question int

const (
	aboutUpdates question = iota
	aboutAuthorities
)

// workloadTakes is how long an installed cluster may take to answer.
const workloadTakes = 20 * time.Second

// Client is a client of a cluster by its kubeconfig.
func (w *Workloads) Client(cluster clusterloop.Key, data []byte) (*workloadclient.Client, error) {
	c, err := w.clients.Get(cluster, data, workloadclient.Options{Config: w.Connector.Config, Timeout: workloadTakes})
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", cluster, err)
	}
	return c, nil
}

// isDue reports whether a client of a cluster is to ask it something, and notes that it does.
func (w *Workloads) isDue(cluster clusterloop.Key, by *workloadclient.Client, what question, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = map[clusterloop.Key]queryTimes{}
	}
	if w.asked[cluster].client != by {
		w.asked[cluster] = queryTimes{client: by, at: map[question]time.Time{}}
	}
	last, was := w.asked[cluster].at[what]
	if was && now.Sub(last) < asksAgain {
		return false
	}
	w.asked[cluster].at[what] = now
	return true
}

// Forget drops the client of a cluster that is gone.
func (w *Workloads) Forget(cluster clusterloop.Key) {
	w.clients.Forget(cluster)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.asked, cluster)
}

// upgrader brings an installed cluster to the wanted version.
type upgrader struct {
	*subject

	workloads *Workloads
	clock     clock.Clock
	recorder  events.EventRecorder
	release   *releaseCheck
}

func (s *scope) upgrader() *upgrader {
	return &upgrader{subject: s.subject, workloads: s.Workloads, clock: s.Clock, recorder: s.Recorder, release: s.releaseCheck()}
}

// want is what the cluster is to run.
func (u *upgrader) want() *upgrade.Want {
	spec := &u.plane.Spec
	version := strings.TrimPrefix(spec.DistributionVersion, "v")
	want := &upgrade.Want{
		Version: version, Image: spec.Config.ReleaseImage, Channel: spec.Upgrade.Channel,
		Force: version != "" && u.plane.Annotations[forceAnnotation] == version, AcceptConditional: ptr.Deref(spec.Upgrade.AcceptConditional,
			false),
		Acknowledge: spec.Upgrade.Acknowledge,
	}
	if u.view != nil && u.view.Observed.Cluster != nil {
		want.ClusterID = u.view.Observed.Cluster.OpenShiftID // the kubeconfig may be one that a person has put there
	}
	want.Fields.Version, want.Fields.Image = "distributionVersion", "spec.config.releaseImage"
	want.Fields.Channel, want.Fields.AcceptConditional = "spec.upgrade.channel", "spec.upgrade.acceptConditional"
	return want
}

// forceAnnotation on a control plane has an update to one exact version, which is its value, asked
// for with force. For every other version it has no effect.
const forceAnnotation = "oaictl.io/force-upgrade"

// noteForce adds, before the other notes, that the annotation forces nothing.
func (u *upgrader) noteForce(want *upgrade.Want, d *upgrade.Decision) {
	force := u.plane.Annotations[forceAnnotation]
	if force == "" || want.Force || d.Verdict == "" || d.Verdict == model.VerdictInstalled {
		return
	}
	d.Notes = append([]string{fmt.Sprintf("Annotation %s is %q and has no effect: it must be %q",
		forceAnnotation, force, want.Version)}, d.Notes...)
}

// ask reads how the cluster stands, and asks for what follows. An update is asked for once its release image is found to be
// of the wanted version. The decision is that from before the write.
func (u *upgrader) ask(ctx context.Context, c dynamic.Interface, want *upgrade.Want) (*upgrade.State, upgrade.Decision, error) {
	state, err := upgrade.Read(ctx, c, u.clock.Now(), want)
	if err != nil {
		return nil, upgrade.Decision{}, err
	}
	d := state.Decide(want)
	u.noteForce(want, &d)
	if d.Asks != nil {
		if err := u.release.checkVersions(ctx, u.view, d.Asks.Image); err != nil {
			return state, d, err
		}
	}
	return state, d, d.Write(ctx, c)
}

// releaseReader reads a release image, given the control plane that it is for and what else is desired of its cluster.
type releaseReader = func(
	ctx context.Context, plane *controlplanev1.OpenshiftAssistedControlPlane, desired *spec.Cluster, image string,
) (versions.Payload, error)

// releaseCheck holds what a control plane says of its versions against the release that it names.
type releaseCheck struct {
	*subject

	versions    *versions.Mapping
	readRelease releaseReader // nil where none can be read
}

func (s *scope) releaseCheck() *releaseCheck {
	return &releaseCheck{subject: s.subject, versions: s.Versions, readRelease: s.ReadRelease}
}

// namesReleaseTwice reports whether version or config.releaseImage say, beside distributionVersion, which release it is.
func (c *releaseCheck) namesReleaseTwice() bool {
	spec := &c.plane.Spec
	return spec.DistributionVersion != "" && (spec.Version != "" || spec.Config.ReleaseImage != "")
}

// checkVersions holds version, distributionVersion and config.releaseImage against each other, by the release image
// where it is known: what is not of one release is an *versions.VersionMismatch, and then nothing is installed and
// nothing upgraded.
func (c *releaseCheck) checkVersions(ctx context.Context, view *clusterloop.View, image string) error {
	spec := &c.plane.Spec
	if !c.namesReleaseTwice() {
		return nil
	}
	asking := versions.Asking{
		Distribution: strings.TrimPrefix(spec.DistributionVersion, "v"), Kubernetes: spec.Version,
		Image: cmp.Or(spec.Config.ReleaseImage, image), Named: spec.Config.ReleaseImage != "", By: string(c.plane.UID),
	}
	if c.readRelease != nil {
		asking.Read = func(ctx context.Context, image string) (versions.Payload, error) {
			return c.readRelease(ctx, c.plane, view.Desired.Spec, image)
		}
	}
	_, err := c.versions.Resolve(ctx, asking)
	if spec.Version == "" && errors.Is(err, versions.ErrNoRule) {
		return nil // no version of Kubernetes is wanted
	}
	return err
}

// noteMismatch notes that what is wanted is not of one release, and reports whether that is what is wrong.
func (c *releaseCheck) noteMismatch(err error) bool {
	mismatch, is := errors.AsType[*versions.VersionMismatch](err)
	if is {
		c.mismatch = mismatch.Error()
		c.set(controlplanev1.KubernetesVersionAvailableCondition, metav1.ConditionFalse, controlplanev1.VersionMismatchReason, c.mismatch)
	}
	return is
}

// dropMismatch takes back that what is wanted was not of one release. What an installed cluster runs is said in its place.
func (c *releaseCheck) dropMismatch() {
	const kind = controlplanev1.KubernetesVersionAvailableCondition
	if conditions.GetReason(c.plane, kind) == controlplanev1.VersionMismatchReason && c.phase() != lifecycle.Installed {
		conditions.Delete(c.plane, kind)
	}
}

// upgrade brings an installed cluster to the wanted version, in place. No Machine is replaced for it.
func (u *upgrader) upgrade(ctx context.Context, kubeconfig []byte) (ctrl.Result, error) {
	spoke := u.view.Observed.Spoke
	if !u.view.Installed() || spoke == nil || spoke.Trouble != "" {
		return ctrl.Result{}, nil
	}
	if u.mismatch != "" {
		u.release.notUpgraded()
		return ctrl.Result{}, nil
	}
	want := u.want()
	c, err := u.workloads.Client(u.key(), kubeconfig)
	if err != nil {
		return ctrl.Result{}, err
	}
	last := conditions.Get(u.plane, controlplanev1.UpgradeCompletedCondition)
	open := last == nil || last.Message != "" || last.ObservedGeneration != u.plane.Generation || // nodes that follow, say
		conditions.IsUnknown(u.plane, controlplanev1.UpgradeAvailableCondition) // it did not answer
	if spoke.Version == want.Version && u.plane.Status.DistributionVersion == want.Version && !open && !u.workloads.isDue(u.key(), c,
		aboutUpdates, u.clock.Now()) {
		return ctrl.Result{}, nil
	}
	state, decision, err := u.ask(ctx, c.Dynamic, want)
	if u.release.noteMismatch(err) {
		u.release.notUpgraded()
		return ctrl.Result{}, nil
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	if err != nil {
		u.set(controlplanev1.UpgradeAvailableCondition, metav1.ConditionUnknown, "ClusterVersionUnavailable", err.Error())
		return ctrl.Result{}, fmt.Errorf("upgrade the cluster %s: %w", u.key(), err)
	}
	u.plane.Status.AvailableUpdates = newest(state.Updates())
	u.showUpgrade(&decision)
	if decision.Asks != nil {
		u.recorder.Eventf(u.plane, u.cluster, corev1.EventTypeNormal, "UpgradeRequested",
			"Upgrade", "asked the cluster for version %s", decision.Asks.Version)
	}
	return ctrl.Result{RequeueAfter: u.upgradeAgain(&decision)}, nil
}

// upgradeAgain is how soon an upgrade is looked at again, 0 where nothing is waited for.
func (u *upgrader) upgradeAgain(d *upgrade.Decision) time.Duration {
	switch {
	case d.Verdict == "", d.Verdict == model.VerdictInstalled && len(d.Notes) == 0:
		return 0
	case d.Verdict == model.VerdictInstalled, d.Verdict == model.VerdictBlocked && !d.Passes:
		return max(soon, u.clock.Wall(askBlocked))
	}
	return askAgain
}

// mostUpdates is how many updates a status may list.
const mostUpdates = 100

// newest are the recommended ones of updates that are listed newest first, as many as a status may list.
func newest(updates []upgrade.Update) []string {
	var list []string
	for _, u := range updates {
		if u.Recommended && !slices.Contains(list, u.Version) && len(list) < mostUpdates {
			list = append(list, u.Version)
		}
	}
	return list
}

// notUpgraded says that the cluster stays what it is, since what is wanted is not of one release.
func (c *releaseCheck) notUpgraded() {
	c.set(controlplanev1.UpgradeCompletedCondition, metav1.ConditionFalse, controlplanev1.VersionMismatchReason, c.mismatch)
}

// showUpgrade says how far the upgrade is, and why there is none.
func (u *upgrader) showUpgrade(d *upgrade.Decision) {
	message := strings.Join(append([]string{d.Message}, d.Notes...), "; ")
	switch d.Verdict {
	case "":
	case model.VerdictBlocked:
		u.set(controlplanev1.UpgradeAvailableCondition, metav1.ConditionFalse, d.Reason, message)
		u.set(controlplanev1.UpgradeCompletedCondition, metav1.ConditionFalse, d.Reason, message)
	case model.VerdictInstalled:
		u.set(controlplanev1.UpgradeAvailableCondition, metav1.ConditionTrue, d.Reason, "")
		u.set(controlplanev1.UpgradeCompletedCondition, metav1.ConditionTrue, d.Reason, strings.Join(d.Notes, "; "))
	default:
		u.set(controlplanev1.UpgradeAvailableCondition, metav1.ConditionTrue, d.Reason, "")
		u.set(controlplanev1.UpgradeCompletedCondition, metav1.ConditionFalse, d.Reason, message)
	}
}
