package inmedia

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// addPoll is how often this machine's host is looked at.
const addPoll = 10 * time.Second

// installTries is how often the installation of a host is asked for that the
// service goes on to call known.
const installTries = 3

// AddNode installs this very machine into the cluster that it was imported for,
// as soon as its host is known. It returns once the service has taken it on.
func (c *Client) AddNode(ctx context.Context) (Result, error) {
	infraEnv, err := c.infraEnvID()
	if err != nil {
		return Result{}, err
	}
	macs, err := c.machineMACs()
	if err != nil {
		return Result{}, err
	}
	done := unchanged
	deadline := c.deadline("add this node")
	for tries := 0; ; {
		host, err := c.ownHost(ctx, infraEnv, macs)
		var on wait
		switch {
		case err != nil:
			if on, err = waitOut(ctx, err); err != nil {
				return Result{}, err
			}
		default:
			var next step
			if next, on, err = addStep(host, tries); err != nil {
				return Result{}, err
			}
			if next == stepDone {
				return Result{Kind: "host", Name: host.Hostname, ID: host.ID, Done: done}, nil
			}
			if next == stepStart {
				c.Say("installing host %s", host.Hostname)
				err := c.Service.Act(ctx, byID(), install.Action{
					Kind: model.InstallHost, Scope: model.HostScope(host.Hostname), Target: host.ID, InfraEnv: infraEnv, Name: host.Hostname,
				})
				if err != nil && (!passing(err) || context.Cause(ctx) != nil) {
					return Result{}, err
				}
				tries, done = tries+1, "installing"
				on = wait{what: "the service to take up the installation", code: install.CodeTimeout}
			}
		}
		if err := deadline.pause(ctx, on, cmp.Or(c.Poll, addPoll)); err != nil {
			return Result{}, err
		}
	}
}

// ownHost is the host that this machine is, nil while it has not registered or
// not said yet which interfaces it has.
func (c *Client) ownHost(ctx context.Context, infraEnvID string, macs []string) (*install.Host, error) {
	hosts, err := c.Service.ListHosts(ctx, infraEnvID)
	return hostWith(hosts, (&hostConfig{macs: macs}).has), err
}

// hostWith is the first host that has reported an interface with a wanted MAC
// address, nil for none.
func hostWith(hosts []install.Host, wanted func(mac string) bool) *install.Host {
	i := slices.IndexFunc(hosts, func(h install.Host) bool {
		return slices.ContainsFunc(h.Inventory.Interfaces, func(nic install.Interface) bool { return wanted(nic.MAC) })
	})
	if i < 0 {
		return nil
	}
	return &hosts[i]
}

// addStep decides. That the service goes on to call a host known which it was to
// install shows that it did not take the request, whatever it answered.
func addStep(host *install.Host, tries int) (step, wait, error) {
	if host == nil {
		return stepWait, wait{what: "this machine to register", code: install.CodeTimeout, next: "check the network of the machine and the agent's log"}, nil
	}
	fault := func(code install.Code, format string, arguments ...any) error {
		return &install.Fault{Code: code, Op: "add this node", On: host.Hostname, Permanent: true, Err: fmt.Errorf(format, arguments...)}
	}
	switch host.State {
	case model.HostInstalling, model.HostInstalled, model.HostAdded, model.HostPreparing, model.HostNeedsUser:
		return stepDone, wait{}, nil
	case model.HostFailed, model.HostCancelled:
		return stepWait, wait{}, fault(install.CodeFailed, "it has ended as %s: %s", host.Status, host.StatusInfo)
	case model.HostUnknown:
		return stepWait, wait{}, fault(install.CodeFailure, "the host is %s, a state that this oaictl does not know", host.Status)
	case model.HostUnbound:
		return stepWait, wait{}, fault(install.CodeNotFound, "its InfraEnv belongs to no cluster: the cluster was to be imported before the InfraEnv was registered")
	case model.HostReady:
		if tries >= installTries {
			return stepWait, wait{}, fault(install.CodeFailure, "the service was asked %d times to install it and has not begun", tries)
		}
		return stepStart, wait{}, nil
	case model.HostBlocked:
		return stepWait, wait{what: "the checks of the service: " + host.StatusInfo, code: install.CodeBlocked, next: "{agent status}"}, nil
	}
	return stepWait, wait{what: "this machine to be ready: it is " + host.Status, code: install.CodeTimeout}, nil
}
