package machine

import (
	"context"

	"github.com/stmcginnis/gofish/redfish"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// seen is a machine as one look at it found it: all that an action needs.
type seen struct {
	*connection
	system *system
	drive  *drive
	ours   string // URL of our image
}

// open connects to a host's BMC and reads machine and drive. The caller closes
// what it returns.
func (p *Plane) open(ctx context.Context, t target) (*seen, error) {
	at, err := parseAddress(t.bmc.Address)
	if err != nil {
		return nil, &trouble{kind: kindOther, text: err.Error()}
	}
	c, err := connect(ctx, t.bmc, at.endpoint, p.proxy, &p.users)
	if err != nil {
		return nil, err
	}
	s := &seen{connection: c, ours: t.ours}
	if err := s.find(at, t); err != nil {
		c.close(ctx)
		return nil, err
	}
	return s, nil
}

func (s *seen) find(at address, t target) (err error) {
	if s.system, err = s.findSystem(at, t.bmc.System); err != nil {
		return err
	}
	if t.drive != "" { // where it was the last time; if it moved, it is looked for
		if s.drive, err = s.readDrive(t.drive); err == nil {
			return nil
		}
	}
	s.drive, err = s.findDrive(s.system, t.ours)
	return err
}

// state is what the decision needs to know of it.
func (s *seen) state() install.MachineState {
	once, known := s.drive.nextReset()
	state := install.MachineState{
		Power: powerOf(s.system.PowerState), Media: s.drive.holds(),
		BootOnce: known && once || s.system.bootsOnce(), BootStays: s.system.bootStays(),
	}
	state.OurMedia = isOurs(state.Media, s.ours)
	return state
}

func powerOf(state redfish.PowerState) install.Power {
	switch state {
	case redfish.OnPowerState:
		return model.PowerIsOn
	case redfish.OffPowerState:
		return model.PowerIsOff
	case redfish.PoweringOnPowerState:
		return model.PowerGoingOn
	case redfish.PoweringOffPowerState:
		return model.PowerGoingOff
	}
	return model.PowerUnknown
}
