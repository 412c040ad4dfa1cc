//go:build linux

package logs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	infraEnv = strfmt.UUID("11111111-1111-4111-8111-111111111111")
	host     = strfmt.UUID("22222222-2222-4222-8222-222222222222")
	cluster  = strfmt.UUID("33333333-3333-4333-8333-333333333333")
)

// fakeService keeps what is uploaded.
type fakeService struct {
	states   []models.LogsState
	uploaded []byte
	err      error
}

func (f *fakeService) HostLogsProgress(ctx context.Context, ie, h strfmt.UUID, state models.LogsState) error {
	if ie != infraEnv || h != host {
		return errors.New("another host")
	}
	f.states = append(f.states, state)
	return ctx.Err()
}

func (f *fakeService) UploadLogs(_ context.Context, c strfmt.UUID, ie, h *strfmt.UUID, kind models.LogsType, content io.Reader) error {
	if c != cluster || *ie != infraEnv || *h != host || kind != models.LogsTypeHost {
		return errors.New("another host")
	}
	if _, again := content.(io.Seeker); !again {
		return errors.New("it cannot be sent again")
	}
	var err error
	f.uploaded, err = io.ReadAll(content)
	return errors.Join(err, f.err)
}

type rig struct {
	*Sender
	service *fakeService
	runner  *machine.Recorder
}

func newRig(t *testing.T, o Options) rig {
	t.Helper()
	service := &fakeService{}
	runner := &machine.Recorder{Reply: func(c machine.Command) (machine.Result, error) {
		return machine.Result{Stdout: []byte("output of " + c.String() + "\n")}, nil
	}}
	o.Cluster, o.InfraEnv, o.Host = cluster, infraEnv, host
	files := hostfile.Files{Root: t.TempDir()}
	must.Do(t, files.MakeFolder("/var/log", 0o755))
	return rig{
		&Sender{Options: o, Service: service, Runner: runner, Files: files, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler)},
		service, runner,
	}
}

// unpacked are the files that were uploaded.
func (r rig) unpacked(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	archive := tar.NewReader(must.Get(gzip.NewReader(bytes.NewReader(r.service.uploaded)))(t))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Do(t, err)
		check.Equal(t, header.Mode, 0o600)
		name, found := strings.CutPrefix(header.Name, "logs_host_"+string(host)+"/")
		check.Equal(t, found, true, header.Name)
		files[name] = string(must.Get(io.ReadAll(archive))(t))
	}
}

func done() []models.LogsState {
	return []models.LogsState{models.LogsStateRequested, models.LogsStateCollecting, models.LogsStateCompleted}
}

func TestSend(t *testing.T) {
	r := newRig(t, Options{Since: "-1h"})
	must.Do(t, r.Files.Write("/var/log/assisted-installer.log", []byte("installer"), 0o600))
	must.Do(t, r.Files.Write("/var/log/agent/agent-tui.log", []byte("console"), 0o600))
	must.Do(t, r.Files.MakeFolder("/var/log/journal", 0o755))
	must.Do(t, r.Files.MakeFolder("/dev/disk/by-id", 0o755))
	must.Do(t, os.Symlink("../../sda", r.Files.Path("/dev/disk/by-id/wwn-0x1")))
	must.Do(t, os.Symlink("/etc/shadow", r.Files.Path("/var/log/agent-link.log")))
	report, err := r.Send(t.Context())
	must.Do(t, err)
	check.Equal(t, report, "")
	check.Slice(t, r.service.states, done())
	files := r.unpacked(t)
	check.Equal(t, files["assisted-installer.log"], "installer")
	check.Equal(t, files["agent_agent-tui.log"], "console")
	check.Equal(t, files["agent.logs"],
		"output of journalctl --all --no-pager -D /var/log/journal/ --since=-1h TAG=agent + _SYSTEMD_UNIT=agent.service\n")
	check.Contains(t, files["mount.logs"], "output of lsblk -o NAME,")
	check.Contains(t, files["mount.logs"], "wwn-0x1 -> ../../sda")
	check.Equal(t, len(files), 6) // and those of the installer and of Ironic
	if left := must.Get(os.ReadDir(r.Files.Path("/var/log")))(t); len(left) != 4 {
		t.Errorf("the folder has %v", left)
	}
}

