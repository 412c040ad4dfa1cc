package simulator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BootConfig says which machines boot what. The service may be any assisted-service.
type BootConfig struct {
	ServiceURL string
	HTTPClient *http.Client
	Clock      clock.Clock
	Seed       int64
	Scenario   *scenario.Scenario
	// Cluster names the machines and, by its own name, the InfraEnvs whose images they boot.
	Cluster *spec.Cluster
	// InfraEnv, with Count, boots that many machines from one InfraEnv, by name or id, instead.
	InfraEnv string
	Count    int
	Day      host.BootDay
	// UserToken is sent to list InfraEnvs, HostToken by the machines.
	UserToken, HostToken string
	// Images gives the addresses of the discovery Ignition of every InfraEnv. A hub needs it: there the
	// token of a machine is in this address, and the service does not list its InfraEnvs. Nil asks the service.
	Images func(ctx context.Context) ([]string, error)
	// BMCs boot their machines; nil boots every machine once there is an image for it.
	BMCs *bmc.Server
	// Joins is called when the kubelet of a machine starts that was added to an installed
	// cluster, until its context ends: see host.Config and JoinSpoke. It may be nil.
	Joins func(ctx context.Context, j host.Joining) error
	// JoinsAll has Joins called for the machines of an installation, too: see host.Config.
	JoinsAll bool
	Logf     func(format string, args ...any)
	// Waits is told what is waited for, once that takes a moment, and again when it changes. It may be nil.
	Waits func(what string)
	// Report takes a line about each stage: booted, registered, and each machine's end. It may be nil.
	Report func(format string, args ...any)
}

// Boot waits for every machine's image, switches all of them on, and returns when each has come to its end.
func Boot(ctx context.Context, config BootConfig) error {
	_, err := config.boot(ctx)
	return err
}

// boot is Boot, and gives the machines that booted with what they did.
func (c *BootConfig) boot(ctx context.Context) ([]host.Machine, error) {
	machines, err := c.machines()
	if err != nil {
		return nil, fmt.Errorf("make the machines: %w", err)
	}
	controlled(machines, c.BMCs)
	all := machines
	machines, token, err := c.findImages(ctx, all)
	if err != nil {
		return nil, err
	}
	runOn(all, machines)
	if len(machines) == 0 {
		return nil, nil // all of them are part of the cluster
	}
	stages := newStages(c.Report, machines)
	defer stages.over()
	return machines, host.Run(ctx, host.Config{
		ServiceURL: c.ServiceURL, HTTPClient: c.HTTPClient, Machines: machines, Clock: c.Clock, Seed: uint64(c.Seed),
		Scenario: c.Scenario, Token: token, Boot: c.Day, DNS: c.names(), Joins: c.Joins, JoinsAll: c.JoinsAll, Logf: c.Logf,
		Registered: stages.register, Ended: stages.end,
	})
}

const imageInterval = 20 * time.Second

// pollInterval is imageInterval, or less where that takes long: who boots machines may be watching.
func (c *BootConfig) pollInterval() time.Duration {
	if wall := c.Clock.Wall(imageInterval); wall > soon {
		return time.Duration(float64(imageInterval) * float64(soon) / float64(wall))
	}
	return imageInterval
}

// infraEnv is the part of an InfraEnv that says who boots it.
type infraEnv struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Arch      string    `json:"cpu_architecture"`
	ClusterID string    `json:"cluster_id"`
	Networks  string    `json:"static_network_config"`
	Created   time.Time `json:"created_at"`
	token     string    // that its image has for machines, as far as one was looked for
}

