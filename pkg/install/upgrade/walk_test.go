package upgrade

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// operator plays the cluster version operator, and all others who may change a ClusterVersion.
type operator struct {
	*rand.Rand

	s      *State
	graph  []string // versions that the graph knows
	others bool     // people meddle
	refuse bool     // it may refuse what it is asked for
	ack    bool     // the gate is acknowledged
	asking int      // writes of the spec by us
	by     string   // who wrote the desiredUpdate that is there
}

const theGate = "ack-4.19-api"

func newOperator(seed uint64) *operator {
	r := rand.New(rand.NewPCG(seed, 1))
	o := &operator{Rand: r, graph: []string{"4.19.8", "4.20.3", "4.20.5", "4.20.6"}, s: running("4.19.7", on("stable-4.20"))}
	o.publish()
	return o
}

func (o *operator) cv() *clusterVersion { return o.s.version }

func (o *operator) set(kind, status, message string) {
	c := o.cv().Conditions[kind]
	if c.Status != status {
		c.Since = o.s.At
	}
	c.Status, c.Message = status, message
	o.cv().Conditions[kind] = c
}

func (o *operator) busy() bool { return !o.cv().History[0].Completed }

// publish brings the updates that lead on from the target up to date.
func (o *operator) publish() {
	at, _ := parse(o.cv().Target.Version)
	o.cv().Available, o.cv().Conditional = nil, nil
	for _, text := range o.graph {
		to, _ := parse(text)
		if kind := stepOf(at, to); kind != patch && kind != minor {
			continue
		}
		if text == "4.20.5" && o.others {
			o.cv().Conditional = append(o.cv().Conditional, conditional{payload: release(text), Recommended: false, Risks: []conditionalRisk{{Name: "Trouble", Message: "x"}}})
			continue
		}
		o.cv().Available = append(o.cv().Available, release(text))
	}
	o.s.gates = nil
	if minorText(at) == "4.19" {
		o.s.gates = []adminGate{{Name: theGate, Message: "x", Acknowledged: o.ack}}
	}
}

// observe reads the spec.
func (o *operator) observe() {
	v := o.cv()
	if v.Observed == v.Generation {
		return
	}
	v.Observed = v.Generation
	o.publish()
	o.set(conditionInvalid, isFalse, "")
	if a := v.Asked; a != nil && a.Image == "" && a.Version != v.Target.Version && imagesOf(v.Available, a.Version) == nil {
		o.set(conditionInvalid, isTrue, "when image is empty the update must be an available update")
		return
	}
	if a := v.Asked; a != nil && a.Version != v.Target.Version {
		o.set(conditionReleaseAccepted, isUnknown, fmt.Sprintf("Retrieving and verifying payload version=%q", a.Version))
	}
}

// accept decides on what it was asked for.
func (o *operator) accept() {
	v := o.cv()
	if v.Asked == nil || !v.is(conditionReleaseAccepted, isUnknown) || v.Observed != v.Generation {
		return
	}
	to, _ := parse(v.Asked.Version)
	at, _ := parse(v.Target.Version)
	kind := stepOf(at, to)
	if !v.Asked.Force && (kind == skip || kind == older || kind == minor && !o.ack || o.refuse && o.IntN(3) == 0) {
		o.set(conditionReleaseAccepted, isFalse, fmt.Sprintf("Preconditions failed for payload loaded version=%q", v.Asked.Version))
		return
	}
	o.set(conditionReleaseAccepted, isTrue, "Payload loaded")
	v.Target = release(v.Asked.Version)
	v.History = append([]historyEntry{{payload: v.Target, Started: o.s.At}}, v.History...)
	o.set(conditionProgressing, isTrue, workingPrefix+v.Target.Version)
	o.publish()
}

// work goes on with an update.
func (o *operator) work() {
	v := o.cv()
	if !o.busy() {
		return
	}
	if o.IntN(4) > 0 {
		o.set(conditionProgressing, isTrue, fmt.Sprintf("%s%s: %d of 900 done (%d%% complete), waiting on etcd", workingPrefix, v.Target.Version, 9*o.IntN(100), o.IntN(100)))
		return
	}
	v.History[0].Completed = true
	o.set(conditionProgressing, isFalse, "Cluster version is "+v.Target.Version)
	o.set(conditionFailing, isFalse, "")
	o.publish()
}

