//go:build e2e

package capi

import (
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// noImages has one machine pull no image for a while, as with a pull secret that was revoked.
const noImages = `apiVersion: oaictl.io/v1alpha1
kind: Scenario
metadata: {name: no-images}
spec:
  hosts:
  - match: {name: rack-host-1}
    do: image-pull-failure
    args: {image: ocp-release, for: 1h}
`

// TestRevokedPullSecret: an installation that cannot begin since a machine may pull no image says which one it is, and
// begins once it may.
func TestRevokedPullSecret(t *testing.T) {
	t.Parallel()
	trouble := must.Get(scenario.Parse("no-images.yaml", []byte(noImages)))(t)
	r := newRig(t, 3, func(r *rig) { r.scenario = trouble })
	r.order("ha", 0)
	r.until("it is said what is missing", aWhile, func() (bool, string) {
		said := conditions.GetMessage(r.plane(), clusterv1.AvailableCondition)
		return strings.Contains(said, "container-images-available"), said
	})
	r.untilAvailable(aWhile)
	r.delete()
	r.checkGone()
}