// findImages gives every machine the InfraEnv that it boots, waiting for those
// that are not registered yet. It returns the machines that boot, and what they
// identify themselves with.
func (c *BootConfig) findImages(ctx context.Context, machines []host.Machine) (booting []host.Machine, token string, err error) {
	if !slices.ContainsFunc(machines, func(m host.Machine) bool { return !c.findsImage(&m) }) {
		newStages(c.Report, machines).found(nil, machines)
		return machines, c.HostToken, nil
	}
	pause := c.pollInterval()
	waits := waiting{report: c.Waits, pause: c.Clock.Wall(pause)}
	for {
		list, err := c.infraEnvs(ctx)
		boot := machines
		if err == nil && c.Day == host.Day2 {
			list, boot, err = c.dayTwo(ctx, list, machines)
		}
		if err == nil && c.assign(list, boot) {
			newStages(c.Report, boot).found(list, boot)
			return boot, c.tokenOf(list, boot), nil
		}
		waits.observe(c.missing(list, machines, err))
		if err := c.Clock.Sleep(ctx, pause); err != nil {
			return nil, "", err
		}
	}
}

// tokenOf is the machines' token: any image's, since the service lets the agent of one InfraEnv do what agents do.
func (c *BootConfig) tokenOf(list []infraEnv, machines []host.Machine) string {
	if c.HostToken != "" {
		return c.HostToken
	}
	for _, env := range list {
		if env.token != "" && slices.ContainsFunc(machines, func(m host.Machine) bool { return m.InfraEnvID == env.ID }) {
			return env.token
		}
	}
	return ""
}

// waiting tells what is waited for: not what is there a moment later, and the same thing once.
type waiting struct {
	report   func(what string)
	reported string
	before   string
	stood    time.Duration // real time for which it has been the same
	pause    time.Duration // real time between two looks
}

// soon is how long a user waits without a message, in real time.
const soon = 3 * time.Second

func (w *waiting) observe(what string) {
	w.stood += w.pause
	if what != w.before {
		w.before, w.stood = what, 0
	}
	if w.report != nil && what != w.reported && w.stood >= soon {
		w.reported = what
		w.report(what)
	}
}

func (c *BootConfig) missing(list []infraEnv, machines []host.Machine, err error) string {
	if err != nil {
		var request *url.Error
		if errors.As(err, &request) {
			err = request.Err
		}
		return fmt.Sprintf("the service at %s to answer (%v)", c.ServiceURL, err)
	}
	name := c.InfraEnv
	if c.Cluster != nil {
		name = c.Cluster.Metadata.Name
	}
	for i := range machines {
		if machines[i].InfraEnvID == "" && c.Cluster != nil && !c.findsImage(&machines[i]) {
			return fmt.Sprintf(
				"an InfraEnv %s for %s, architecture %s; the service has %s", cmp.Or(c.ownImage(machines[i].Name), name), machines[i].Name,
				machines[i].CPUArch, named(list),
			)
		}
	}
	return fmt.Sprintf("an InfraEnv %s; the service has %s", name, named(list))
}

// named are the names of InfraEnvs, as far as they fit a line.
func named(list []infraEnv) string {
	const most = 10
	if len(list) == 0 {
		return "none"
	}
	names := make([]string, 0, most+1)
	for _, env := range list {
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, env.Name)
	}
	return strings.Join(names, ", ")
}

func (c *BootConfig) assign(list []infraEnv, machines []host.Machine) bool {
	for i := range machines {
		if c.findsImage(&machines[i]) {
			continue
		}
		machines[i].InfraEnvID = ""
		for _, env := range list {
			if c.boots(&machines[i], env) {
				machines[i].InfraEnvID = env.ID
			}
		}
		if machines[i].InfraEnvID == "" {
			return false
		}
	}
	return true
}

func (c *BootConfig) boots(machine *host.Machine, env infraEnv) bool {
	if c.Cluster == nil {
		return env.ID == c.InfraEnv || env.Name == c.InfraEnv
	}
	own := c.ownImage(machine.Name)
	return (own == "" && c.ours(env) || own != "" && own == env.Name) && (env.Arch == "" || env.Arch == machine.CPUArch) &&
		(c.Day != host.Day2 || c.reaches(machine, env))
}