// TestLogsLeaveRoom: all parts together are bounded, since they are in the memory of a live system.
func TestLogsLeaveRoom(t *testing.T) {
	r := newRig(t, Options{})
	r.room = 1000
	for _, name := range []string{"agent1.log", "agent2.log", "agent3.log"} {
		must.Do(t, r.Files.Write("/var/log/"+name, bytes.Repeat([]byte("x"), 700), 0o600))
	}
	r.runner.Reply = func(c machine.Command) (machine.Result, error) {
		return machine.Result{Stdout: bytes.Repeat([]byte("y"), 50)}, nil
	}
	report := must.Get(r.Send(t.Context()))(t)
	sum := 0
	for name, content := range r.unpacked(t) {
		if name != reportName {
			sum += len(content)
		}
	}
	if sum > 1000 || sum < 900 {
		t.Errorf("there are %d bytes of logs", sum)
	}
	check.Contains(t, report, "agent3.log: there is no room for it")
}

func TestEverythingOfABootstrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Bootstrap: true, Everything: true, Masters: []string{"192.0.2.11", "192.0.2.12"}, Keep: true})
		before := r.runner.Reply
		r.runner.Reply = func(c machine.Command) (machine.Result, error) {
			switch {
			case c.Name == "coredumpctl" && c.Args[0] == "list":
				return machine.Result{Stdout: []byte("Mon 2026-11-30 15:00:00 UTC 1234 0 0 SIGSEGV present /usr/bin/kubelet 1.2M\n" +
					"garbage\nMon 2026-11-30 15:00:01 UTC 1;2 0 0 SIGSEGV present /usr/bin/a 1M\n" +
					"Mon 2026-11-30 15:00:01 UTC 77 0 0 SIGABRT none /tmp/a$(b) 1M\n")}, nil
			case c.Name == "installer-gather.sh":
				check.Slice(t, c.Args, []string{"--id", "20000101000000", "192.0.2.11", "192.0.2.12"})
				return machine.Result{}, r.Files.Write("/root/log-bundle-20000101000000.tar.gz", []byte("bundle"), 0o600)
			}
			return before(c)
		}
		report, err := r.Send(t.Context())
		must.Do(t, err)
		check.Equal(t, report, "")
		files := r.unpacked(t)
		check.Equal(t, files["log-bundle-20000101000000.tar.gz"], "bundle")
		check.Equal(t, files["coredump_exe_kubelet_pid_1234"], "output of coredumpctl dump 1234\n")
		check.Equal(t, files["coredump_exe_a__b__pid_77"], "output of coredumpctl dump 77\n")
		for _, name := range []string{"dmesg.logs", "journal.logs", "bootkube.logs", "ironic-agent.logs", "installer.logs"} {
			if files[name] == "" {
				t.Errorf("%s is missing", name)
			}
		}
		check.Equal(t, r.Files.Exists("/root/log-bundle-20000101000000.tar.gz"), false)
		check.Equal(t, r.Files.Exists(archive), true) // it keeps them
	})
}

// TestPartOfTheLogs is sent, with a list of what failed.
func TestPartOfTheLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Bootstrap: true, Everything: true})
		r.runner.Absent = []string{"journalctl"}
		r.runner.Reply = func(c machine.Command) (machine.Result, error) {
			if c.Name == "installer-gather.sh" {
				must.Do(t, r.Files.Write("/tmp/artifacts-20000101000000/bootstrap/kubelet.log", []byte("partial"), 0o600))
				return machine.Result{Code: 1, Stderr: []byte("ssh: \x1b[31mno route")}, nil
			}
			return machine.Result{Stdout: []byte("x")}, nil
		}
		report, err := r.Send(t.Context())
		must.Do(t, err)
		check.Slice(t, r.service.states, done())
		files := r.unpacked(t)
		check.Equal(t, files["report.logs"], report+"\n")
		check.Contains(t, report, "agent.logs: exec: \"journalctl\"")
		check.Contains(t, report, `installer-gather.sh: installer-gather.sh --id 20000101000000 ended with exit code 1: ssh: \u001b[31mno route`)
		check.Contains(t, report, "it made no archive")
		check.Equal(t, files["partial_bootstrap_kubelet.log"], "partial")
		if files["mount.logs"] == "" {
			t.Error("mount.logs is missing")
		}
	})
}

