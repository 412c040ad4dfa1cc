//go:build linux

package network

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/network/chrony"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// TimeDaemon is chronyd. A chrony.Client reaches it.
type TimeDaemon interface {
	Sources(ctx context.Context) ([]chrony.Source, error)
	// Add adds a server by name or address. It is no error if there is such a server already.
	Add(ctx context.Context, name string) error
}

// NTP adds servers to the time daemon, and says which sources it has.
type NTP struct {
	Daemon TimeDaemon
	// Runner runs chronyc where Daemon does not answer.
	Runner   machine.Runner
	Resolver Resolver
	Log      *slog.Logger
}

const (
	// mostServers is how many servers the service may add at once.
	mostServers = 64
	// chronycTime is the longest that chronyc takes.
	chronycTime = 30 * time.Second
)

// Execute implements Executor.
func (n NTP) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	var request models.NtpSynchronizationRequest
	if err := decode(n.Log, "ntp-synchronizer", args, &request); err != nil {
		return refuse(failed, err)
	}
	servers, err := serversOf(request.NtpSource)
	if err != nil {
		return refuse(failed, err)
	}
	daemon := n.daemon()
	n.add(ctx, daemon, servers)
	sources, err := daemon.Sources(ctx)
	if err != nil {
		return refuse(failed, fmt.Errorf("ntp-synchronizer: find the sources of time: %w", err))
	}
	return answer(models.NtpSynchronizationResponse{NtpSources: n.describe(ctx, sources)})
}

// serversOf reads a list of names and addresses with commas between them.
func serversOf(list *string) ([]string, error) {
	if list == nil || *list == "" {
		return nil, nil
	}
	servers := strings.Split(*list, ",")
	if len(servers) > mostServers {
		return nil, fmt.Errorf("ntp-synchronizer: the service sent %d servers, and %d are the most", len(servers), mostServers)
	}
	for _, server := range servers {
		if ip, err := netip.ParseAddr(server); (err != nil || ip.Zone() != "") && !isName(server) {
			return nil, fmt.Errorf("ntp-synchronizer: %q is neither an IP address nor the name of a server", server)
		}
	}
	return servers, nil
}

// add adds the servers that the daemon does not have yet. What cannot be added is only logged: the service wants to know
// the sources in any case.
func (n NTP) add(ctx context.Context, daemon TimeDaemon, servers []string) {
	if len(servers) == 0 {
		return
	}
	sources, err := daemon.Sources(ctx)
	if err != nil {
		n.Log.Warn("cannot find out which sources of time there are", "error", escape.Word(err.Error()))
	}
	for _, server := range servers {
		// chronyd keeps a name without address as one more source each time that it is added.
		addresses, err := n.addressesOf(ctx, server)
		if err != nil {
			n.Log.Warn("an NTP server has no address", "server", server, "error", escape.Word(err.Error()))
			continue
		}
		if slices.ContainsFunc(sources, func(s chrony.Source) bool { return slices.Contains(addresses, s.Address.String()) }) {
			continue
		}
		if err := daemon.Add(ctx, server); err != nil {
			n.Log.Error("cannot add an NTP server", "server", server, "error", escape.Word(err.Error()))
		}
	}
}

func (n NTP) addressesOf(ctx context.Context, server string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	if ip, err := netip.ParseAddr(server); err == nil {
		return []string{ip.String()}, nil
	}
	return n.Resolver.LookupHost(ctx, server)
}

// describe names the servers among the sources. A server without a name has its address.
func (n NTP) describe(ctx context.Context, sources []chrony.Source) []*models.NtpSource {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	servers := slices.DeleteFunc(slices.Clone(sources), func(s chrony.Source) bool { return !s.Server || !s.Address.IsValid() })
	all := make([]*models.NtpSource, len(servers))
	inParallel(len(servers), lookups, func(i int) {
		address := servers[i].Address.String()
		all[i] = &models.NtpSource{SourceName: address, SourceState: stateOf(servers[i].State)}
		names, err := n.Resolver.LookupAddr(ctx, address)
		if err != nil || len(names) == 0 {
			n.Log.Debug("an NTP server has no name", "address", address, "error", err)
			return
		}
		all[i].SourceName = strings.Trim(names[0], ".")
	})
	return all
}