// ours says whether an InfraEnv is that which the file refers to, else one of its cluster's.
func (c *BootConfig) ours(env infraEnv) bool {
	name, ref := c.Cluster.Metadata.Name, c.Cluster.Spec.InfraEnv.Ref
	if ref != "" {
		return env.Name == ref || env.ID == ref
	}
	return (env.Name == name || strings.HasPrefix(env.Name, name+"-")) && c.Cluster.HostAloneIn(env.Name) == nil
}

// ownImage is the name of the InfraEnv that serves a machine alone, "" where it shares one.
func (c *BootConfig) ownImage(machine string) string {
	if h := c.Cluster.Host(machine); h != nil {
		return h.Match.InfraEnv
	}
	return ""
}

// reaches says whether a machine that needs a static network has it with an image. A pool has its own.
func (c *BootConfig) reaches(machine *host.Machine, env infraEnv) bool {
	h := c.Cluster.Host(machine.Name)
	if h == nil || c.Cluster.Spec.InfraEnv.Ref != "" {
		return true
	}
	_, nics, static := c.Cluster.StaticNetwork(h)
	return !static || slices.ContainsFunc(nics, func(n spec.NIC) bool { return strings.Contains(strings.ToLower(env.Networks), n.MAC) })
}

func (c *BootConfig) infraEnvs(ctx context.Context) ([]infraEnv, error) {
	if c.Images != nil {
		return c.booted(ctx)
	}
	var list []infraEnv
	return list, c.get(ctx, "/v2/infra-envs", "list InfraEnvs", "", &list)
}

// get reads what the service has at a path, as the agent that a token is of, or else as the user.
func (c *BootConfig) get(ctx context.Context, path, op, token string, into any) error {
	base := strings.TrimSuffix(strings.TrimSuffix(c.ServiceURL, "/"), "/api/assisted-install")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/assisted-install"+path, nil)
	if err != nil {
		return err
	}
	switch {
	case token != "":
		request.Header.Set("X-Secret-Key", token)
	case c.UserToken != "":
		request.Header.Set("Authorization", c.UserToken)
	}
	return c.fetch(request, op, into)
}

func (c *BootConfig) fetch(request *http.Request, op string, into any) error {
	response, err := cmp.Or(c.HTTPClient, http.DefaultClient).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the service answers %s", op, response.Status)
	}
	const most = 64 << 20
	if err := json.NewDecoder(io.LimitReader(response.Body, most)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// BootAgain is Boot, anew each time that the booted cluster was deleted, until ctx ends.
func BootAgain(ctx context.Context, config BootConfig) error {
	for {
		machines, err := config.boot(ctx)
		if err != nil || len(machines) == 0 {
			return err
		}
		if err := config.awaitEnd(ctx, machines); err != nil {
			return err
		}
	}
}

// awaitEnd waits until the service has none of the InfraEnvs any more that machines have booted.
func (c *BootConfig) awaitEnd(ctx context.Context, machines []host.Machine) error {
	var booted []string
	known := false
	for {
		list, err := c.infraEnvs(ctx)
		if err == nil {
			if !known {
				booted, known = c.bootedBy(list, machines), true
			}
			if !slices.ContainsFunc(list, func(env infraEnv) bool { return slices.Contains(booted, env.ID) }) {
				return nil
			}
		}
		if err := c.Clock.Sleep(ctx, c.pollInterval()); err != nil {
			return err
		}
	}
}

// bootedBy are the InfraEnvs that machines have booted; those with a controller were told theirs by it.
func (c *BootConfig) bootedBy(list []infraEnv, machines []host.Machine) []string {
	var booted []string
	for i := range machines {
		if id := machines[i].InfraEnvID; id != "" {
			booted = append(booted, id)
			continue
		}
		for _, env := range list {
			if c.boots(&machines[i], env) {
				booted = append(booted, env.ID)
			}
		}
	}
	return booted
}