// meddle is what people, and trouble, do.
func (o *operator) meddle() {
	v := o.cv()
	switch o.IntN(7) {
	case 0:
		o.set(conditionFailing, []string{isTrue, isFalse, isUnknown}[o.IntN(3)], "trouble")
	case 1:
		o.set(conditionAvailable, []string{isTrue, isFalse}[o.IntN(2)], "trouble")
	case 2:
		o.set(conditionUpgradeable, []string{isTrue, isFalse}[o.IntN(2)], "trouble")
	case 3:
		v.Asked, o.by = nil, "people"
		v.Generation++
	case 4:
		v.Asked, o.by = &desiredUpdate{Version: o.graph[o.IntN(len(o.graph))], Force: o.IntN(5) == 0}, "people"
		v.Asked.Image = image(v.Asked.Version)
		v.Generation++
	case 5:
		o.ack = o.ack || o.IntN(2) == 0
		o.publish()
	case 6:
		if o.IntN(2) == 0 {
			v.Channel = []string{"stable-4.19", "stable-4.20", ""}[o.IntN(3)]
			v.Generation++
		}
	}
}

// write is what [Write] does to the object.
func (o *operator) write(r *writeRequest) {
	v := o.cv()
	switch {
	case r.Channel != "":
		v.Channel = r.Channel
		v.Generation++
	case r.Acknowledge != nil:
		o.ack = slices.Contains(r.Acknowledge, theGate)
		o.publish()
	case r.Update != nil:
		v.Asked, o.by = &desiredUpdate{Version: r.Update.Version, Image: r.Update.Image, Force: r.Update.Force}, "us"
		v.Generation++
		o.asking++
	}
}

// hold holds a decision to what must never be.
func (o *operator) hold(w *Want, d *Decision, wrote *updateRequest) error {
	v := o.cv()
	last := v.History[0]
	wanted, _ := parse(w.Version)
	current, _ := parse(o.s.Current())
	at, _ := parse(v.Target.Version)
	complaint := func(format string, arguments ...any) error {
		return fmt.Errorf(format+" (%+v, of %+v)", append(arguments, *d, *v)...)
	}
	if d.Reason == "" || d.Message == "" {
		return complaint("it does not say why")
	}
	if (d.Verdict == model.VerdictWorking) != (d.request != nil) && d.Verdict != model.VerdictInstalled {
		return complaint("%s and its request do not agree", d.Verdict)
	}
	switch {
	case d.Verdict == model.VerdictInstalled:
		if !last.Completed || last.Version != w.Version {
			return complaint("done, and the history says %+v", last)
		}
	case d.Verdict == model.VerdictFailed:
		if last.Completed || last.Version != w.Version || !v.is(conditionFailing, isTrue) || o.s.At.Sub(v.Conditions[conditionFailing].Since) < failureStands {
			return complaint("failed, and it does not, or not for long, or not this update")
		}
	case d.Reason == reasonInProgress:
		if last.Completed || last.Version != w.Version {
			return complaint("progressing, and the history says %+v", last)
		}
	case d.Reason == reasonRequested:
		if v.Asked == nil || v.Asked.Version != w.Version {
			return complaint("requested, and it is not")
		}
	}
	if d.request == nil || d.request.Update == nil {
		return nil
	}
	r := d.request.Update
	switch {
	case r.Force && !w.Force:
		return complaint("force that nobody asked for")
	case r.Version != w.Version:
		return complaint("a request for %s", r.Version)
	case compare(wanted, current) < 0 || compare(wanted, at) < 0:
		return complaint("a request to go back")
	case stepOf(at, wanted) == skip:
		return complaint("a request to skip a minor version")
	case r.Image == "" && imagesOf(v.Available, r.Version) == nil:
		return complaint("a request by version, and the graph does not have it")
	case r.Image != "" && w.Image == "" && !r.Force && !w.AcceptConditional:
		return complaint("a request by image that nobody asked for")
	case o.busy() && !v.is(conditionFailing, isTrue):
		return complaint("a request in the middle of an update")
	case o.by == "us" && wrote != nil && *wrote == *r && v.Asked != nil:
		return complaint("the same request again")
	}
	return nil
}

