//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// installerFunc is an installer made of a function.
type installerFunc func(ctx context.Context, argv []string) error

func (f installerFunc) Start(ctx context.Context, argv []string) error { return f(ctx, argv) }

// newInstall is an executor on a machine with the disks vda and vdb. The image is there.
func newInstall(t *testing.T) (*Install, *machine.Recorder) {
	t.Helper()
	files := hostfile.Files{Root: t.TempDir()}
	for _, disk := range []string{"/dev/vda", "/dev/vdb", "/dev/disk/by-id/wwn-0x1"} {
		must.Do(t, files.Write(disk, nil, 0o600))
	}
	runner := &machine.Recorder{Reply: func(c machine.Command) (machine.Result, error) {
		if c.Args[0] == "images" {
			return machine.Result{Stdout: []byte("0123456789ab\n")}, nil
		}
		return machine.Result{}, nil
	}}
	return &Install{
		Options: Options{URL: "http://192.0.2.1:8090", Version: ownImage, Token: token, HostID: hostID}, Runner: runner, Files: files, Log: quiet(),
	}, runner
}

func readText(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSuffix(string(must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)), "\n")
}

// TestInstallArguments holds the programs that run against those of the original agent.
func TestInstallArguments(t *testing.T) {
	for name, change := range map[string]func(*Install){
		"recorded": func(*Install) {},
		"full":     func(i *Install) { i.Options.CACertFile, i.Options.Insecure = "/etc/ca.pem", true },
	} {
		t.Run(name, func(t *testing.T) {
			i, runner := newInstall(t)
			change(i)
			reply := i.Execute(t.Context(), []string{readText(t, "install-"+name+".json")})
			check.Equal(t, reply, Reply{})
			check.Equal(t, strings.Join(runner.Commands(), "\n"), readText(t, "install-"+name+".argv"))
		})
	}
}

// TestOwnInstaller gets the same flags on a machine without podman, and is stopped by the step for that.
func TestOwnInstaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, runner := newInstall(t)
		runner.Absent = []string{"podman"}
		var got []string
		i.Own = installerFunc(func(ctx context.Context, argv []string) error {
			got = argv
			<-ctx.Done()
			return errors.New("stopped")
		})
		check.Equal(t, i.Stop().Execute(t.Context(), nil), Reply{})
		first := make(chan Reply)
		go func() { first <- i.Execute(t.Context(), []string{readText(t, "install-recorded.json")}) }()
		synctest.Wait()
		second := i.Execute(t.Context(), []string{readText(t, "install-recorded.json")})
		check.Equal(t, second, Reply{ExitCode: 125, Error: `Error: the container name "assisted-installer" is already in use`})
		check.Equal(t, i.Stop().Execute(t.Context(), nil), Reply{})
		check.Equal(t, <-first, Reply{ExitCode: 1, Error: "stopped"})
		_, flags, _ := strings.Cut(readText(t, "install-recorded.argv"), "assisted-installer:latest --role")
		check.Equal(t, strings.Join(got, " "), "--role"+flags)
		check.Equal(t, len(runner.Commands()), 0)
		i.Own = installerFunc(func(context.Context, []string) error { return nil })
		check.Equal(t, i.Execute(t.Context(), []string{readText(t, "install-recorded.json")}), Reply{})
	})
}

// TestOwnInstallerWithoutImage: an agent that a unit starts without --agent-version gives the installer no empty name.
func TestOwnInstallerWithoutImage(t *testing.T) {
	i, runner := newInstall(t)
	runner.Absent, i.Options.Version = []string{"podman"}, ""
	var got []string
	i.Own = installerFunc(func(_ context.Context, argv []string) error {
		got = argv
		return nil
	})
	check.Equal(t, i.Execute(t.Context(), []string{readText(t, "install-recorded.json")}), Reply{})
	check.Contains(t, strings.Join(got, " "), "--controller-image")
	check.Equal(t, slices.Contains(got, "--agent-image") || slices.Contains(got, ""), false)
}

