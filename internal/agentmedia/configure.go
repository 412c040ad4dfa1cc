package agentmedia

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// noSuchDisk is a disk that no host has: the service's refusal of it keeps a host from
// being installed on a disk that the hints do not mean.
const noSuchDisk = "/dev/not-found-by-hints"

// notRegistered is what is recorded for a host that has not registered with the service.
const notRegistered = "Host not registered"

// The pauses between two rounds.
const (
	firstPause = time.Second
	lastPause  = 32 * time.Second
)

// tooEarly is recorded for a host that takes no settings while its installation is prepared. It takes them again if
// that fails, and start-install leaves it alone meanwhile.
const tooEarly = "Its installation is being prepared with another configuration"

type failure struct{ host, text string }

// round is what going over all hosts once came to.
type round struct {
	failures []failure
	// settled are hosts whose installation has begun with other settings, and which.
	settled []string
	changed bool
}

// Configure gives the hosts their roles, installation disks and fencing credentials, again and again until all have
// them. Meanwhile the file of failures says what is wrong. The folder is read again in each round, so that it can be
// corrected at the machine.
func (c *Client) Configure(ctx context.Context) (Result, error) {
	id, err := c.infraEnvID()
	if err != nil {
		return Result{}, err
	}
	result := Result{Kind: "infraenv", Name: id, ID: id, Done: unchanged}
	pause := firstPause / 2
	err = c.deadline("configure hosts", 0).await(ctx, func() (bool, wait, error) {
		came, err := c.configureOnce(ctx, id)
		if came.changed {
			result.Done = "configured"
		}
		on := waitFor(came.failures)
		switch {
		case err != nil:
			if on, err = waitOut(ctx, err); err != nil {
				return true, on, err
			}
		case len(came.failures) == 0:
			return true, on, errors.Join(tooLate(came.settled), removeFile(c.Env.Failures))
		default:
			if err := writeWhole(c.Env.Failures, failuresText(came.failures)); err != nil {
				return true, on, err
			}
		}
		pause = min(2*pause, lastPause)
		on.pause = pause
		err = tooLate(came.settled)
		return err != nil, on, err
	})
	return result, err
}

func tooLate(settled []string) error {
	if len(settled) == 0 {
		return nil
	}
	return &model.Fault{
		Code: model.CodeBlocked, Op: "configure hosts", Permanent: true,
		Err:  fmt.Errorf("too late, because their installation has started with another configuration: %s", strings.Join(settled, "; ")),
		Next: "change the folder of host configurations to match these hosts, or cancel and reset the installation",
	}
}

func failuresText(failures []failure) []byte {
	var text strings.Builder
	for _, f := range failures {
		fmt.Fprintf(&text, "%s: %s\n", f.host, f.text)
	}
	return []byte(text.String())
}

// waitFor says what failures wait for: machines, or a correction on the medium.
func waitFor(failures []failure) wait {
	on := wait{code: model.CodeTimeout, next: "boot the machines from the medium, and run the same command again"}
	var texts []string
	for _, f := range failures {
		texts = append(texts, f.host+": "+f.text)
		if f.text != notRegistered {
			on.code, on.next = model.CodeBlocked, "correct the host's configuration, and run the same command again"
		}
	}
	on.what = strings.Join(texts, "; ")
	return on
}

func (c *Client) configureOnce(ctx context.Context, infraEnvID string) (came round, err error) {
	configs, err := c.ownConfigs()
	if err != nil || len(configs) == 0 {
		return came, err
	}
	hosts, err := c.Service.ListHosts(ctx, infraEnvID)
	if err != nil {
		return came, err
	}
	for i := range configs {
		config := &configs[i]
		host := hostWith(hosts, config.has)
		if host == nil {
			came.failures = append(came.failures, failure{config.name, notRegistered})
			continue
		}
		settings := config.wanted(host)
		switch {
		case len(settings) == 0:
			continue
		case begun(host.State):
			came.settled = append(came.settled, config.name+": "+differences(settings))
			continue
		case host.State == model.HostPreparing:
			came.failures = append(came.failures, failure{config.name, tooEarly})
			continue
		}
		err := c.Service.Act(ctx, config.desired(), model.Action{
			Kind: model.UpdateHost, Scope: model.ScopeHost.Of(config.name), Target: host.ID, InfraEnv: infraEnvID, Name: config.name,
			Settings: settings,
		})
		switch text, conflict := config.refusal(err, host, settings); {
		case err == nil:
			c.Say("configured host %s", config.name)
			came.changed = true
		case conflict:
			came.failures = append(came.failures, failure{config.name, text})
		default:
			return came, err
		}
	}
	return came, nil
}