func TestRandomWalks(t *testing.T) {
	const walks, steps = 500, 120
	reached := map[model.Verdict]int{}
	reasons := map[string]int{}
	for seed := range uint64(walks) {
		o := newOperator(seed)
		o.others, o.refuse = seed%4 != 0, seed%3 == 0
		o.publish()
		w := Want{Version: []string{"4.19.6", "4.19.8", "4.19.9", "4.20.3", "4.20.5", "4.20.6", "4.21.0"}[o.IntN(7)], AcceptConditional: o.IntN(3) == 0}
		if o.IntN(4) == 0 {
			w.Force = o.IntN(3) == 0
		}
		if o.IntN(4) == 0 {
			w.Image = image(w.Version)
		}
		if o.IntN(2) == 0 {
			w.Acknowledge = []string{theGate}
		}
		if o.IntN(3) == 0 {
			w.Channel = "fast-4.20"
		}
		var wrote *updateRequest
		for range steps {
			o.s.At = o.s.At.Add(time.Duration(o.IntN(300)) * time.Second)
			d := o.s.Decide(&w)
			if again := o.s.Decide(&w); !reflect.DeepEqual(d, again) {
				t.Fatalf("walk %d: two decisions of one state: %+v and %+v", seed, d, again)
			}
			if err := o.hold(&w, &d, wrote); err != nil {
				t.Fatalf("walk %d: %v", seed, err)
			}
			reached[d.Verdict]++
			reasons[d.Reason]++
			if d.request != nil && o.IntN(5) > 0 { // a write may fail
				o.write(d.request)
				if d.request.Update != nil {
					wrote = d.request.Update
				}
				if now := o.s.Decide(&w); now.request != nil && reflect.DeepEqual(now.request, d.request) {
					t.Fatalf("walk %d: what was written is to be written again: %+v", seed, now)
				}
			}
			[]func(){o.observe, o.observe, o.accept, o.accept, o.work, func() {
				if o.others {
					o.meddle()
				}
			}}[o.IntN(6)]()
		}
	}
	for _, phase := range []model.Verdict{model.VerdictBlocked, model.VerdictWorking, model.VerdictWaiting, model.VerdictFailed, model.VerdictInstalled} {
		if reached[phase] == 0 {
			t.Errorf("no walk was ever %s: %v", phase, reached)
		}
	}
	for _, reason := range []string{reasonDowngradeRefused, reasonMinorSkipped, reasonOtherUpdate, reasonNotAvailable, reasonFailing, reasonOperatorBehind, reasonAdminAckRequired, reasonNotUpgradeable, reasonVersionUnavailable, reasonChannel, reasonNotRecommended, reasonRefused} {
		if reasons[reason] == 0 {
			t.Errorf("no walk ever came to %s: %v", reason, reasons)
		}
	}
}

// TestWalksArrive: if no other client changes the cluster, it gets to the wanted version, by one request.
func TestWalksArrive(t *testing.T) {
	for seed := range uint64(300) {
		o := newOperator(seed)
		w := Want{Version: []string{"4.19.8", "4.20.3", "4.20.6"}[seed%3], Acknowledge: []string{theGate}}
		d := o.s.Decide(&w)
		for turn := 0; d.Verdict != model.VerdictInstalled; turn++ {
			if turn > 1000 {
				t.Fatalf("walk %d does not arrive: %+v", seed, d)
			}
			o.s.At = o.s.At.Add(time.Minute)
			if d.request != nil {
				o.write(d.request)
			}
			[]func(){o.observe, o.accept, o.work}[o.IntN(3)]()
			d = o.s.Decide(&w)
			if d.Verdict == model.VerdictFailed {
				t.Fatalf("walk %d fails: %+v", seed, d)
			}
		}
		if o.asking != 1 || o.by != "us" {
			t.Errorf("walk %d asked %d times", seed, o.asking)
		}
	}
}