// TestLogsThatTakeTooLong are left out.
func TestLogsThatTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Everything: true, Bootstrap: true})
		r.runner.Reply = func(c machine.Command) (machine.Result, error) {
			time.Sleep(20 * time.Minute)
			return machine.Result{Stdout: []byte("x")}, nil
		}
		began := time.Now()
		report, err := r.Send(t.Context())
		must.Do(t, err)
		check.Slice(t, r.service.states, done())
		check.Contains(t, report, "the logs take longer than 50m0s")
		if took := time.Since(began); took > 90*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

func TestUploadFails(t *testing.T) {
	r := newRig(t, Options{})
	r.service.err = errors.New("413")
	check.Says(t, check.Err(r.Send(t.Context())), "413")
	check.Slice(t, r.service.states, []models.LogsState{models.LogsStateRequested, models.LogsStateCollecting, models.LogsStateTimeout})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = newRig(t, Options{})
	r.service.err = errors.New("cancelled")
	check.Says(t, check.Err(r.Send(ctx)), "cancelled")
	check.Equal(t, r.service.states[2], models.LogsStateTimeout) // it is still reported
}

func TestMost(t *testing.T) {
	var to bytes.Buffer
	left := int64(100)
	m := &most{to: &to, rest: 4, all: &left}
	for _, part := range []string{"12", "345", "6"} {
		check.Equal(t, must.Get(io.WriteString(m, part))(t), len(part))
	}
	check.Equal(t, to.String(), "1234")
	check.Equal(t, m.cut, true)
	broken := &most{to: brokenWriter{}, rest: 4, all: &left}
	_, err := broken.Write([]byte("a"))
	check.Do(t, err)
	check.Says(t, broken.err, "no space")
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestFlags(t *testing.T) {
	var printed bytes.Buffer
	env := func(string) string { return "token of the environment" }
	required := []string{"-url", "http://192.0.2.1", "-cluster-id", string(cluster), "-host-id", string(host)}
	got := must.Get(ParseFlags(append(required, "-infra-env-id", string(infraEnv), "--insecure=true", "-bootstrap=true",
		"-with-installer-gather-logging=true", "-masters-ips=192.0.2.11,2001:db8::1", "--cacert", "/etc/ca.pem", "-dont-clean", "-since", "-1h"), env, &printed))(t)
	check.Slice(t, got.Masters, []string{"192.0.2.11", "2001:db8::1"})
	got.Masters = nil
	check.Same(t, Options{
		URL: "http://192.0.2.1", Cluster: cluster, InfraEnv: infraEnv, Host: host, CACertFile: "/etc/ca.pem", Insecure: true,
		Token: "token of the environment", Since: "-1h", Bootstrap: true, Everything: true, Keep: true, Journal: true, Text: true,
	}, got)
	// The installer gives the token as a flag.
	got = must.Get(ParseFlags(append(required, "--pull-secret-token", "t", "--with-text-logging=false"), env, &printed))(t)
	check.Equal(t, got.Token, "t")
	check.Equal(t, got.InfraEnv, cluster)
	check.Equal(t, printed.String(), "")
	for text, args := range map[string][]string{
		"--url is missing": required[2:], "--cluster-id": append(required[:2:2], required[4:]...), "--host-id": required[:4],
		"--infra-env-id": append(required, "-infra-env-id", "x"), "--masters-ips": append(required, "-masters-ips=-oProxyCommand=a"),
		"which is no IP address": append(required, "-masters-ips=fe80::1%-oProxyCommand=a"),
		"unexpected argument":    append(required, "more"), "frobnicate": append(required, "--frobnicate"),
	} {
		_, err := ParseFlags(args, env, &printed)
		check.Says(t, err, text)
		if _, wrong := errors.AsType[*Usage](err); !wrong {
			t.Errorf("%v is no wrong usage", err)
		}
		check.Contains(t, printed.String(), text)
	}
	if _, err := ParseFlags([]string{"--help"}, env, &printed); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
}

// FuzzCoreDumps reads what coredumpctl prints: programs have any names.
func FuzzCoreDumps(f *testing.F) {
	f.Add("Mon 2026-11-30 15:00:00 UTC 1234 0 0 SIGSEGV present /usr/bin/kubelet 1.2M\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, dump := range parseCoreDumps(text) {
			if strings.ContainsAny(dump.pid+dump.program, "/\x00 \n") || dump.pid == "" {
				t.Errorf("%+v", dump)
			}
		}
	})
}
