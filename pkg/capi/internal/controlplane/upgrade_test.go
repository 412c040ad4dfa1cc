package controlplane

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/shared/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// TestMismatchIsTakenBack: a report about versions before the installation is removed once they change. For an
// installed cluster, the report is made from what its nodes run.
func TestMismatchIsTakenBack(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		state  model.ClusterState
		stays  bool
	}{
		"before the installation": {reason: controlplanev1.VersionMismatchReason, state: model.ClusterReady},
		"on its way":              {reason: controlplanev1.VersionMismatchReason, state: model.ClusterInstalling},
		"installed":               {reason: controlplanev1.VersionMismatchReason, state: model.ClusterAddingHosts, stays: true},
		"nodes have said it":      {reason: controlplanev1.KubernetesVersionAvailableCondition, state: model.ClusterInstalling, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := observed()
			s.view.Observed.Cluster.State = test.state
			s.set(controlplanev1.KubernetesVersionAvailableCondition, metav1.ConditionFalse, test.reason, "")
			if s.releaseCheck().dropMismatch(); conditions.Has(s.plane, controlplanev1.KubernetesVersionAvailableCondition) != test.stays {
				t.Errorf("it says %+v", s.plane.Status.Conditions)
			}
		})
	}
}

// TestUpgradesAreLookedAtAgain: soon while the cluster is at work, seldom while a person has to act, and not at all
// where nothing is going on.
func TestUpgradesAreLookedAtAgain(t *testing.T) {
	s, _ := observed()
	s.Clock = clock.Real()
	notes := []string{"MachineConfigPool worker is paused"}
	for _, test := range []struct {
		decision upgrade.Decision
		after    time.Duration
	}{
		{upgrade.Decision{Verdict: ""}, 0},
		{upgrade.Decision{Verdict: model.VerdictWorking}, askAgain},
		{upgrade.Decision{Verdict: model.VerdictWaiting}, askAgain},
		{upgrade.Decision{Verdict: model.VerdictWaiting, Notes: notes}, askAgain},
		{upgrade.Decision{Verdict: model.VerdictFailed}, askAgain},
		{upgrade.Decision{Verdict: model.VerdictBlocked, Passes: true}, askAgain},
		{upgrade.Decision{Verdict: model.VerdictBlocked}, askBlocked},
		{upgrade.Decision{Verdict: model.VerdictInstalled, Notes: notes}, askBlocked},
		{upgrade.Decision{Verdict: model.VerdictInstalled}, 0},
	} {
		if after := s.upgrader().upgradeAgain(&test.decision); after != test.after {
			t.Errorf("%+v is looked at again after %s, and should be after %s", test.decision, after, test.after)
		}
	}
}

// TestOfOneRelease: every field that names a release is compared with distributionVersion, by the release image where
// that is named.
func TestOfOneRelease(t *testing.T) {
	image := "mirror.example.com/ocp@sha256:" + strings.Repeat("a", 64) // of 4.20.5
	for name, test := range map[string]struct {
		distribution, kubernetes, image, says string
	}{
		"nothing else is said":                {distribution: "4.20.6"},
		"a version":                           {distribution: "4.20.5", kubernetes: "v1.33.5"},
		"a version of another one":            {distribution: "4.20.5", kubernetes: "v1.34.1", says: "version v1.34.1 and distributionVersion 4.20.5 are not of one release"},
		"an image":                            {distribution: "4.20.5", image: image},
		"an image of another one":             {distribution: "4.20.6", image: image, says: "is OpenShift 4.20.5, and distributionVersion is 4.20.6: write distributionVersion: 4.20.5, or name the image of 4.20.6"},
		"an image that cannot be read":        {distribution: "4.20.6", image: "mirror.example.com/ocp:4.20.6"},
		"one of a version that nothing rules": {distribution: "5.0.1", image: "mirror.example.com/ocp:5.0.1"},
		"an image, and no other version":      {image: image},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := observed()
			s.view.Desired = &model.Desired{}
			s.Versions = &versions.Mapping{Clock: clock.Real()}
			s.ReadRelease = func(context.Context, *controlplanev1.OpenshiftAssistedControlPlane, *spec.Cluster, string) (versions.Payload, error) {
				return versions.Payload{Version: "4.20.5", Kubernetes: "1.33.5"}, nil
			}
			s.plane.Spec.DistributionVersion, s.plane.Spec.Version, s.plane.Spec.Config.ReleaseImage = test.distribution, test.kubernetes, test.image
			err := s.releaseCheck().checkVersions(t.Context(), s.view, test.image)
			if mismatch := s.releaseCheck().noteMismatch(err); mismatch != (test.says != "") || !mismatch && err != nil || !strings.Contains(s.mismatch, test.says) {
				t.Errorf("it says %v, and should say %q", err, test.says)
			}
		})
	}
}