// TestInstallerThatDoesNotStop does not hold the step for ever.
func TestInstallerThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, runner := newInstall(t)
		runner.Absent = []string{"podman"}
		i.Own = installerFunc(func(context.Context, []string) error {
			time.Sleep(time.Hour)
			return nil
		})
		ended := make(chan Reply)
		go func() { ended <- i.Execute(t.Context(), []string{readText(t, "install-recorded.json")}) }()
		synctest.Wait()
		reply := i.Stop().Execute(t.Context(), nil)
		check.Equal(t, reply.ExitCode, 1)
		check.Contains(t, reply.Error, "has not stopped in 30s")
		<-ended
	})
}

func TestStop(t *testing.T) {
	i, runner := newInstall(t)
	check.Equal(t, i.Stop().Execute(t.Context(), []string{}), Reply{})
	check.Slice(t, runner.Commands(), []string{"podman stop -i -t 5 assisted-installer"})
	check.Equal(t, i.Stop().Execute(t.Context(), []string{"other"}).ExitCode, refused)
}

// TestPull tries three times, and gives up with the exit code that the original agent has for it.
func TestPull(t *testing.T) {
	for failures, want := range map[int]int{0: 0, 2: 0, 3: pullFailed} {
		i, runner := newInstall(t)
		pulls := 0
		runner.Reply = func(c machine.Command) (machine.Result, error) {
			if c.Args[0] != "pull" {
				return machine.Result{}, nil
			}
			check.Equal(t, c.Timeout, 600*time.Second)
			if pulls++; pulls <= failures {
				return machine.Result{Code: 125, Stderr: []byte("manifest unknown")}, nil
			}
			return machine.Result{}, nil
		}
		reply := i.Execute(t.Context(), []string{readText(t, "install-recorded.json")})
		check.Equal(t, reply.ExitCode, want)
		check.Equal(t, pulls, min(failures+1, 3))
		if want != 0 {
			check.Contains(t, reply.Error, "manifest unknown")
			check.Contains(t, reply.Error, "assisted-installer:latest")
		}
	}
}

// TestInstallerContainer passes on what the container says, and the token only in the environment.
func TestInstallerContainer(t *testing.T) {
	deadline := &machine.Failed{Command: machine.Command{Name: "podman"}, Err: context.DeadlineExceeded}
	for name, test := range map[string]struct {
		result machine.Result
		err    error
		want   Reply
	}{
		"in use": {
			result: machine.Result{Code: 125, Stderr: []byte("Error: the container name \"assisted-installer\" is already in use\n")},
			want:   Reply{ExitCode: 125, Error: "Error: the container name \"assisted-installer\" is already in use\n"},
		},
		"failed":        {result: machine.Result{Code: 1, Stdout: []byte("log")}, want: Reply{ExitCode: 1, Output: "log", Error: "podman ended with exit code 1"}},
		"warnings":      {result: machine.Result{Stderr: []byte("warning")}, want: Reply{Error: "warning"}},
		"a lot of text": {result: machine.Result{Stdout: []byte("x"), Cut: true}, want: Reply{Output: "x", Error: "\n(the output was longer than what is kept)"}},
		"refused":       {err: errors.New("not live"), want: Reply{ExitCode: -1, Error: "not live"}},
		"too long":      {err: deadline, want: Reply{ExitCode: 124, Error: deadline.Error()}},
	} {
		err := test.err
		if err == nil && test.result.Code != 0 {
			err = &machine.Failed{Command: machine.Command{Name: "podman"}, Result: test.result}
		}
		got := container(test.result, err)
		if name == "failed" {
			got.Error = strings.Replace(got.Error, "podman  ended", "podman ended", 1)
		}
		check.Equal(t, got, test.want, name)
	}
	i, runner := newInstall(t)
	before := runner.Reply
	runner.Reply = func(c machine.Command) (machine.Result, error) {
		if c.Args[0] == "run" {
			check.Slice(t, c.Env, []string{"PULL_SECRET_TOKEN=" + token})
			check.Equal(t, c.Limit, outputLimit)
		}
		if strings.Contains(c.String(), token) {
			t.Errorf("the token is an argument of %s", c)
		}
		return before(c)
	}
	check.Equal(t, i.Execute(t.Context(), []string{readText(t, "install-recorded.json")}), Reply{})
}

