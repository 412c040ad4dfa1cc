package bmc

import (
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// troubles are the rules of a scenario that are about controllers.
type troubles struct {
	clock clock.Clock
	start time.Time
	rules []scenario.Rule
}

type standing struct{ args scenario.Args }

func newTroubles(c clock.Clock, s *scenario.Scenario) (*troubles, error) {
	t := &troubles{clock: c, start: c.Now()}
	for _, rule := range s.HostRules() {
		if !strings.HasPrefix(rule.Do, "bmc-") && rule.Do != scenario.DoPowerOn {
			continue
		}
		if rule.At.State != "" || rule.At.Stage != "" || rule.At.Answered != "" {
			return nil, fmt.Errorf("scenario line %d: %s can only begin at: {after: …}, since a BMC knows nothing of an installation", rule.Line, rule.Do)
		}
		t.rules = append(t.rules, rule)
	}
	return t, nil
}

// of is the first trouble of a kind that a machine's controller has now, or nil.
func (t *troubles) of(m Machine, do string) *standing {
	passed := t.clock.Now().Sub(t.start)
	who := scenario.Host{Name: m.Name, Role: m.Role, Index: m.Index, RoleIndex: m.RoleIndex, MACs: m.MACs}
	for _, rule := range t.rules {
		over := rule.For() > 0 && passed >= rule.At.After+rule.For()
		if rule.Do == do && rule.Match.Host(who) && passed >= rule.At.After && !over {
			return &standing{rule.Args}
		}
	}
	return nil
}
