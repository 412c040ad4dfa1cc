package install_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// failing has some checks of the service fail, at random.
func failing(random *rand.Rand, o *model.Observed) {
	ids := []string{
		"api-vips-valid", "ingress-vips-valid", "ntp-server-configured", "machine-cidr-defined", "sufficient-masters-count", "pull-secret-set",
		"has-inventory", "connected", "belongs-to-machine-cidr", "belongs-to-majority-group", "ntp-synced", "mtu-valid", "has-min-memory", "hostname-unique",
	}
	some := func() []model.Validation {
		var list []model.Validation
		for _, id := range ids {
			if random.IntN(4) == 0 {
				list = append(list, model.Validation{ID: id, Category: "network", Status: []string{"failure", "error", "pending", "success"}[random.IntN(4)], Message: "so it is with " + id})
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

// cause is what a blocker says but for how long it has stood.
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
	memory.Decided(install.Decide(desired, &earlier, memory, earlier.At))
	memory.Seen(observed, observed.At)
	return memory
}

// TestOneLookNamesWhatALoopNames: whatever the state, a single look names the causes that
// a loop names that has looked for hours, in the same order, with the same remedies, and
// what is kept of a memory as JSON decides as it did.
func TestOneLookNamesWhatALoopNames(t *testing.T) {
	named := map[string]int{}
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 17))
		r := anyRack(random)
		for _, x := range r.boxes {
			if x.fetched.Bytes > 0 {
				x.fetched.Last = r.observed.At.Add(-3 * time.Hour)
			}
			if x.power == model.PowerIsOff && random.IntN(4) == 0 { // it is on, and does not get on
				x.power, x.media = model.PowerIsOn, imageOf("cp-0")
			}
		}
		failing(random, &r.observed)
		_, observed, err := r.plan()
		if err != nil {
			t.Fatal(err)
		}
		single := install.Decide(r.desired, observed, model.Memory{}, observed.At)
		memory := longAgo(r.desired, observed)
		long := install.Decide(r.desired, observed, memory, observed.At)
		if diff := cmp.Diff(causes(long), causes(single)); diff != "" {
			t.Fatalf("seed %d (-loop +one look):\n%s", seed, diff)
		}
		for _, b := range single.Blockers {
			named[b.Reason]++
		}
		text, err := json.Marshal(memory)
		if err != nil {
			t.Fatal(err)
		}
		var kept model.Memory
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprintf("%+v", long), fmt.Sprintf("%+v", install.Decide(r.desired, observed, kept, observed.At))); diff != "" {
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
	w := readyWorld(t, sample(3, 0))
	w.observed.Cluster.State = model.ClusterBlocked
	for i := range w.observed.Hosts {
		w.observed.Hosts[i].State = model.HostBlocked
	}
	w.observed.Hosts[1].Validations = []model.Validation{{ID: "belongs-to-machine-cidr", Category: "network", Status: "failure", Message: "it does not"}}
	if got := causes(w.decide()); len(got) != 1 || got[0].Validations[0] != "belongs-to-machine-cidr" {
		t.Errorf("one look names %+v", got)
	}
	w.memory.Seen(&w.observed, w.observed.At)
	if plan := w.decide(); len(plan.Blockers) > 0 || len(plan.Waits) == 0 {
		t.Errorf("the first look of a loop names %+v, and waits for %+v", plan.Blockers, plan.Waits)
	}
}

// TestLoopOfOnesOwn installs by a loop that keeps its memory as JSON between any two
// steps, as one does that is started anew for each.
func TestLoopOfOnesOwn(t *testing.T) {
	p := &plane{world: newWorld(&model.Desired{Spec: sample(3, 1), Options: model.Options{Run: "run1"}})}
	refused := 0
	p.refuse = func(a model.Action) error {
		if a.Kind == model.RegisterInfraEnv && refused < 2 {
			refused++
			return &model.Fault{Err: context.DeadlineExceeded}
		}
		return nil
	}
	installer := install.New(p)
	var kept []byte
	for range 200 {
		var memory model.Memory
		if err := json.Unmarshal(append([]byte(nil), kept...), &memory); kept != nil && err != nil {
			t.Fatal(err)
		}
		observed, err := installer.Observe(t.Context(), p.desired, nil)
		if err != nil {
			t.Fatal(err)
		}
		memory.Seen(observed, time.Now())
		plan := install.Decide(p.desired, observed, memory, observed.At)
		memory.Decided(plan)
		acted := false
		for _, a := range plan.Actions {
			err := installer.Act(t.Context(), p.desired, observed, a)
			memory.Note(a, err, observed.At.Add(time.Duration(refused)*-time.Minute)) // so that its backoff is over
			acted = acted || err == nil
		}
		if kept, err = json.Marshal(memory); err != nil {
			t.Fatal(err)
		}
		if ended, err := plan.Ended(); ended && !acted {
			if err != nil || refused != 2 || count(p.world, model.RegisterCluster) != 1 || count(p.world, model.StartInstall) != 1 {
				t.Errorf("%v; refused %d times; wrote %v", err, refused, keys(p.writes))
			}
			return
		}
	}
	t.Errorf("the cluster is %s", p.observed.Cluster.State)
}

// TestMemoryHasNoSecrets, whatever was refused or done.
func TestMemoryHasNoSecrets(t *testing.T) {
	c := sample(3, 0)
	w := newWorld(&model.Desired{Spec: c})
	c.Spec.Proxy.HTTP = "http://user:hunter2@proxy.example.com:3128"
	for _, a := range w.decide().Actions {
		w.memory.Note(a, nil, start)
		w.memory.Note(a, &model.Fault{Err: fmt.Errorf("refused %s", a.Kind)}, start)
	}
	text, err := json.Marshal(w.memory)
	if err != nil || len(w.memory.Done) == 0 || len(w.memory.Refused) == 0 {
		t.Fatal(err, maps.Clone(w.memory.Done))
	}
	if got := string(text); len(got) == 0 || strings.Contains(got, "hunter2") {
		t.Errorf("%s", got)
	}
}
