package bmc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// act carries out one action on a machine that was just observed. What is so already is left as it is: a person may
// have done it, or the BMC may have been slow to show it.
func (s *connectedMachine) act(kind model.Kind) error {
	now := s.state()
	switch kind {
	case model.InsertMedia:
		if now.OurMedia {
			return nil
		}
		return s.insert(now.Media != "")
	case model.SetBootOnce:
		return s.bootOnce(now.BootOnce)
	case model.PowerOn:
		if now.Power == model.PowerIsOn || now.Power == model.PowerGoingOn {
			return nil
		}
		return s.reset(redfish.OnResetType, redfish.ForceOnResetType, redfish.PushPowerButtonResetType)
	case model.PowerOff:
		if now.Power == model.PowerIsOff || now.Power == model.PowerGoingOff {
			return nil
		}
		return s.reset(redfish.ForceOffResetType, redfish.GracefulShutdownResetType)
	case model.EjectMedia:
		if !now.OurMedia {
			return nil
		}
		return s.eject()
	case model.RestoreBoot:
		return s.restore()
	}
	return fmt.Errorf("a BMC cannot do %s", kind)
}

// runningInsertion follows the Task that inserts our image already, if there is one: an
// earlier run has asked for it. A list of Tasks that cannot be read shows none.
func (s *connectedMachine) runningInsertion() (running bool, err error) {
	tasks, err := s.insertions()
	if err != nil {
		return false, s.ctx.Err()
	}
	for i := range tasks {
		if !tasks[i].ended() {
			return true, s.follow(tasks[i].Path, s.within)
		}
	}
	return false, nil
}

// insert puts our image into the drive, in place of what is in it. The bodies
// that makers want differ; one that was not understood changed nothing.
func (s *connectedMachine) insert(full bool) error {
	if running, err := s.runningInsertion(); running || err != nil {
		return s.refused(err)
	}
	if full {
		if err := s.eject(); err != nil {
			return err
		}
	}
	s.patient = true // some answer when they have read all of it
	defer func() { s.patient = false }()
	if s.drive.iso != nil {
		return s.refused(s.mountISO(s.drive.iso, s.ownURL))
	}
	at, method := s.drive.Actions.Insert.Target, http.MethodPost
	if at == "" {
		at, method = s.drive.Path, http.MethodPatch
	}
	var first error
	for _, fields := range s.system.vendor.bodies {
		err := s.write(method, at, fields.body(s.ownURL, method == http.MethodPatch))
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		if !notUnderstood(err) {
			break
		}
	}
	return s.refused(first)
}

func (i insertBody) body(image string, patch bool) map[string]any {
	body := map[string]any{"Image": image}
	if i.state || patch {
		body["Inserted"], body["WriteProtected"] = true, true
	}
	if i.protocol {
		scheme, _, _ := strings.Cut(image, "://")
		body["TransferProtocolType"] = strings.ToUpper(scheme)
	}
	if i.method {
		body["TransferMethod"] = "Stream"
	}
	return body
}

// notUnderstood reports whether a BMC refused how it was asked, not what.
func notUnderstood(err error) bool {
	var status *common.Error
	return errors.As(err, &status) && slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented},
		status.HTTPReturnedStatusCode)
}

// refused is an image that the BMC did not take: most read it at once, and say
// that they could not.
func (s *connectedMachine) refused(err error) error {
	if err == nil {
		return nil
	}
	var (
		status *common.Error
		failed *taskFailed
		said   string
	)
	switch {
	case errors.As(err, &failed):
		said = failed.said
	case !errors.As(err, &status) || status.HTTPReturnedStatusCode == http.StatusUnauthorized ||
		status.HTTPReturnedStatusCode == http.StatusServiceUnavailable:
		return s.explain(err)
	default:
		said = s.saidBy(status)
	}
	from := s.ownURL
	if u, err := url.Parse(s.ownURL); err == nil {
		from = u.Scheme + "://" + u.Host
	}
	return &bmcError{kind: model.TroubleMediaRefused, text: fmt.Sprintf("its BMC refuses the image from %s: %s", from, s.safe(said)),
		cause: causeOf(said)}
}

func (s *connectedMachine) eject() error {
	if s.drive.iso != nil {
		return s.explain(s.unmountISO(s.drive.iso))
	}
	if at := s.drive.Actions.Eject.Target; at != "" {
		return s.explain(s.write(http.MethodPost, at, map[string]any{}))
	}
	return s.explain(s.write(http.MethodPatch, s.drive.Path, map[string]any{"Image": nil, "Inserted": false}))
}

// bootOnce makes the next boot come from the drive. iLO has a switch of its own for that; where it is refused, the
// usual one is used.
func (s *connectedMachine) bootOnce(already bool) error {
	if already {
		return nil
	}
	if _, known := s.drive.nextReset(); known && s.nextReset(true) == nil {
		return nil
	}
	return s.override(redfish.Boot{
		BootSourceOverrideEnabled: redfish.OnceBootSourceOverrideEnabled,
		BootSourceOverrideTarget:  redfish.BootSourceOverrideTarget(s.system.bootTarget()),
	})
}