// changed is the recorded request with other values.
func changed(t testing.TB, change map[string]any) string {
	t.Helper()
	var request map[string]any
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/install-recorded.json"))(t), &request))
	for key, value := range change {
		request[key] = value
		if value == nil {
			delete(request, key)
		}
	}
	return string(must.Get(json.Marshal(request))(t))
}

// TestHostileInstall runs nothing for arguments that are not what they must be.
func TestHostileInstall(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"image is a flag":            {"installer_image": "--entrypoint=/bin/sh"},
		"image has a command":        {"installer_image": "quay.io/a/b; reboot"},
		"image has a substitution":   {"installer_image": "quay.io/a/$(reboot)"},
		"image has a line break":     {"installer_image": "quay.io/a/b:1\n"},
		"image is long":              {"installer_image": "quay.io/a/" + strings.Repeat("b", 2000)},
		"image is a file":            {"installer_image": "docker-archive:/dev/zero"},
		"image is missing":           {"installer_image": nil},
		"controller is a flag":       {"controller_image": "-v=/:/host"},
		"MCO is a flag":              {"mco_image": "--rm"},
		"CoreOS is a flag":           {"coreos_image": "--rm"},
		"must-gather is a flag":      {"must_gather_image": "--rm"},
		"must-gather has a flag":     {"must_gather_image": `{"ocp":"--rm"}`},
		"must-gather has a command":  {"must_gather_image": `{"ocp; reboot":"quay.io/a/b:1"}`},
		"disk is no device":          {"boot_device": "/etc/passwd"},
		"disk leaves /dev":           {"boot_device": "/dev/../etc/passwd"},
		"disk is not there":          {"boot_device": "/dev/vdz"},
		"disk has a command":         {"boot_device": "/dev/vda; reboot"},
		"disk has a space":           {"boot_device": "/dev/vda /dev/vdb"},
		"disk is missing":            {"boot_device": nil},
		"disk to format is hostile":  {"disks_to_format": []string{"/dev/vdb", "/dev/`reboot`"}},
		"role is unknown":            {"role": "administrator"},
		"role is open":               {"role": "auto-assign"},
		"another host":               {"host_id": "44444444-4444-4444-8444-444444444444"},
		"host is no UUID":            {"host_id": "../.."},
		"cluster is no UUID":         {"cluster_id": "$(id)"},
		"InfraEnv is no UUID":        {"infra_env_id": "x"},
		"version is hostile":         {"openshift_version": "4.22.9 --insecure"},
		"version is a flag":          {"openshift_version": "--insecure"},
		"control plane is negative":  {"control_plane_count": -1},
		"control plane is a text":    {"control_plane_count": "3; reboot"},
		"arguments are no list":      {"installer_args": "--append-karg a"},
		"arguments have a flag":      {"installer_args": `["--ignition-url","http://192.0.2.66/a"]`},
		"arguments hide a flag":      {"installer_args": `["--append-karg=a"]`},
		"arguments have a command":   {"installer_args": `["--append-karg","a` + "`reboot`" + `"]`},
		"arguments have a space":     {"installer_args": `["--append-karg","a b"]`},
		"arguments are empty":        {"installer_args": `[""]`},
		"proxy is a file":            {"proxy": map[string]string{"http_proxy": "file:///etc/passwd"}},
		"proxy has no host":          {"proxy": map[string]string{"https_proxy": "http://"}},
		"proxy has a space":          {"proxy": map[string]string{"https_proxy": "http://a/ --insecure"}},
		"exception is hostile":       {"proxy": map[string]string{"http_proxy": "http://a", "no_proxy": "a;b"}},
		"service address is a name":  {"service_ips": []string{"assisted.example.com"}},
		"service address is a list":  {"service_ips": []string{"fe80::1%a,--insecure"}},
		"service address is hostile": {"service_ips": []string{"192.0.2.1 evil"}},
	} {
		t.Run(name, func(t *testing.T) {
			i, runner := newInstall(t)
			reply := i.Execute(t.Context(), []string{changed(t, change)})
			check.Equal(t, reply.ExitCode, refused)
			if reply.Error == "" || len(reply.Error) > 4000 {
				t.Errorf("error %q", reply.Error)
			}
			check.Equal(t, len(runner.Commands()), 0)
		})
	}
	i, runner := newInstall(t)
	valid := readText(t, "install-recorded.json")
	for name, args := range map[string][]string{
		"no argument": nil, "two arguments": {valid, valid}, "empty": {""}, "null": {"null"}, "list": {"[" + valid + "]"}, "a text": {`"x"`},
		"garbage": {"\x00"}, "half": {valid[:100]}, "two objects": {valid + valid}, "huge": {valid + strings.Repeat(" ", longestArgument)},
	} {
		check.Equal(t, i.Execute(t.Context(), args).ExitCode, refused, name)
	}
	check.Equal(t, len(runner.Commands()), 0)
}

