package upgrade

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// choose is the update to ask for, or what stands in its way.
func (q *question) choose() (*updateRequest, *Decision) {
	for _, look := range []func() *Decision{q.skips, q.health} {
		if d := look(); d != nil {
			return nil, d
		}
	}
	request, unavailable := q.update()
	if unavailable != nil && unavailable.Reason != reasonNotRecommended {
		return nil, unavailable
	}
	// A gate that is not acknowledged, and what makes a cluster not upgradable, may be among the risks of an update
	// too: what they say is plainer.
	if d := q.readiness(); d != nil {
		return nil, d
	}
	return request, unavailable
}

func refusal(reason, format string, arguments ...any) *Decision {
	d := blocked(reason, format, arguments...)
	return &d
}

func (q *question) skips() *Decision {
	if stepOf(q.from(), q.wanted) != skip {
		return nil
	}
	between := fmt.Sprintf("%d.%d", q.from().Major(), q.from().Minor()+1)
	return refusal(reasonMinorSkipped, "%s is more than one minor version after %s: upgrade to a version of %s first. %s",
		q.want.Version, q.Current(), between, q.offers())
}

// from is the version that an update would lead away from.
func (q *question) from() *version.Version {
	if q.target != nil {
		if at, err := parse(q.target.Version); err == nil {
			return at
		}
	}
	return q.current
}

// health is what is wrong with a cluster that an update should not begin on.
func (q *question) health() *Decision {
	available, failing, progressing := q.cv.Conditions[conditionAvailable], q.cv.Conditions[conditionFailing],
		q.cv.Conditions[conditionProgressing]
	switch {
	case q.target == nil && progressing.Status == isTrue:
		return refusal(reasonOtherUpdate, "The cluster is still being updated: %s", progressing.says())
	case q.want.Force:
		return nil
	case available.Status != isTrue:
		return refusal(reasonNotAvailable, "The cluster is not available: %s. See kubectl get clusteroperators", available.says())
	case failing.Status == isTrue:
		return refusal(reasonFailing, "The cluster reports a failure: %s. See kubectl get clusteroperators. To update anyway: oc adm upgrade "+
			"--to=%s --allow-upgrade-with-warnings",
			failing.says(), q.want.Version)
	}
	return nil
}

// readiness is what the cluster wants done before it takes another minor version.
func (q *question) readiness() *Decision {
	if q.want.Force || stepOf(q.from(), q.wanted) != minor {
		return nil
	}
	var agreed, missing []string
	var why []string
	for _, g := range q.gates {
		switch {
		case g.Acknowledged:
		case slices.Contains(q.want.Acknowledge, g.Name):
			agreed = append(agreed, g.Name)
		default:
			missing = append(missing, g.Name)
			why = append(why, oneLine(g.Message))
		}
	}
	if len(missing) > 0 {
		return refusal(reasonAdminAckRequired, "Before the update to %s an administrator must acknowledge: %s. When everything is done: %s",
			q.want.Version, strings.Join(why, " / "), acknowledge(missing))
	}
	if len(agreed) > 0 {
		return &Decision{
			Verdict: model.VerdictWorking, Reason: reasonRequesting, Message: "The gates " + strings.Join(agreed, ", ") + " are acknowledged",
			request: &writeRequest{Acknowledge: agreed},
		}
	}
	if up := q.cv.Conditions[conditionUpgradeable]; up.Status == isFalse {
		return refusal(reasonNotUpgradeable, "The cluster cannot be updated to another minor version now (%s): %s",
			cmp.Or(up.Reason, "Upgradeable=False"), up.says())
	}
	return nil
}

// acknowledge is the command that acknowledges gates.
func acknowledge(gates []string) string {
	data := make([]string, 0, len(gates))
	for _, name := range gates {
		data = append(data, fmt.Sprintf("%q:%q", name, isAcknowledged))
	}
	return fmt.Sprintf(`kubectl -n %s patch configmap %s --type=merge --patch '{"data":{%s}}'`, ackNamespace, ackName, strings.Join(data,
		","))
}

// update is the update as it is to be asked for, by version where the graph recommends it, or why
// there is none.
func (q *question) update() (*updateRequest, *Decision) {
	w := q.want
	if w.Image != "" && !hasDigest(w.Image) {
		return nil, refusal(reasonImageUnavailable, "The release image %s has no digest: write REPOSITORY@sha256:…, as oc adm "+
			"release info shows it", w.Image)
	}
	images := imagesOf(q.cv.Available, w.Version)
	recommended := len(images) > 0
	conditional := q.conditional()
	switch {
	case !recommended && conditional != nil && !conditional.Recommended && !w.AcceptConditional && !w.Force:
		return nil, q.notRecommended(conditional)
	case w.Image != "":
		return &updateRequest{Version: w.Version, Image: w.Image, Force: w.Force}, nil
	case !recommended && conditional != nil:
		images = []string{conditional.Image}
	}
	switch {
	case len(images) > 1:
		return nil, refusal(reasonImageUnavailable, "The update graph has %d images of %s. Name one of them, with its digest, %s: %s",
			len(images), w.Version, w.byImage(), few(images))
	case recommended && !w.Force:
		return &updateRequest{Version: w.Version}, nil
	case len(images) == 1 && images[0] != "":
		return &updateRequest{Version: w.Version, Image: images[0], Force: w.Force}, nil
	case w.Force:
		return nil, refusal(reasonImageUnavailable, "The update graph does not have the image of %s. Name the image, with its digest, %s",
			w.Version, w.byImage())
	}
	return nil, q.unavailable()
}