// begun reports whether the service takes no more settings for a host.
func begun(state model.HostState) bool {
	return slices.Contains([]model.HostState{
		model.HostInstalling, model.HostNeedsUser, model.HostInstalled, model.HostAdded, model.HostFailed, model.HostCancelled,
	}, state)
}

func differences(settings model.Settings) string {
	var names []string
	for _, known := range []struct {
		setting model.Setting
		name    string
	}{{model.SettingRole, "role"}, {model.SettingDisk, "installation disk"}, {model.SettingFencing, "fencing credentials"}} {
		if _, differs := settings[known.setting]; differs {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ", ")
}

// ownConfigs are all configurations, or that of this machine where each node adds
// itself.
func (c *Client) ownConfigs() ([]hostConfig, error) {
	configs, err := readHostConfigs(c.Env.HostConfig)
	if err != nil || c.Env.Workflow != AddNodes {
		return configs, err
	}
	macs, err := c.machineMACs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(configs, func(config hostConfig) bool { return !slices.ContainsFunc(macs, config.has) }), nil
}

func (c *Client) machineMACs() ([]string, error) {
	macs, err := c.MACs()
	if err == nil && len(macs) == 0 {
		err = errors.New("it has no interface with a MAC address")
	}
	if err != nil {
		return nil, &model.Fault{Code: model.CodeFailure, Op: "find the addresses of this machine", Err: err}
	}
	return macs, nil
}

// wanted is what the host does not have yet.
func (c *hostConfig) wanted(host *model.Host) model.Settings {
	settings := model.Settings{}
	// What auto-assign came to stands in its place once the installation is prepared.
	decided := c.role == spec.Auto && (begun(host.State) || host.State == model.HostPreparing)
	if c.role != "" && c.role != host.Role && !decided {
		settings[model.SettingRole] = model.ValueOf(c.role)
	}
	if disk, _ := c.disk(host); disk != host.Disk {
		settings[model.SettingDisk] = model.ValueOf(disk)
	}
	if c.fencing != nil && host.Settings[model.SettingFencing].Text() != c.fencing.Address {
		settings[model.SettingFencing] = model.ValueOf(c.fencing.Address)
	}
	return settings
}

// disk is the host's own disk to install on if it fits, else the first that does; none is the reason why there is none.
func (c *hostConfig) disk(host *model.Host) (id string, none error) {
	if c.hints == nil {
		return host.Disk, nil
	}
	found, err := diskhints.Candidates(*c.hints, host.Inventory.Disks, diskhints.Service)
	if err != nil {
		return noSuchDisk, err
	}
	if slices.ContainsFunc(found, func(d *model.Disk) bool { return d.ID == host.Disk }) {
		return host.Disk, nil
	}
	return found[0].ID, nil
}

// desired carries the fencing credentials, which no setting may.
func (c *hostConfig) desired() *model.Desired {
	desired := byID()
	if c.fencing != nil {
		var insecure *bool // as the file says, if it does
		if said := c.fencing.Verification; said != "" {
			disabled := said == "Disabled"
			insecure = &disabled
		}
		desired.Spec.Spec.Hosts = []spec.Host{{Name: c.name, Fencing: &spec.Fencing{
			Address: c.fencing.Address, Insecure: insecure, Credentials: spec.CredentialsOf(c.fencing.Username, spec.NewSecret(c.fencing.Password)),
		}}}
	}
	return desired
}

// refusal is the text for a configuration that the service refuses as things stand,
// such as a disk that is not there.
func (c *hostConfig) refusal(err error, host *model.Host, settings model.Settings) (text string, conflict bool) {
	fault, is := errors.AsType[*model.Fault](err)
	if !is || fault.Status != http.StatusConflict {
		return "", false
	}
	reason := strings.TrimSuffix(fault.Err.Error(), fmt.Sprintf(" (%d)", http.StatusConflict))
	if disk, set := settings[model.SettingDisk]; set {
		reason = fmt.Sprintf("Failed to update host installation disk to %s (from %s): %s", disk.Text(), host.Disk, reason)
		if _, none := c.disk(host); none != nil {
			reason += ": " + none.Error()
		}
	}
	return reason, true
}