// TestManyUnknownFields do not fill the log.
func TestManyUnknownFields(t *testing.T) {
	i, _ := newInstall(t)
	var log strings.Builder
	i.Log = slog.New(slog.NewTextHandler(&log, nil))
	fields := map[string]any{}
	for n := range 10_000 {
		fields[fmt.Sprint("new", n)] = 1
	}
	check.Equal(t, i.Execute(t.Context(), []string{changed(t, fields)}), Reply{})
	if log.Len() > 10_000 {
		t.Errorf("the log has %d bytes", log.Len())
	}
	check.Contains(t, log.String(), "count=10000")
}

// TestUnknownFields of a newer service do not matter.
func TestUnknownFields(t *testing.T) {
	i, runner := newInstall(t)
	reply := i.Execute(t.Context(), []string{changed(t, map[string]any{"new\x1b": "value", "cluster_id": clusterID.String()})})
	check.Equal(t, reply, Reply{})
	check.Equal(t, len(runner.Commands()), 2)
	for _, role := range []string{"bootstrap", "master", "arbiter", "worker"} {
		i, _ := newInstall(t)
		check.Equal(t, i.Execute(t.Context(), []string{changed(t, map[string]any{"role": role, "must_gather_image": nil, "mco_image": nil})}), Reply{})
	}
}

// TestManualNetwork copies the connections that a person made on the console, and no others.
func TestManualNetwork(t *testing.T) {
	const file = connections + "/eth0.nmconnection"
	connection := []byte("[connection]\nid=eth0\n")
	for name, test := range map[string]struct {
		prepare func(t *testing.T, f hostfile.Files)
		want    bool
	}{
		"no console": {func(t *testing.T, f hostfile.Files) { must.Do(t, f.Write(file, connection, 0o600)) }, false},
		"a new connection": {func(t *testing.T, f hostfile.Files) {
			must.Do(t, f.Write(consoleLog, nil, 0o600))
			must.Do(t, f.Write(file, connection, 0o600))
			later := time.Now().Add(time.Hour)
			must.Do(t, os.Chtimes(f.Path(file), later, later))
		}, true},
		"an earlier connection": {func(t *testing.T, f hostfile.Files) {
			must.Do(t, f.Write(consoleLog, nil, 0o600))
			must.Do(t, f.Write(file, connection, 0o600))
			earlier := time.Now().Add(-time.Hour)
			must.Do(t, os.Chtimes(f.Path(file), earlier, earlier))
		}, false},
		"no connection": {func(t *testing.T, f hostfile.Files) {
			must.Do(t, f.Write(consoleLog, nil, 0o600))
			must.Do(t, f.Write(file, []byte("[main]\n"), 0o600))
			later := time.Now().Add(time.Hour)
			must.Do(t, os.Chtimes(f.Path(file), later, later))
		}, false},
		"no folder": {func(t *testing.T, f hostfile.Files) { must.Do(t, f.Write(consoleLog, nil, 0o600)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			i, runner := newInstall(t)
			test.prepare(t, i.Files)
			i.Execute(t.Context(), []string{readText(t, "install-recorded.json")})
			got := strings.Contains(fmt.Sprint(runner.Commands()), `"ip=52-54-00-00-00-11:dhcp","--copy-network"]`)
			if name == "a new connection" && !got {
				t.Skip("this file system may have no birth times")
			}
			check.Equal(t, got, test.want)
		})
	}
}

// TestInstallOfAnotherHost is refused by the agent, which knows its host only since it registered.
func TestInstallOfAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		argument := changed(t, map[string]any{"host_id": "44444444-4444-4444-8444-444444444444"})
		s := &fakeService{instructions: func(int) (*models.Steps, error) {
			steps := wanted(60, models.StepTypeInstall)
			steps.Instructions[0].Args = []string{argument}
			return steps, nil
		}}
		r := newRig(t, s)
		i, runner := newInstall(t)
		i.Options.HostID = ""
		r.Executors[models.StepTypeInstall] = i
		r.runFor(t, 10*time.Second)
		check.Equal(t, s.replies[0].ExitCode, refused)
		check.Contains(t, s.replies[0].Error, "this is the host "+string(hostID))
		check.Equal(t, len(runner.Commands()), 0)
	})
}

