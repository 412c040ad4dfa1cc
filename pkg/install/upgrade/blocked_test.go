package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestBlocked(t *testing.T) {
	many := []string{}
	for i := range 14 {
		many = append(many, fmt.Sprintf("4.20.%d", 10+i))
	}
	run(t, []row{
		{name: "no version", state: running("4.20.4"), want: Want{Version: "4.20"}, verdict: model.VerdictBlocked, reason: reasonInvalidVersion, says: []string{"4.20.5"}},
		{name: "a version of Kubernetes", state: running("4.20.4"), want: Want{Version: "v4.20.5"}, verdict: model.VerdictBlocked, reason: reasonInvalidVersion},
		{name: "the cluster runs no version", state: running("custom"), want: Want{Version: "4.20.5"}, verdict: model.VerdictBlocked, reason: reasonInvalidVersion},
		{
			name: "an older patch", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.3"},
			verdict: model.VerdictBlocked, reason: reasonDowngradeRefused, says: []string{"newer than 4.20.3", "distributionVersion: 4.20.4"},
		},
		{
			name: "an older patch, that the cluster came from", state: running("4.20.4", func(s *State) { s.version.History = append(s.version.History, completed("4.20.3")) }), want: Want{Version: "4.20.3"},
			verdict: model.VerdictBlocked, reason: reasonDowngradeRefused,
		},
		{name: "a candidate of what runs", state: running("4.20.4"), want: Want{Version: "4.20.4-rc.1"}, verdict: model.VerdictBlocked, reason: reasonDowngradeRefused},
		{
			name: "back, while it goes on", state: running("4.20.4", towards("4.20.6", -5, "Working towards 4.20.6")), want: Want{Version: "4.20.4"},
			verdict: model.VerdictBlocked, reason: reasonDowngradeRefused, says: []string{"from 4.20.4 to 4.20.6"},
		},
		{
			name: "to a version between, while it goes on", state: running("4.20.4", towards("4.20.6", -5, "Working towards 4.20.6"), available("4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonDowngradeRefused,
		},
		{
			name: "another update goes on", state: running("4.20.4", towards("4.20.5", -5, "Working towards 4.20.5: 1 of 2 done (50% complete)"), available("4.20.6")), want: Want{Version: "4.20.6"},
			verdict: model.VerdictBlocked, reason: reasonOtherUpdate, says: []string{"4.20.5 is 50% complete", "oaictl requests 4.20.6 when"},
		},
		{
			name: "another update fails", want: Want{Version: "4.20.6"},
			state:   running("4.20.4", towards("4.20.5", -50, "Unable to apply 4.20.5: x"), available("4.20.6"), is("Failing", "True", "etcd is degraded", -30)),
			verdict: model.VerdictBlocked, reason: reasonFailing, says: []string{"4.20.5", "etcd is degraded", "oc adm upgrade --to=4.20.6 --allow-upgrade-with-warnings"},
		},
		{
			name: "another update by image goes on", want: Want{Version: "4.20.6"},
			state: running("4.20.4", func(s *State) {
				s.version.History = append([]historyEntry{{payload: payload{Image: image("4.20.5")}, Started: at(-1)}}, s.version.History...)
			}),
			verdict: model.VerdictBlocked, reason: reasonOtherUpdate,
		},
		{
			name: "somebody has asked for another", want: Want{Version: "4.20.6"}, state: running("4.20.4", asked(desiredUpdate{Version: "4.20.5"}), behind, available("4.20.6")),
			verdict: model.VerdictBlocked, reason: reasonOperatorBehind,
		},
		{
			name: "the cluster looks at another", want: Want{Version: "4.20.6"},
			state:   running("4.20.4", asked(desiredUpdate{Version: "4.20.5"}), available("4.20.6"), is("ReleaseAccepted", "Unknown", `Retrieving and verifying payload version="4.20.5"`, 0)),
			verdict: model.VerdictBlocked, reason: reasonOtherUpdate, says: []string{"Retrieving and verifying"},
		},
		{
			name: "it is still at work", state: running("4.20.4", is("Progressing", "True", "Working towards 4.20.4", -1), available("4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonOtherUpdate,
		},
		{
			name: "it is not available", state: running("4.20.4", is("Available", "False", "kube-apiserver is away", -1), available("4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonNotAvailable, says: []string{"kube-apiserver is away", "kubectl get clusteroperators"},
		},
		{
			name: "it fails", state: running("4.20.4", is("Failing", "True", "a manifest\nis refused.", -1), available("4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonFailing, says: []string{"a manifest is refused. See", "--to=4.20.5 --allow-upgrade-with-warnings"},
		},
		{
			name: "minor versions are skipped", state: running("4.18.4", available("4.19.7", "4.19.12", "4.18.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonMinorSkipped, says: []string{"to a version of 4.19 first", "4.19.12, 4.19.7, 4.18.5"},
		},
		{
			name: "by image, too", state: running("4.18.4"), want: Want{Version: "4.20.5", Image: image("4.20.5")}, verdict: model.VerdictBlocked, reason: reasonMinorSkipped,
		},
		{
			name: "a gate", state: running("4.19.20", available("4.20.5"), gate("ack-4.19-kube-1.33-api-removals-in-4.20", false), is("Upgradeable", "False", "AdminAckRequired", -1)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonAdminAckRequired,
			says: []string{
				"Kubernetes 1.33 removes APIs", `kubectl -n openshift-config patch configmap admin-acks --type=merge --patch '{"data":{"ack-4.19-kube-1.33-api-removals-in-4.20":"true"}}'`,
			},
		},
		{
			name: "two gates, one of them agreed to", state: running("4.19.20", available("4.20.5"), gate("ack-4.19-a", false), gate("ack-4.19-b", false)), want: Want{Version: "4.20.5", Acknowledge: []string{"ack-4.19-a"}},
			verdict: model.VerdictBlocked, reason: reasonAdminAckRequired, says: []string{`{"data":{"ack-4.19-b":"true"}}`},
		},
		{
			name: "a gate that makes the update one with risks", state: running("4.19.20", risky("4.20.5", "AdminAck-ack-4.19-a"), gate("ack-4.19-a", false)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonAdminAckRequired,
		},
		{
			name: "it takes no minor version", state: running("4.19.20", available("4.20.5"), is("Upgradeable", "False", "Cluster operator x should not be upgraded", -1)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonNotUpgradeable, says: []string{"Cluster operator x should not be upgraded"},
		},
		{
			name: "it takes no minor version by image either", state: running("4.19.20", is("Upgradeable", "False", "x", -1)), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			verdict: model.VerdictBlocked, reason: reasonNotUpgradeable,
		},
		{
			name: "the graph does not have it", state: running("4.20.4", available("4.20.7", "4.20.10", "4.20.6")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonVersionUnavailable, says: []string{"Channel stable-4.20", "from 4.20.4 to 4.20.5", "It offers 4.20.10, 4.20.7, 4.20.6"},
		},
		{
			name: "the graph has many others", state: running("4.20.4", available(many...)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonVersionUnavailable, says: []string{"4.20.23, 4.20.22", "and 4 more"},
		},
		{name: "the graph has nothing", state: running("4.20.4"), want: Want{Version: "4.20.5"}, verdict: model.VerdictBlocked, reason: reasonVersionUnavailable, says: []string{"It offers no updates"}},
		{
			name: "the channel is of another minor version", state: running("4.19.20", on("fast-4.19"), available("4.19.22")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonChannel, says: []string{"Channel fast-4.19", "spec.upgrade.channel: fast-4.20", "oc adm upgrade channel fast-4.20", "It offers 4.19.22"},
		},
		{
			name: "there is no channel", state: running("4.19.20", on("")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonChannel, says: []string{"oc adm upgrade channel stable-4.20", "spec.config.releaseImage"},
		},
		{
			name: "the channel has a name of somebody's own", state: running("4.19.20", on("ours")), want: Want{Version: "4.20.5"}, verdict: model.VerdictBlocked, reason: reasonVersionUnavailable,
		},
		{
			name: "the graph cannot be asked", state: running("4.20.4", is("RetrievedUpdates", "False", "Unable to retrieve available updates: no route to host", -60)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonNotRetrieved, says: []string{"no route to host", "spec.config.releaseImage"},
		},
		{
			name: "a risk", state: running("4.20.4", risky("4.20.5", "DiskTrouble"), available("4.20.6")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonNotRecommended, says: []string{"DiskTrouble: It may break", "https://example.com/DiskTrouble", "acceptConditional: true", "oc adm upgrade --to=4.20.5 --allow-not-recommended"},
		},
		{
			name: "a risk, by image", state: running("4.20.4", risky("4.20.5", "DiskTrouble")), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			verdict: model.VerdictBlocked, reason: reasonNotRecommended,
		},
		{
			name: "a risk without a name", state: running("4.20.4", risky("4.20.5", "X"), func(s *State) { s.version.Conditional[0].Risks = nil }), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonNotRecommended, says: []string{"It may break. See the page"},
		},
		{
			name: "by image without digest", state: running("4.20.4"), want: Want{Version: "4.20.5", Image: "quay.io/a/b:4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonImageUnavailable, says: []string{"quay.io/a/b:4.20.5", "@sha256:"},
		},
		{
			name: "two images", state: running("4.20.4", available("4.20.5"), func(s *State) {
				s.version.Available = append(s.version.Available, payload{Version: "4.20.5", Image: image("4.20.5.1")})
			}), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonImageUnavailable, says: []string{"2 images of 4.20.5"},
		},
		{
			name: "one image in two repositories", state: running("4.20.4", available("4.20.5"), func(s *State) {
				s.version.Available = append(s.version.Available, payload{Version: "4.20.5", Image: strings.Replace(image("4.20.5"), "quay.io", "mirror.example.com", 1)})
			}), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
	})
}

func TestAsked(t *testing.T) {
	accepts := func(status, message string, minutes int) func(*State) {
		return is("ReleaseAccepted", status, message, minutes)
	}
	was := asked(desiredUpdate{Version: "4.20.5"})
	run(t, []row{
		{name: "a moment ago", state: running("4.20.4", available("4.20.5"), was, behind), want: Want{Version: "4.20.5"}, verdict: model.VerdictWaiting, reason: reasonRequested},
		{name: "and read", state: running("4.20.4", available("4.20.5"), was), want: Want{Version: "4.20.5"}, verdict: model.VerdictWaiting, reason: reasonRequested},
		{
			name: "and looked at", state: running("4.20.4", available("4.20.5"), was, accepts("Unknown", `Retrieving and verifying payload version="4.20.5"`, 0)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWaiting, reason: reasonRequested, says: []string{"Retrieving and verifying payload"},
		},
		{
			name: "after one that was refused", state: running("4.20.4", available("4.20.5"), was, accepts("False", `Retrieving payload failed version="4.20.3"`, -60)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
		{
			name: "after one that was refused without saying which", state: running("4.20.4", available("4.20.5"), was, accepts("False", "no", 0)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
		{
			name: "and refused", state: running("4.20.4", available("4.20.5"), was, accepts("False", `Retrieving payload failed version="4.20.5" image="x" failure=The update cannot be verified: no signature`, -1)),
			want: Want{Version: "4.20.5"}, verdict: model.VerdictBlocked, reason: reasonRefused, says: []string{"cannot be verified", "oc adm upgrade --clear"},
		},
		{
			name: "and refused without saying what", state: running("4.20.4", available("4.20.5"), was, accepts("False", "no", -5)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonRefused,
		},
		{
			name: "and refused for what was in the way all along", want: Want{Version: "4.20.5"},
			state:   running("4.19.4", available("4.20.5"), was, gate("ack-4.19-a", false), accepts("False", `Preconditions failed for payload loaded version="4.20.5"`, -1)),
			verdict: model.VerdictBlocked, reason: reasonAdminAckRequired, says: []string{"admin-acks"},
		},
		{
			name: "and refused until a gate is passed", want: Want{Version: "4.20.5", Acknowledge: []string{"ack-4.19-a"}},
			state:   running("4.19.4", available("4.20.5"), was, gate("ack-4.19-a", false), accepts("False", `Preconditions failed for payload loaded version="4.20.5"`, -1)),
			verdict: model.VerdictWorking, reason: reasonRequesting, write: &writeRequest{Acknowledge: []string{"ack-4.19-a"}},
		},
		{
			name: "and not understood", state: running("4.20.4", available("4.20.5"), was, is("Invalid", "True", "the update must be an available update", -1)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonRefused, says: []string{"must be an available update"},
		},
		{
			name: "by a person who takes the risk", state: running("4.20.4", risky("4.20.5", "X"), asked(desiredUpdate{Version: "4.20.5", Image: image("4.20.5")})), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
		{
			name: "by a person who does not mind that it fails", state: running("4.20.4", available("4.20.5"), is("Failing", "True", "x", -60), was), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
		{
			name: "by its image alone", state: running("4.20.4", asked(desiredUpdate{Image: image("4.20.5")})), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
		{
			name: "and withdrawn", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
	})
}
