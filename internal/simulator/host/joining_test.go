package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// joiner notes when kubelets start and stop.
type joiner struct {
	mu   sync.Mutex
	said []string
	last Joining
}

func (j *joiner) join(ctx context.Context, machine Joining) error {
	j.note("starts %s", machine.Installation)
	j.mu.Lock()
	j.last = machine
	j.mu.Unlock()
	<-ctx.Done()
	j.note("stops")
	return context.Cause(ctx)
}

func (j *joiner) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.said = append(j.said, fmt.Sprintf(format, args...))
}

// TestAddedMachineJoins starts the kubelet of a machine that was added to a cluster, and
// keeps it until the machine goes off. It starts again with the machine.
func TestAddedMachineJoins(t *testing.T) {
	fake := newFake(t, 3, 1)
	fake.status, fake.kind, fake.day2 = "adding-hosts", "AddHostsCluster", true
	j := &joiner{}
	var ended []string
	b := &board{media: imageOf(t, serviceAddress, fakeInfraEnv, ""), once: true}
	list := machines(t, 1)
	list[0].Chassis = b
	inBubble(t, fake, 10*time.Hour, func(ctx context.Context, t *testing.T, cfg Config) {
		b.changed = make(chan struct{})
		time.AfterFunc(time.Minute, func() { b.turn(true) })
		time.AfterFunc(4*time.Hour, func() { b.turn(false) })
		time.AfterFunc(5*time.Hour, func() { b.turn(true) })
		cfg.Machines, cfg.Boot, cfg.Joins = list, Day2, j.join
		cfg.Ended = func(machine, why string) { ended = append(ended, machine+" "+why) }
		err := Run(ctx, cfg)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
	})
	first := "starts " + list[0].UUID + "-1"
	if !slices.Equal(j.said, []string{first, "stops", first, "stops"}) {
		t.Errorf("its kubelet: %q", j.said)
	}
	if j.last.Role != "control-plane" && j.last.Role != "worker" || j.last.Hostname == "" || j.last.ClusterID != fakeCluster || len(j.last.Machine.Addresses()) == 0 {
		t.Errorf("it is %+v", j.last)
	}
	if len(ended) == 0 || ended[0] != list[0].Name+" is part of the cluster" {
		t.Errorf("ends told: %q", ended)
	}
}

// TestLateMachineIsReported: a hub reports the node of a host that the service has given up waiting for.
func TestLateMachineIsReported(t *testing.T) {
	fake := newFake(t, 3, 1)
	fake.status, fake.kind, fake.day2, fake.late = "adding-hosts", "AddHostsCluster", true, true
	inBubble(t, fake, 5*time.Hour, func(ctx context.Context, t *testing.T, cfg Config) {
		cfg.InfraEnvID, cfg.Machines, cfg.Boot = fakeInfraEnv, machines(t, 1), Day2
		cfg.Joins = func(ctx context.Context, machine Joining) error {
			for _, ready := range []bool{false, true} {
				if err := clock.Real().Sleep(ctx, time.Hour); err != nil {
					return err
				}
				machine.Became(ready)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		_ = Run(ctx, cfg)
	})
	for _, h := range fake.hosts {
		if last := h.stages[len(h.stages)-2:]; !slices.Equal(last, []models.HostStage{models.HostStageJoined, models.HostStageDone}) || h.status != "installed" {
			t.Errorf("%s after %v", h.status, h.stages)
		}
	}
}

// TestAddedMachinesAllJoin starts the kubelet of each, also with requests to the service while it
// shuts down: the stage before takes longer and longer.
func TestAddedMachinesAllJoin(t *testing.T) {
	for longer := time.Second; longer < 2*personTick; longer += 15 * time.Second {
		trouble, err := scenario.Parse("t.yaml", fmt.Appendf(nil,
			"apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nspec: {hosts: [{at: {stage: Installing}, do: stall, args: {for: %s}}]}\n", longer))
		if err != nil {
			t.Fatal(err)
		}
		fake := newFake(t, 3, 1)
		fake.status, fake.kind, fake.day2 = "adding-hosts", "AddHostsCluster", true
		j := &joiner{}
		inBubble(t, fake, 3*time.Hour, func(ctx context.Context, t *testing.T, cfg Config) {
			cfg.InfraEnvID, cfg.Machines, cfg.Boot = fakeInfraEnv, machines(t, 1), Day2
			cfg.Joins, cfg.Scenario = j.join, trouble
			if err := Run(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
		})
		if len(j.said) != 2 {
			t.Errorf("%s longer: %q", longer, j.said)
		}
	}
}

// TestInstalledMachineDoesNotJoin: what becomes of the machines of an installation is the installation's.
func TestInstalledMachineDoesNotJoin(t *testing.T) {
	fake := newFake(t, 1, 1)
	j := &joiner{}
	inBubble(t, fake, 5*time.Hour, func(ctx context.Context, t *testing.T, cfg Config) {
		cfg.InfraEnvID, cfg.Machines, cfg.Joins = fakeInfraEnv, machines(t, 1), j.join
		if err := Run(ctx, cfg); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
	if len(j.said) > 0 {
		t.Errorf("its kubelet: %q", j.said)
	}
}