// imagesOf are the images of a version, each once.
func imagesOf(releases []payload, version string) []string {
	var images []string
	for _, r := range releases {
		if r.Version == version && !slices.ContainsFunc(images, func(other string) bool { return sameImage(other, r.Image) }) {
			images = append(images, r.Image)
		}
	}
	return images
}

// imageOf is the release image of a version that the update graph recommends; "" where it has none, or several.
func (s *State) imageOf(version string) string {
	if images := imagesOf(s.version.Available, version); len(images) == 1 {
		return images[0]
	}
	return ""
}

// conditional is the wanted version among those that are recommended to some clusters.
func (q *question) conditional() *conditional {
	for i := range q.cv.Conditional {
		if c := &q.cv.Conditional[i]; c.Version == q.want.Version {
			return c
		}
	}
	return nil
}

func (q *question) notRecommended(c *conditional) *Decision {
	take := "oc adm upgrade --to=" + q.want.Version + " --allow-not-recommended"
	if field := q.want.Fields.AcceptConditional; field != "" {
		take = field + ": true, or " + take
	}
	return refusal(reasonNotRecommended, "The update to %s is not recommended for this cluster: %s. To accept the risk: %s",
		q.want.Version, strings.Join(c.risks(), " / "), take)
}

// mostRisks is how many risks of one update are passed on.
const mostRisks = 20

// risks are why the update may not be recommended.
func (c *conditional) risks() []string {
	var risks []string
	for i, r := range c.Risks {
		if i == mostRisks {
			return append(risks, fmt.Sprintf("and %d more", len(c.Risks)-mostRisks))
		}
		text := cmp.Or(oneLine(r.Name), "a risk without a name") + ": " + cmp.Or(oneLine(r.Message), unsaid)
		if r.URL != "" {
			text += " (" + oneLine(r.URL) + ")"
		}
		risks = append(risks, text)
	}
	if len(risks) == 0 {
		why := condition{Message: c.Message, Reason: c.Reason}
		risks = append(risks, why.says())
	}
	return risks
}

// byImage is how a person names the release image.
func (w *Want) byImage() string {
	if w.Fields.Image == "" {
		return "with oc adm upgrade --to-image"
	}
	return "in " + w.Fields.Image
}

// useChannel is how a person has the cluster use a channel.
func (w *Want) useChannel(channel string) string {
	use := "oc adm upgrade channel " + channel
	if w.Fields.Channel == "" {
		return use
	}
	return fmt.Sprintf("set %s: %s, or %s", w.Fields.Channel, channel, use)
}

// unavailable is why the update graph has no update to the wanted version, as far as the cluster says.
func (q *question) unavailable() *Decision {
	v, w := q.cv, q.want
	byImage := "Without an update graph, name the release image, with its digest, " + w.byImage()
	if v.Channel == "" {
		return refusal(reasonChannel, "The cluster has no channel, so it has no updates: %s. %s",
			w.useChannel("stable-"+minorText(q.wanted)), byImage)
	}
	if kind, of, is := channelOf(v.Channel); is && compare(of, lowest(q.wanted)) < 0 {
		better := kind + "-" + minorText(q.wanted)
		return refusal(reasonChannel, "Channel %s does not contain an update to %s: %s. %s",
			v.Channel, w.Version, w.useChannel(better), q.offers())
	}
	if r := v.Conditions[conditionRetrievedUpdates]; r.Status != isTrue && len(v.Available) == 0 {
		return refusal(reasonNotRetrieved, "The cluster has no updates: %s. %s",
			cmp.Or(oneLine(r.Message), oneLine(r.Reason), "it has not retrieved them yet"), byImage)
	}
	return refusal(reasonVersionUnavailable, "Channel %s has no update from %s to %s. %s", v.Channel, q.Current(), w.Version, q.offers())
}

// channelText is a channel such as stable-4.20. Its kind goes into a command.
var channelText = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)-([^-]+)$`)

// channelOf reads a channel such as stable-4.20.
func channelOf(channel string) (kind string, of *version.Version, is bool) {
	found := channelText.FindStringSubmatch(channel)
	if found == nil {
		return "", nil, false
	}
	of, err := version.ParseGeneric(found[2])
	return found[1], of, err == nil
}

func lowest(v *version.Version) *version.Version { return version.MajorMinor(v.Major(), v.Minor()) }

// offers are the versions that can be had.
func (q *question) offers() string {
	const most = 10
	list := versionsOf(q.cv.Available)
	switch {
	case len(list) == 0:
		return "It offers no updates"
	case len(list) > most:
		return fmt.Sprintf("It offers %s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return "It offers " + strings.Join(list, ", ")
}
