package decide_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRefusedForGoodIsTriedAgain after a while where no command is run anew: a quota or a right may have been cured.
// Until it succeeds it is reported, while it is tried, too.
func TestRefusedForGoodIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		unattended bool
		after      time.Duration
		tried      bool
	}{
		"somebody runs commands":         {false, time.Hour, false},
		"nobody runs any, at once":       {true, time.Minute, false},
		"nobody runs any, after a while": {true, 11 * time.Minute, true},
	} {
		w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0), Options: model.Options{Unattended: test.unattended}})
		register := w.Decide().Actions[0]
		w.Memory.Note(register, &model.Fault{Permanent: true, Err: errors.New("exceeded quota")}, w.Observed.At)
		w.Observed.At = w.Observed.At.Add(test.after)
		plan := w.Decide()
		if tried := decidetest.HasKind(plan, register.Kind); tried != test.tried || !decidetest.HasReason(plan, "Refused") {
			t.Errorf("%s: tried %v, blockers %+v", name, tried, plan.Blockers)
		}
		if again := w.Memory.RefusalOf(plan) != nil; again != test.unattended {
			t.Errorf("%s: looked again %v", name, again)
		}
	}
}

// failing has some checks of the service fail, at random.
func failing(random *rand.Rand, o *model.Observed) {
	ids := []string{
		"api-vips-valid", "ingress-vips-valid", "ntp-server-configured", "machine-cidr-defined", "sufficient-masters-count",
		"pull-secret-set",
		"has-inventory", "connected", "belongs-to-machine-cidr", "belongs-to-majority-group", "ntp-synced", "mtu-valid", "has-min-memory",
		"hostname-unique",
	}
	some := func() []model.Validation {
		var list []model.Validation
		for _, id := range ids {
			if random.IntN(4) == 0 {
				list = append(list, model.Validation{ID: id, Category: "network",
					Status: []string{"failure", "error", "pending", "success"}[random.IntN(4)], Message: "so it is with " + id})
			}
		}
		return list
	}
	if o.Cluster != nil {
		o.Cluster.Validations = some()
	}
	for i := range o.Hosts {
		o.Hosts[i].Validations = some()
	}
}

// cause is the content of a blocker without the time since when it is there.
type cause struct {
	Key, Reason, Field, Remedy string
	Scope                      model.Scope
	Cure                       model.Cure
	Hosts, Validations         []string
}

func causes(plan model.Plan) []cause {
	var out []cause
	for _, b := range plan.Blockers {
		out = append(out, cause{b.Key, b.Reason, b.Field, b.Remedy.String(), b.Scope, b.Cure, b.Hosts, b.Validations})
	}
	return out
}

// longAgo is a loop's memory that has seen the same for two hours.
func longAgo(desired *model.Desired, observed *model.Observed) (memory model.Memory) {
	earlier := *observed
	earlier.At = observed.At.Add(-2 * time.Hour)
	memory.Seen(&earlier, earlier.At)
	memory.Decided(decide.Decide(desired, &earlier, memory, earlier.At))
	memory.Seen(observed, observed.At)
	return memory
}

// TestOneLookNamesWhatALoopNames: in each state, a single look names the same causes as a loop that has run for hours,
// in the same order, with the same remedies; and a memory that was saved as JSON leads to the same decisions.
func TestOneLookNamesWhatALoopNames(t *testing.T) {
	t.Parallel()
	named := map[string]int{}
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 17))
		r := anyRack(random)
		for _, x := range r.Boxes {
			if x.Fetched.Bytes > 0 {
				x.Fetched.Last = r.Observed.At.Add(-3 * time.Hour)
			}
			if x.Power == model.PowerIsOff && random.IntN(4) == 0 { // it is on, and does not get on
				x.Power, x.Media = model.PowerIsOn, decidetest.ImageOf("cp-0")
			}
		}
		failing(random, &r.Observed)
		_, observed, err := r.Plan()
		if err != nil {
			t.Fatal(err)
		}
		single := decide.Decide(r.Desired, observed, model.Memory{}, observed.At)
		memory := longAgo(r.Desired, observed)
		long := decide.Decide(r.Desired, observed, memory, observed.At)
		if diff := cmp.Diff(causes(long), causes(single)); diff != "" {
			t.Fatalf("seed %d (-loop +one look):\n%s", seed, diff)
		}
		for _, b := range single.Blockers {
			named[b.Reason]++
		}
		text := must.Get(json.Marshal(memory))(t)
		var kept model.Memory
		must.Do(t, json.Unmarshal(text, &kept))
		if diff := cmp.Diff(fmt.Sprintf("%+v", long),
			fmt.Sprintf("%+v", decide.Decide(r.Desired, observed, kept, observed.At))); diff != "" {
			t.Fatalf("seed %d, kept as JSON:\n%s", seed, diff)
		}
	}
	for _, reason := range []string{"ValidationFails", "BMCTrouble", "AgentNotCalled", "HostDisconnected", "HostFailed"} {
		if named[reason] == 0 {
			t.Errorf("no state has %s: %v", reason, named)
		}
	}
}

// TestFirstLooksOfALoopWait where a check has just begun to fail, which a single look
// names.
func TestFirstLooksOfALoopWait(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Observed.Cluster.State = model.ClusterBlocked
	for i := range w.Observed.Hosts {
		w.Observed.Hosts[i].State = model.HostBlocked
	}
	w.Observed.Hosts[1].Validations = []model.Validation{{ID: "belongs-to-machine-cidr", Category: "network", Status: "failure",
		Message: "it does not"}}
	if got := causes(w.Decide()); len(got) != 1 || got[0].Validations[0] != "belongs-to-machine-cidr" {
		t.Errorf("one look names %+v", got)
	}
	w.Memory.Seen(&w.Observed, w.Observed.At)
	if plan := w.Decide(); len(plan.Blockers) > 0 || len(plan.Waits) == 0 {
		t.Errorf("the first look of a loop names %+v, and waits for %+v", plan.Blockers, plan.Waits)
	}
}

// TestWriteThatIsNotKept names the field that the service does not keep, if that is the only one.
func TestWriteThatIsNotKept(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Desired.Spec.Spec.Discovery.KernelArgs, w.Desired.Options.Reimage = []string{"console=ttyS0"}, true
	update := w.Decide().Actions[0]
	for range 6 {
		w.Memory.Note(update, nil, w.Observed.At)
	}
	plan := w.Decide()
	if !decidetest.HasReason(plan, "NotKept") || plan.Blockers[0].Field != "spec.discovery.kernelArgs" {
		t.Errorf("blockers %+v", plan.Blockers)
	}
}

// TestMemoryHasNoSecrets of what was refused or done.
func TestMemoryHasNoSecrets(t *testing.T) {
	c := decidetest.Sample(3, 0)
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	c.Spec.Proxy.HTTP = "http://user:hunter2@proxy.example.com:3128"
	for _, a := range w.Decide().Actions {
		w.Memory.Note(a, nil, decidetest.Start())
		w.Memory.Note(a, &model.Fault{Err: fmt.Errorf("refused %s", a.Kind)}, decidetest.Start())
	}
	text, err := json.Marshal(w.Memory)
	if err != nil || len(w.Memory.Done) == 0 || len(w.Memory.Refused) == 0 {
		t.Fatal(err, maps.Clone(w.Memory.Done))
	}
	if got := string(text); len(got) == 0 || strings.Contains(got, "hunter2") {
		t.Errorf("%s", got)
	}
}