func stateOf(state chrony.State) models.SourceState {
	switch state {
	case chrony.Selected:
		return models.SourceStateSynced
	case chrony.Combined:
		return models.SourceStateCombined
	case chrony.NotCombined:
		return models.SourceStateNotCombined
	case chrony.Unusable:
		return models.SourceStateUnreachable
	case chrony.Jittery:
		return models.SourceStateVariable
	case chrony.Falseticker:
	}
	return models.SourceStateError
}

func (n NTP) daemon() TimeDaemon { return either{n.Daemon, chronyc{n.Runner}, n.Log} }

// either asks the second where the first does not answer.
type either struct {
	first, second TimeDaemon
	log           *slog.Logger
}

func (e either) Sources(ctx context.Context) ([]chrony.Source, error) {
	sources, err := e.first.Sources(ctx)
	if err == nil {
		return sources, nil
	}
	e.log.Debug("ask chronyc for the sources of time", "reason", err)
	sources, second := e.second.Sources(ctx)
	if second != nil {
		return nil, errors.Join(err, second)
	}
	return sources, nil
}

func (e either) Add(ctx context.Context, name string) error {
	err := e.first.Add(ctx, name)
	if err == nil {
		return nil
	}
	e.log.Debug("add an NTP server by chronyc", "reason", err)
	if second := e.second.Add(ctx, name); second != nil {
		return errors.Join(err, second)
	}
	return nil
}

// chronyc is the daemon as its program shows it.
type chronyc struct{ runner machine.Runner }

func (c chronyc) Sources(ctx context.Context) ([]chrony.Source, error) {
	result, err := c.runner.Run(ctx, machine.Command{Name: "chronyc", Args: []string{"-n", "sources"}, Timeout: chronycTime})
	if err != nil {
		return nil, err
	}
	return parseSources(string(result.Stdout)), nil
}

func (c chronyc) Add(ctx context.Context, name string) error {
	_, err := c.runner.Run(ctx, machine.Command{Name: "chronyc", Args: []string{"add", "server", name, "iburst"}, Timeout: chronycTime})
	return err
}

// parseSources reads the servers in the table that chronyc prints.
func parseSources(table string) []chrony.Source {
	states := map[byte]chrony.State{
		'*': chrony.Selected, '+': chrony.Combined, '-': chrony.NotCombined, '?': chrony.Unusable, 'x': chrony.Falseticker, '~': chrony.Jittery,
	}
	var all []chrony.Source
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		const columns = 2
		if len(fields) < columns || len(fields[0]) != columns || fields[0][0] != '^' {
			continue
		}
		ip, err := netip.ParseAddr(fields[1])
		if err != nil {
			continue
		}
		state, known := states[fields[0][1]]
		if !known {
			state = chrony.Falseticker
		}
		all = append(all, chrony.Source{Address: ip, State: state, Server: true})
	}
	return all
}

// DialChrony are the ways to reach the chronyd of this machine: its socket, and its port on the loopback interface.
func DialChrony(files socketDialer) []func(context.Context) (net.Conn, error) {
	const (
		program = "/run/chrony/chronyd.sock"
		own     = "/run/chrony/oaictl.%s.sock"
		port    = "127.0.0.1:323"
	)
	return []func(context.Context) (net.Conn, error){
		func(context.Context) (net.Conn, error) { return files.Dial(program, fmt.Sprintf(own, rand.Text())) },
		func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "udp", port) },
	}
}

// socketDialer makes socket files. hostfile.Files does.
type socketDialer interface {
	Dial(program, path string) (net.Conn, error)
}
