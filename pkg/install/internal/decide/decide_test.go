package decide_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// decideBound is how long a decision on 500 hosts may take: a tick of the loop
// must cost nothing beside the requests that feed it.
const decideBound = 5 * time.Millisecond

// BenchmarkDecide500 decides on 500 hosts in every phase of an install: where
// each of them differs from the file, where their failing checks are explained,
// where the install may start, and while it runs.
func BenchmarkDecide500(b *testing.B) {
	for _, phase := range []model.ClusterState{model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady,
		model.ClusterInstalling} {
		b.Run(string(phase), func(b *testing.B) {
			w := crowd(500, phase)
			if phase == model.ClusterBlocked {
				w.Fail("ntp-synced", "has-min-memory", "belongs-to-machine-cidr")
			}
			if len(w.Observed.Hosts) != 500 || w.Observed.Cluster.State != phase {
				b.Fatalf("%d hosts, cluster %s", len(w.Observed.Hosts), w.Observed.Cluster.State)
			}
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				observed := w.Observed
				began := time.Now()
				decide.Decide(w.Desired, &observed, model.Memory{}, observed.At)
				took = append(took, time.Since(began))
			}
			// The median: others may want the processor now and then.
			slices.Sort(took)
			median := took[len(took)/2]
			b.ReportMetric(float64(median)/float64(time.Millisecond), "median-ms")
			if median > decideBound {
				b.Errorf("a decision takes %s; the bound is %s", median, decideBound)
			}
		})
	}
}

// crowd is the model of a cluster of n hosts at the beginning of a phase.
func crowd(n int, phase model.ClusterState) *decidetest.World {
	c := decidetest.Sample(3, n-3)
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		host.Match.MAC = fmt.Sprintf("52:54:00:%02x:%02x:%02x", i>>16, i>>8&0xff, i&0xff)
		host.Labels = map[string]string{"rack": fmt.Sprint(i / 20)}
		host.Disk.Hints = spec.DiskHints{DeviceName: "/dev/nvme0n1"}
	}
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	for range 20 {
		o := &w.Observed
		switch {
		case len(o.Hosts) == n && (phase == model.ClusterDiscovering || phase == model.ClusterBlocked):
			o.Cluster.State = phase // and no host is set up yet
			return w
		case len(o.Hosts) == n && o.Cluster.State == phase:
			return w
		}
		for _, a := range w.Decide().Actions {
			_ = w.Apply(a)
		}
		w.Pass()
		for i := range o.Hosts {
			o.Hosts[i].Validations = checks(40)
			o.Hosts[i].Progress = model.HostProgress{Stage: "Writing image to disk", Since: o.At,
				Stages: []string{"Starting installation", "Writing image to disk", "Done"}}
		}
	}
	return w
}

// checks are validations as a service makes them of every host.
func checks(n int) []model.Validation {
	var list []model.Validation
	for i := range n {
		list = append(list, model.Validation{ID: fmt.Sprintf("check-%d", i), Category: "hardware", Status: "success",
			Message: "as it should be"})
	}
	return list
}

// TestConvergence holds the promise for every action: from any state, deciding
// and acting comes to rest, no action is asked for again once it was carried
// out, and a machine that the file does not name is never installed.
func TestConvergence(t *testing.T) {
	t.Parallel()
	exercised := map[model.Kind]int{}
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := anyWorld(random)
		if err := w.Settle(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 20 { // a second run, and time, must not bring a write back
			w.Pass()
			if err := w.Settle(); err != nil {
				t.Fatalf("seed %d, later: %v", seed, err)
			}
		}
		for _, a := range w.Writes {
			exercised[a.Kind]++
		}
		w.Writes = nil
		if err := w.Settle(); err != nil || len(w.Writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, decidetest.Keys(w.Writes), err)
		}
	}
	for _, kind := range []model.Kind{
		model.RegisterCluster, model.WithdrawCluster, model.UpdateCluster, model.SetOverrides, model.IgnoreValidations,
		model.RegisterInfraEnv, model.UpdateInfraEnv, model.WithdrawInfraEnv, model.RenewImage, model.UpdateHost, model.BindHost,
		model.StartInstall,
		model.SaveNoIngress, model.SaveKubeconfig, model.SavePassword, model.NudgeCluster, model.RecordInstalled,
	} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
}

// TestHappyWay walks an empty world to an installed cluster.
func TestHappyWay(t *testing.T) {
	for _, size := range [][2]int{{1, 0}, {3, 0}, {3, 2}, {5, 1}} {
		for way := range 8 {
			bind := []spec.BindMode{spec.BindEarly, spec.BindLate}[way%2]
			c := decidetest.Sample(size[0], size[1])
			c.Spec.InfraEnv.Bind = bind
			w := decidetest.NewWorld(&model.Desired{Spec: c})
			w.Hub, w.Stalls = way&2 != 0, way&4 != 0
			w.Live(t, 40)
			plan := w.Decide()
			if plan.Verdict != model.VerdictInstalled {
				t.Errorf("%v %s, hub %v: verdict %s (%s), waits %v, blockers %v", size, bind, w.Hub, plan.Verdict, plan.Message, plan.Waits,
					plan.Blockers)
			}
			kinds := map[model.Kind]int{}
			for _, a := range w.Writes {
				kinds[a.Kind]++
			}
			if kinds[model.RegisterCluster] != 1 || kinds[model.RegisterInfraEnv] != 1 || kinds[model.StartInstall] != 1 {
				t.Errorf("%v %s: writes %v", size, bind, decidetest.Keys(w.Writes))
			}
			if hosts := size[0] + size[1]; w.Hub && kinds[model.UpdateHost] != hosts {
				t.Errorf("%v %s: %d hosts are written %d times; approval goes along with the rest", size, bind, hosts,
					kinds[model.UpdateHost])
			}
			if w.Hub != (kinds[model.RecordInstalled] == 1) || (w.Hub && w.Stalls) != (kinds[model.NudgeCluster] == 1) {
				t.Errorf("%v %s, hub %v, stalls %v: writes %v", size, bind, w.Hub, w.Stalls, decidetest.Keys(w.Writes))
			}
		}
	}
}