func (s *connectedMachine) restore() error {
	if set, known := s.drive.nextReset(); known && set {
		if err := s.nextReset(false); err != nil {
			return s.explain(err)
		}
	}
	off := redfish.Boot{BootSourceOverrideEnabled: redfish.DisabledBootSourceOverrideEnabled}
	switch {
	case s.system.bootStays():
		return s.override(s.ownDisk(off))
	case s.system.bootsOnce():
		return s.override(off)
	}
	return nil
}

// ownDisk takes an override back that the BMC does not end by itself: one that only
// knows Continuous has another target instead.
func (s *connectedMachine) ownDisk(otherwise redfish.Boot) redfish.Boot {
	if known := s.system.targets; len(known) > 0 && !slices.Contains(known, string(redfish.HddBootSourceOverrideTarget)) {
		return otherwise
	}
	return redfish.Boot{BootSourceOverrideTarget: redfish.HddBootSourceOverrideTarget}
}

func (s *connectedMachine) nextReset(on bool) error {
	return s.write(http.MethodPatch, s.drive.Path, map[string]any{"Oem": map[string]any{"Hpe": map[string]any{"BootOnNextServerReset": on}}})
}

// override changes the boot override. Some BMCs want the mode beside it, some do
// not know their own ETags, and some know no single boot.
func (s *connectedMachine) override(boot redfish.Boot) error {
	err := s.finish(s.system.SetBoot(boot))
	var status *common.Error
	if errors.As(err, &status) && status.HTTPReturnedStatusCode == http.StatusPreconditionFailed {
		s.system.DisableEtagMatch(true)
		err = s.finish(s.system.SetBoot(boot))
	}
	if mode := s.system.Boot.BootSourceOverrideMode; notUnderstood(err) && mode != "" {
		with := boot
		with.BootSourceOverrideMode = mode
		err = s.finish(s.system.SetBoot(with))
	}
	if notUnderstood(err) && boot.BootSourceOverrideEnabled == redfish.OnceBootSourceOverrideEnabled {
		boot.BootSourceOverrideEnabled = redfish.ContinuousBootSourceOverrideEnabled
		err = s.finish(s.system.SetBoot(boot))
	}
	return s.explain(err)
}

// reset asks for the first of the ways that the machine knows.
func (s *connectedMachine) reset(ways ...redfish.ResetType) error {
	way := ways[0]
	if known := s.system.SupportedResetTypes; len(known) > 0 {
		i := slices.IndexFunc(ways, func(w redfish.ResetType) bool { return slices.Contains(known, w) })
		if i < 0 {
			return &bmcError{kind: model.TroubleOther, text: fmt.Sprintf("its BMC does not support this: it has no reset of the type %s", ways[0])}
		}
		way = ways[i]
	}
	s.system.DisableEtagMatch(true) // an action changes no resource
	err := s.finish(s.system.Reset(way))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return nil // it may have been done: the next observation shows it, and a second time may undo it
	}
	return s.explain(err)
}

// connectedMachine is a machine whose BMC is spoken to.
type connectedMachine struct {
	*connection
	system *system
	drive  *drive
	ownURL string // URL of our image
}

// open connects to a host's BMC and reads machine and drive. The caller closes it.
func (p *Plane) open(ctx context.Context, t target) (*connectedMachine, error) {
	at, err := parseAddress(t.bmc.Address)
	if err != nil {
		return nil, &bmcError{kind: model.TroubleOther, text: err.Error()}
	}
	c, err := p.connect(ctx, t.bmc, at.endpoint)
	if err != nil {
		return nil, err
	}
	c.image, c.within = t.ownURL, t.within
	s := &connectedMachine{connection: c, ownURL: t.ownURL}
	if err := s.find(at, t); err != nil {
		c.close(ctx)
		return nil, err
	}
	return s, nil
}

func (s *connectedMachine) find(at address, t target) (err error) {
	if s.system, err = s.findSystem(at, t.bmc.System); err != nil {
		return err
	}
	if t.drive != "" { // where it was the last time; if it moved, it is searched for
		if s.drive, err = s.readDrive(t.drive); err == nil {
			return nil
		}
	}
	s.drive, err = s.findDrive(s.system, t.ownURL)
	return err
}

func (s *connectedMachine) state() model.MachineState {
	once, known := s.drive.nextReset()
	state := model.MachineState{
		Power: powerOf(s.system.PowerState), Media: s.drive.holds(),
		BootOnce: known && once || s.system.bootsOnce(), BootStays: s.system.bootStays(),
	}
	state.OurMedia = isOwnImage(state.Media, s.ownURL)
	return state
}

func powerOf(state redfish.PowerState) model.Power {
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