// TestAsksOnceTheReleaseIsRight: an update is asked for only once its release image is of the wanted version, and the
// annotation forces the version that it names and no other.
func TestAsksOnceTheReleaseIsRight(t *testing.T) {
	const image = "quay.io/x@sha256:25"
	versionKind := schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}
	cluster := func() *fake.FakeDynamicClient {
		return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			versionKind: "ClusterVersionList", {Version: "v1", Resource: "nodes"}: "NodeList",
			{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigpools"}: "MachineConfigPoolList",
		}, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": map[string]any{"name": "version"},
			"status": map[string]any{
				"history":          []any{map[string]any{"state": "Completed", "version": "4.20.4", "image": "quay.io/x@sha256:24"}},
				"availableUpdates": []any{map[string]any{"version": "4.20.5", "image": image}},
				"conditions":       []any{map[string]any{"type": "Available", "status": "True"}},
			},
		}})
	}
	for name, test := range map[string]struct{ force, has, note string }{
		"right":                   {has: "4.20.5"},
		"of another release":      {has: "4.20.6"},
		"forced":                  {has: "4.20.5", force: "4.20.5"},
		"forced to another one":   {has: "4.20.5", force: "4.20.6", note: `Annotation oaictl.io/force-upgrade is "4.20.6" and has no effect: it must be "4.20.5"`},
		"forced without a reason": {has: "4.20.5", force: "true", note: "has no effect"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := observed()
			s.Clock, s.view.Desired, s.Versions = clock.Real(), &model.Desired{}, &versions.Mapping{Clock: clock.Real()}
			s.ReadRelease = func(context.Context, *controlplanev1.OpenshiftAssistedControlPlane, *spec.Cluster, string) (versions.Payload, error) {
				return versions.Payload{Version: test.has, Kubernetes: "1.33." + test.has[len(test.has)-1:]}, nil
			}
			s.plane.Spec.DistributionVersion, s.plane.Spec.Version, s.plane.Annotations = "4.20.5", "v1.33.5", map[string]string{forceAnnotation: test.force}
			c := cluster()
			_, d, err := s.upgrader().ask(t.Context(), c, s.upgrader().want())
			u, wrong := c.Resource(versionKind).Get(t.Context(), "version", metav1.GetOptions{})
			if wrong != nil {
				t.Fatal(wrong)
			}
			asked, _, _ := unstructured.NestedMap(u.Object, "spec", "desiredUpdate")
			mismatch, isMismatch := errors.AsType[*versions.VersionMismatch](err)
			if (test.has == "4.20.5") != (err == nil && asked["version"] == "4.20.5") || err != nil && (!isMismatch || asked != nil) {
				t.Errorf("asked for is %v, %v (%v)", asked, err, mismatch)
			}
			if asked["force"] != nil != (test.force == "4.20.5") {
				t.Errorf("asked for is %v", asked)
			}
			if notes := strings.Join(d.Notes, "; "); !strings.Contains(notes, test.note) || test.note == "" && notes != "" {
				t.Errorf("the notes are %q", notes)
			}
		})
	}
}

// TestUpgradeOfAnotherCluster: where the Secret has a kubeconfig of another cluster, that one is neither read nor asked.
func TestUpgradeOfAnotherCluster(t *testing.T) {
	s, _ := observed()
	s.Clock, s.plane.Spec.DistributionVersion, s.view.Observed.Cluster.OpenShiftID = clock.Real(), "4.20.5", "this"
	c := fake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": map[string]any{"name": "version"},
		"spec":   map[string]any{"clusterID": "that"},
		"status": map[string]any{"history": []any{map[string]any{"state": "Completed", "version": "4.20.4"}}},
	}})
	_, _, err := s.upgrader().ask(t.Context(), c, s.upgrader().want())
	if err == nil || !strings.Contains(err.Error(), "for another cluster: it reaches that, expected this") || len(c.Actions()) != 1 {
		t.Errorf("it is %v, after %v", err, c.Actions())
	}
}

// TestMessagesNameTheFields of the control plane, in which a person writes what is wanted.
func TestMessagesNameTheFields(t *testing.T) {
	s, _ := observed()
	s.plane.Spec.DistributionVersion = "4.20"
	fields := s.upgrader().want().Fields
	if fields.Version != "distributionVersion" || fields.Image != "spec.config.releaseImage" || fields.Channel != "spec.upgrade.channel" ||
		fields.AcceptConditional != "spec.upgrade.acceptConditional" {
		t.Errorf("they are %+v", fields)
	}
}