// TestPlansHoldNoSecrets however they are printed.
func TestPlansHoldNoSecrets(t *testing.T) {
	c := decidetest.Sample(3, 0)
	c.Spec.PullSecret = spec.NewSecret(`{"auths":{"hunter2":{}}}`).Source()
	c.Spec.Proxy = spec.Proxy{HTTP: "http://user:hunter2@proxy.example.com:3128"}
	w := decidetest.NewWorld(&model.Desired{Spec: c, Options: model.Options{ResendSecrets: true}})
	for range 30 {
		plan := w.Decide()
		asJSON, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"%v": fmt.Sprintf("%v", plan), "%+v": fmt.Sprintf("%+v", plan),
			"%#v": fmt.Sprintf("%#v", plan), "JSON": string(asJSON)} {
			if strings.Contains(text, "hunter2") {
				t.Fatalf("as %s the plan holds a secret: %s", form, text)
			}
		}
		for _, a := range plan.Actions {
			if !strings.HasSuffix(a.Key, "/resend") {
				_ = w.Apply(a)
			}
		}
		w.Pass()
	}
}

// TestAnOldPictureDecidesNothing holds Decide itself to it, for drivers of
// other kinds.
func TestAnOldPictureDecidesNothing(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0)})
	observed := w.Observed
	observed.Stale = "connection refused"
	plan := decide.Decide(w.Desired, &observed, model.Memory{}, observed.At)
	if len(plan.Actions) > 0 || plan.Verdict != model.VerdictWaiting || len(plan.Waits) != 1 {
		t.Errorf("plan %+v", plan)
	}
}

// walk is a series of looks at a simulated service, with what was done upon
// each. internal/simulator records them.
type walk struct {
	Example string
	// AddNodesFrom is the step with which nodes are added, 0 for none.
	AddNodesFrom int
	Steps        []struct {
		Observed *model.Observed
		Actions  []model.Action
	}
}

func readWalk(t *testing.T, path string) (walk, *spec.Cluster) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var w walk
	if err := json.NewDecoder(unzipped).Decode(&w); err != nil {
		t.Fatal(err)
	}
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "..", "examples", w.Example, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return w, cluster
}

// TestConvergenceFromRecordedStates holds the promise of convergence for states
// that a service was really in, and the model of each action's effect to what
// the service made of it: what the model calls done, the next look calls done.
func TestConvergenceFromRecordedStates(t *testing.T) {
	paths, err := filepath.Glob("testdata/walks/*.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no walks (%v)", err)
	}
	compared := map[model.Kind]int{}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			walk, cluster := readWalk(t, path)
			desired := &model.Desired{Spec: cluster, Options: model.Options{Run: "walk"}}
			for i, step := range walk.Steps {
				desired.Options.AddNodes = walk.AddNodesFrom > 0 && i >= walk.AddNodesFrom
				w := decidetest.NewWorld(desired)
				w.Observed = *step.Observed
				if err := w.SettleRecorded(); err != nil {
					t.Errorf("step %d: %v", i, err)
				}
				if i+1 == len(walk.Steps) {
					continue
				}
				after := walk.Steps[i+1].Observed
				asked := map[string]bool{}
				for _, a := range decide.Decide(desired, after, model.Memory{}, after.At).Actions {
					asked[signature(a)] = true
				}
				for _, a := range step.Actions {
					compared[a.Kind]++
					again := a.Kind == model.StartInstall && len(after.Cluster.Preparation.FailedAt) > 0
					if asked[signature(a)] && !again {
						t.Errorf("step %d: the model calls %s done, the service does not", i, a.Key)
					}
				}
			}
		})
	}
	for _, kind := range []model.Kind{model.RegisterCluster, model.RegisterInfraEnv, model.UpdateHost, model.StartInstall,
		model.AllowAddHosts, model.InstallHost} {
		if compared[kind] == 0 {
			t.Errorf("no walk has %s in it", kind)
		}
	}
}

// anyWorld is some state in which an oaictl, or a user, may have left
// the service.
func anyWorld(random *rand.Rand) *decidetest.World {
	w := decidetest.NewWorld(&model.Desired{Spec: decidetest.AnyCluster(random),
		Options: model.Options{Run: "run1", Reimage: random.IntN(2) == 0}})
	w.Hub, w.Stalls = random.IntN(2) == 0, random.IntN(2) == 0
	w.Desired.Spec.Spec.Hold = random.IntN(12) == 0
	for range random.IntN(12) {
		for _, a := range w.Decide().Actions {
			if random.IntN(4) > 0 { // a crash may come after any of them
				_ = w.Apply(a)
			}
		}
		w.Pass()
	}
	w.Disturb(random)
	w.Writes = nil
	return w
}