// TestLogOfAResumedInstallation has no secrets of the error.
func TestLogOfAResumedInstallation(t *testing.T) {
	i, runner := newInstall(t)
	runner.Absent = []string{"podman"}
	var log strings.Builder
	i.Log = slog.New(slog.NewTextHandler(&log, nil))
	must.Do(t, i.Files.Write(argumentsFile, []byte(`["--role","master"]`), 0o600))
	i.Status = func(context.Context, strfmt.UUID, strfmt.UUID) (string, error) {
		return models.HostStatusInstalling, nil
	}
	i.Own = installerFunc(func(context.Context, []string) error {
		return errors.New("no answer of http://user:hunter2@proxy.example.com")
	})
	i.Resume(t.Context())
	check.Contains(t, log.String(), "proxy.example.com")
	check.Equal(t, strings.Contains(log.String(), "hunter2"), false, log.String())
}

// TestResume: an agent that was killed while its own installer ran leaves the arguments. The next agent resumes it if the
// service still installs the host.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		status  string
		err     error
		resumed bool
	}{
		"the host installs":         {models.HostStatusInstallingInProgress, nil, true},
		"the host begins":           {models.HostStatusInstalling, nil, true},
		"the host was reset":        {models.HostStatusKnown, nil, false},
		"the host failed":           {models.HostStatusError, nil, false},
		"the service answers later": {models.HostStatusInstallingInProgress, errors.New("no answer"), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i, runner := newInstall(t)
				runner.Absent = []string{"podman"}
				killed, kill := context.WithCancel(t.Context())
				var first []string
				i.Own = installerFunc(func(_ context.Context, argv []string) error {
					first = argv
					kill()
					return context.Canceled
				})
				_ = i.Execute(killed, []string{readText(t, "install-recorded.json")})
				check.Equal(t, must.Get(os.Stat(i.Files.Path(argumentsFile)))(t).Mode().Perm(), 0o600)

				var second []string
				i.Own = installerFunc(func(_ context.Context, argv []string) error { second = argv; return nil })
				i.Status = func(_ context.Context, infraEnv, host strfmt.UUID) (string, error) {
					check.Equal(t, infraEnv.String(), valueOf(first, "--infra-env-id"))
					check.Equal(t, host.String(), valueOf(first, "--host-id"))
					err := test.err
					test.err = nil
					return test.status, err
				}
				i.Clock = clock.Real()
				i.Resume(t.Context())
				if test.resumed {
					check.Equal(t, strings.Join(second, " "), strings.Join(first, " "))
				} else if second != nil {
					t.Errorf("it was resumed: %q", second)
				}
				second = nil
				i.Resume(t.Context())
				if second != nil || i.Files.Exists(argumentsFile) {
					t.Error("it is resumed again")
				}
			})
		})
	}
}

// TestNothingToResume holds for machines with podman, and for files that are no arguments.
func TestNothingToResume(t *testing.T) {
	i, runner := newInstall(t)
	i.Own = installerFunc(func(context.Context, []string) error { t.Error("it installs"); return nil })
	i.Resume(t.Context()) // podman runs the installer
	runner.Absent = []string{"podman"}
	i.Resume(t.Context()) // no file
	must.Do(t, i.Files.Write(argumentsFile, []byte("{"), 0o600))
	i.Resume(t.Context())
	if i.Files.Exists(argumentsFile) {
		t.Error("a file that is no list of arguments stays")
	}
}
