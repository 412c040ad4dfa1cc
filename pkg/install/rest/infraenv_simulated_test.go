package rest_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// setUp is a run that makes things ready on a service without machines.
type setUp struct {
	*rest.Plane
	clock   clock.Clock
	desired *model.Desired
}

// simulatedRuns are runs of the same file on one service, a mark each.
func simulatedRuns(t *testing.T, marks ...string) []setUp {
	t.Helper()
	fast := clock.Scaled(1200)
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	service := must.Get(simulator.NewService(simulator.ServiceConfig{Clock: fast, Seed: 1, PublicURL: func() string { return url }}, ""))(t)
	server.Config.Handler = service
	server.Start()
	t.Cleanup(server.Close)
	var runs []setUp
	for _, mark := range marks {
		plane := must.Get(rest.New(rest.Config{URL: url, Clock: fast}))(t)
		runs = append(runs, setUp{plane, fast, &model.Desired{Spec: sample.Example(t, "sno"), Options: model.Options{Run: mark}}})
	}
	return runs
}

// plan looks and decides once.
func (s setUp) plan(t *testing.T) model.Plan {
	t.Helper()
	file := s.desired.Spec
	observed := must.Get(s.Observe(t.Context(), model.Query{Name: file.Metadata.Name, BaseDomain: file.Spec.BaseDomain, Run: s.desired.Options.Run, Detail: true}, nil))(t)
	return install.Decide(s.desired, observed, model.Memory{}, s.clock.Now())
}

// carryOut does what a plan asks the service for, and gives the kinds.
func (s setUp) carryOut(t *testing.T, plan model.Plan) []model.Kind {
	t.Helper()
	var done []model.Kind
	for _, action := range plan.Actions {
		must.Do(t, s.Act(t.Context(), s.desired, action), action.Key)
		done = append(done, action.Kind)
	}
	return done
}

// settle carries out plans until there is nothing left to do.
func (s setUp) settle(t *testing.T) {
	t.Helper()
	for range 10 {
		if len(s.carryOut(t, s.plan(t))) == 0 {
			return
		}
	}
	t.Fatal("there is always something left to do")
}

// TestOrphanedInfraEnv deletes a cluster under its InfraEnv, which can then serve no
// cluster: the next run makes one of its own and deletes the old one.
func TestOrphanedInfraEnv(t *testing.T) {
	t.Parallel()
	runs := simulatedRuns(t, "first", "second")
	runs[0].settle(t)
	old, err := runs[0].ListInfraEnvs(t.Context(), "")
	if err != nil || len(old) != 1 {
		t.Fatalf("%d InfraEnvs, %v", len(old), err)
	}
	must.Do(t, runs[0].DeleteCluster(t.Context(), old[0].ClusterID, install.DeleteOptions{}))
	runs[1].settle(t)
	left, err := runs[1].ListInfraEnvs(t.Context(), "")
	if err != nil || len(left) != 1 || left[0].ID == old[0].ID || left[0].ClusterID == old[0].ClusterID {
		t.Fatalf("InfraEnvs %+v, error %v; the old one is %s", left, err, old[0].ID)
	}
}

// TestProxyOfAnInfraEnv changes the proxy in ways that the service, which compares the
// joined addresses with those of the last request, takes for no change.
func TestProxyOfAnInfraEnv(t *testing.T) {
	t.Parallel()
	run := simulatedRuns(t, "first")[0]
	const one, other = "http://one.example.com:3128", "http://other.example.com:3128"
	for _, proxy := range []spec.Proxy{{HTTP: one}, {HTTPS: one}, {HTTP: one, No: spec.StringList{"x.example.com"}}, {HTTP: one, HTTPS: other}, {HTTP: one, No: spec.StringList{"x.example.com"}}} {
		run.desired.Spec.Spec.Proxy = proxy
		run.settle(t)
		envs, err := run.ListInfraEnvs(t.Context(), "")
		if err != nil || len(envs) != 1 {
			t.Fatalf("%d InfraEnvs, %v", len(envs), err)
		}
	}
}

// TestTimeServersOfAnInfraEnv changes over from servers besides those of the network to
// the only ones, and back: the service takes no InfraEnv with both.
func TestTimeServersOfAnInfraEnv(t *testing.T) {
	t.Parallel()
	run := simulatedRuns(t, "first")[0]
	network := &run.desired.Spec.Spec.Network
	for _, tc := range []struct{ only, besides []string }{
		{besides: []string{"10.1.1.1", "ntp.example.com"}}, {only: []string{"10.1.1.2"}}, {only: []string{"10.1.1.2", "10.1.1.3"}}, {besides: []string{"10.1.1.1"}},
	} {
		network.NTP, network.Defaults.NTP = tc.only, tc.besides
		run.settle(t)
	}
}

// TestEventsOfSeveralSeverities are those of any of them.
func TestEventsOfSeveralSeverities(t *testing.T) {
	t.Parallel()
	run := simulatedRuns(t, "first")[0]
	run.settle(t)
	count := func(severities ...string) int {
		t.Helper()
		page := must.Get(run.Events(t.Context(), install.EventFilter{Severities: severities}, 0))(t)
		return len(page.Events)
	}
	info, all := count("info"), count()
	if info == 0 || count("info", "warning", "error", "critical") != all || count("info", "critical") != info {
		t.Errorf("%d events, %d of severity info, %d of all severities, %d of two", all, info, count("info", "warning", "error", "critical"), count("info", "critical"))
	}
}

// TestSameInfraEnvTwice has two runs register the InfraEnv of one cluster at once. The
// one that came later withdraws its own, and both use the other.
func TestSameInfraEnvTwice(t *testing.T) {
	t.Parallel()
	runs := simulatedRuns(t, "first", "second")
	registers := func(plan model.Plan) bool {
		for _, action := range plan.Actions {
			if action.Kind == model.RegisterInfraEnv {
				return true
			}
		}
		return false
	}
	var first model.Plan
	for range 10 {
		if first = runs[0].plan(t); registers(first) {
			break
		}
		runs[0].carryOut(t, first)
	}
	second := runs[1].plan(t)
	if !registers(first) || !registers(second) {
		t.Fatalf("the runs do not come to register it at once: %v, %v", first.Actions, second.Actions)
	}
	runs[0].carryOut(t, first)
	older, err := runs[0].ListInfraEnvs(t.Context(), "")
	if err != nil || len(older) != 1 {
		t.Fatalf("%d InfraEnvs, %v", len(older), err)
	}
	must.Do(t, runs[0].clock.Sleep(t.Context(), time.Minute))
	runs[1].carryOut(t, second)
	for _, run := range runs {
		run.settle(t)
	}
	left, err := runs[0].ListInfraEnvs(t.Context(), "")
	if err != nil || len(left) != 1 || left[0].ID != older[0].ID {
		t.Fatalf("InfraEnvs %+v, error %v; the older one is %s", left, err, older[0].ID)
	}
}
