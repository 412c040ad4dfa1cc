//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/network/chrony"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// timeDaemon is a chronyd in memory.
type timeDaemon struct {
	sources []chrony.Source
	err     error
	added   []string
}

func (d *timeDaemon) Sources(context.Context) ([]chrony.Source, error) { return d.sources, d.err }

func (d *timeDaemon) Add(_ context.Context, name string) error {
	d.added = append(d.added, name)
	return d.err
}

func server(ip string, state chrony.State) chrony.Source {
	return chrony.Source{Address: netip.MustParseAddr(ip), State: state, Server: true}
}

func TestNTP(t *testing.T) {
	daemon := &timeDaemon{sources: []chrony.Source{
		server("192.168.127.1", chrony.Selected), server("10.0.0.1", chrony.Combined), server("10.0.0.2", chrony.NotCombined),
		server("10.0.0.3", chrony.Unusable), server("10.0.0.4", chrony.Jittery), server("fd00::5", chrony.Falseticker), server("10.0.0.6", 99),
		{State: chrony.Selected}, {Server: true},
	}}
	resolver := names{
		hosts: map[string][]string{"known.example.com": {"10.0.0.9", "10.0.0.1"}, "new.example.com": {"10.0.0.7"}},
		addresses: map[string][]string{
			"192.168.127.1": {"clock.example.com.", "other.example.com."}, "10.0.0.1": {}, "10.0.0.2": nil, "10.0.0.3": nil, "10.0.0.4": nil, "fd00::5": nil,
		},
	}
	synctest.Test(t, func(t *testing.T) {
		code, stdout, stderr := NTP{daemon, &machine.Recorder{}, resolver, testLog(t)}.Execute(t.Context(),
			[]string{`{"ntp_source":"known.example.com,new.example.com,absent.example.com,fd00::5,10.0.0.8"}`})
		check.Equal(t, code, 0)
		check.Equal(t, stderr, "")
		check.Equal(t, stdout, `{"ntp_sources":[{"source_name":"clock.example.com","source_state":"synced"},{"source_name":"10.0.0.1","source_state":"combined"},`+
			`{"source_name":"10.0.0.2","source_state":"not_combined"},{"source_name":"10.0.0.3","source_state":"unreachable"},`+
			`{"source_name":"10.0.0.4","source_state":"variable"},{"source_name":"fd00::5","source_state":"error"},{"source_name":"10.0.0.6","source_state":"error"}]}`)
		check.Slice(t, daemon.added, []string{"new.example.com", "10.0.0.8"})
	})
}

const sourcesTable = `MS Name/IP address         Stratum Poll Reach LastRx Last sample
===============================================================================
#* PPS0                          0   4   377    12   -3ns[   -5ns] +/-  150ns
^* 192.168.127.1                 3   6   377    23   +1ns[   +2ns] +/-   10ms
^? fd00::1                       0   6     0     -     +0ns[   +0ns] +/-    0ns
^! 10.0.0.1                      0   6     0     -     +0ns[   +0ns] +/-    0ns
^- name.example.com              0
=? 10.0.0.2                      0
`

func TestNTPByChronyc(t *testing.T) {
	recorder := &machine.Recorder{Reply: func(machine.Command) (machine.Result, error) {
		return machine.Result{Stdout: []byte(sourcesTable)}, nil
	}}
	broken := &timeDaemon{err: errors.New("no socket")}
	resolver := names{addresses: map[string][]string{"192.168.127.1": nil, "fd00::1": nil, "10.0.0.1": nil}}
	ntp := NTP{broken, recorder, resolver, testLog(t)}
	_, stdout, _ := ntp.Execute(t.Context(), []string{`{"ntp_source":"10.0.0.7"}`})
	check.Equal(t, stdout, `{"ntp_sources":[{"source_name":"192.168.127.1","source_state":"synced"},{"source_name":"fd00::1","source_state":"unreachable"},`+
		`{"source_name":"10.0.0.1","source_state":"error"}]}`)
	check.Slice(t, recorder.Commands(), []string{"chronyc -n sources", "chronyc add server 10.0.0.7 iburst", "chronyc -n sources"})

	ntp.Runner = &machine.Recorder{Absent: []string{"chronyc"}}
	code, stdout, stderr := ntp.Execute(t.Context(), []string{`{"ntp_source":"10.0.0.7"}`})
	check.Equal(t, fmt.Sprint(code, stdout), "-1")
	check.Contains(t, stderr, "no socket")
	check.Contains(t, stderr, "executable file not found")
}

func TestNTPWithoutSources(t *testing.T) {
	_, stdout, _ := NTP{&timeDaemon{}, nil, names{}, testLog(t)}.Execute(t.Context(), []string{`{"ntp_source":""}`})
	check.Equal(t, stdout, `{"ntp_sources":[]}`)
}

func TestNTPRefuses(t *testing.T) {
	for question, reason := range map[string]string{
		`{"ntp_source":"--help"}`: `"--help" is neither`, `{"ntp_source":"a,"}`: `"" is neither`, `{"ntp_source":"a b"}`: `"a b" is neither`,
		`{"ntp_source":"$(reboot)"}`: "is neither", `{"ntp_source":"fe80::1%eth0"}`: "is neither", `[]`: "cannot read",
		`{"ntp_source":"a` + strings.Repeat(",a", mostServers) + `"}`: "65 servers",
	} {
		daemon := &timeDaemon{}
		code, stdout, stderr := NTP{daemon, nil, names{}, testLog(t)}.Execute(t.Context(), []string{question})
		check.Equal(t, fmt.Sprint(code, stdout), "-1", question)
		check.Contains(t, stderr, reason, question)
		check.Equal(t, len(daemon.added), 0)
	}
}

func TestDialChrony(t *testing.T) {
	ways := DialChrony(hostfile.Files{Root: t.TempDir()})
	_, err := ways[0](t.Context())
	check.Says(t, err, "no such file")
	connection, err := ways[1](t.Context())
	check.Do(t, err)
	check.Do(t, connection.Close())
}

func FuzzSources(f *testing.F) {
	f.Add(sourcesTable)
	f.Fuzz(func(t *testing.T, table string) {
		for _, source := range parseSources(table) {
			if !source.Address.IsValid() || !source.Server {
				t.Errorf("read %+v", source)
			}
		}
	})
}
