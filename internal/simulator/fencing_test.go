package simulator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const twoNodes = `
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: pair}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  topology: {controlPlane: 2, fencing: true}
  network: {vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:01"}, fencing: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:02"}, fencing: {address: "https://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}}}
`

// mute counts what is written and, if it is to, keeps from the library what a
// service of another age does not give back.
type mute struct {
	install.Service
	keep   bool
	mu     *sync.Mutex
	writes map[string]int
}

func (m mute) Observe(ctx context.Context, query install.Query, prior *install.Observed) (*install.Observed, error) {
	observed, err := m.Service.Observe(ctx, query, prior)
	if err != nil || !m.keep {
		return observed, err
	}
	for i := range observed.Hosts {
		settings := install.Settings{}
		for setting, value := range observed.Hosts[i].Settings {
			if setting != install.SetFencing {
				settings[setting] = value
			}
		}
		observed.Hosts[i].Settings = settings
	}
	return observed, nil
}

func (m mute) Act(ctx context.Context, desired *install.Desired, action install.Action) error {
	m.mu.Lock()
	m.writes[action.Key]++
	m.mu.Unlock()
	return m.Service.Act(ctx, desired, action)
}

// TestFencingIsSentOnce, however many runs it takes until the install call, and
// whether the service gives the address back or not.
func TestFencingIsSentOnce(t *testing.T) {
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{"PULL": pullSecret, "BMC": "root:calvin"}[name]
		return text, set
	}
	cluster, err := spec.Parse(t.Context(), "cluster.yaml", []byte(twoNodes), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, givenBack := range []bool{true, false} {
		scaled := clock.Scaled(1000)
		s, err := simulator.Start(t.Context(), simulator.Config{Clock: scaled, Seed: 1, Cluster: cluster})
		if err != nil {
			t.Fatal(err)
		}
		writes := map[string]int{}
		// Every run is one of a process of its own, which remembers nothing.
		run := func() install.Result {
			plane, err := rest.New(rest.Config{URL: s.URL(), Clock: scaled})
			if err != nil {
				t.Fatal(err)
			}
			service := mute{plane, !givenBack, &sync.Mutex{}, writes}
			result, err := install.New(service, install.WithClock(scaled)).Detach(t.Context(), &install.Desired{Spec: cluster, Options: install.Options{Run: "abc123"}})
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		runs, deadline := 0, time.Now().Add(time.Minute)
		for started := false; !started; runs++ {
			result := run()
			started = writes["cluster/install"] > 0
			if time.Now().After(deadline) {
				t.Fatalf("not started after %d runs: %s, wrote %v", runs, result.Plan.Message, writes)
			}
			_ = scaled.Sleep(t.Context(), 20*time.Second)
		}
		for _, key := range []string{"cluster/register", "infraenv/pair/register", "host/cp-0/update", "host/cp-1/update", "cluster/install"} {
			if writes[key] != 1 {
				t.Errorf("given back %v: %s %d times in %d runs", givenBack, key, writes[key], runs)
			}
		}
		if len(writes) != 5 {
			t.Errorf("given back %v: wrote %v", givenBack, writes)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
