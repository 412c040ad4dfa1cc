package controlplane

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/upgrade"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
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
			if s.dropMismatch(); conditions.Has(s.plane, controlplanev1.KubernetesVersionAvailableCondition) != test.stays {
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
		{upgrade.Decision{Phase: upgrade.Idle}, 0},
		{upgrade.Decision{Phase: upgrade.Requesting}, askAgain},
		{upgrade.Decision{Phase: upgrade.Requested}, askAgain},
		{upgrade.Decision{Phase: upgrade.Progressing, Notes: notes}, askAgain},
		{upgrade.Decision{Phase: upgrade.Failed}, askAgain},
		{upgrade.Decision{Phase: upgrade.Blocked, Reason: upgrade.ReasonOperatorBehind}, askAgain},
		{upgrade.Decision{Phase: upgrade.Blocked, Reason: upgrade.ReasonAdminAckRequired}, askBlocked},
		{upgrade.Decision{Phase: upgrade.Done, Notes: notes}, askBlocked},
		{upgrade.Decision{Phase: upgrade.Done}, 0},
	} {
		if after := s.upgradeAgain(&test.decision); after != test.after {
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
			s.Versions = &upgrade.Mapping{Clock: clock.Real()}
			s.ReadRelease = func(context.Context, *controlplanev1.OpenshiftAssistedControlPlane, *spec.Cluster, string) (upgrade.Payload, error) {
				return upgrade.Payload{Version: "4.20.5", Kubernetes: "1.33.5"}, nil
			}
			s.plane.Spec.DistributionVersion, s.plane.Spec.Version, s.plane.Spec.Config.ReleaseImage = test.distribution, test.kubernetes, test.image
			err := s.checkVersions(t.Context(), s.view, test.image)
			if mismatch := s.noteMismatch(err); mismatch != (test.says != "") || !mismatch && err != nil || !strings.Contains(s.mismatch, test.says) {
				t.Errorf("it says %v, and should say %q", err, test.says)
			}
		})
	}
}
