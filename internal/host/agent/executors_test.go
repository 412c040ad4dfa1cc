//go:build linux

package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const logsIDs = `"cluster_id":"` + string(clusterID) + `","host_id":"` + string(hostID) + `","infra_env_id":"` + string(infraEnvID) + `"`

// logSenderFunc is a log sender made of a function.
type logSenderFunc func(ctx context.Context, argv []string) error

func (f logSenderFunc) Send(ctx context.Context, argv []string) error { return f(ctx, argv) }

func TestLogsGather(t *testing.T) {
	const (
		start = "podman run --rm --privileged --net=host -v /run/systemd/journal/socket:/run/systemd/journal/socket -v /var/log:/var/log -v /etc/pki:/etc/pki"
		name  = " --env PULL_SECRET_TOKEN --name logs-sender --pid=host " + ownImage + " logs_sender"
		ids   = " -url http://192.0.2.1:8090 -cluster-id " + string(clusterID) + " -host-id " + string(hostID) + " -infra-env-id " + string(infraEnvID)
	)
	for title, test := range map[string]struct {
		argument string
		ca       string
		want     string // of podman; of our own from the flags on
	}{
		"master": {
			argument: `{"bootstrap":false,` + logsIDs + `,"installer_gather":true}`,
			want:     start + name + ids + " --insecure=false -bootstrap=false -with-installer-gather-logging=true",
		},
		"bootstrap": {
			argument: `{"bootstrap":true,` + logsIDs + `,"installer_gather":true,"master_ips":["192.0.2.11","192.0.2.12"]}`, ca: "/etc/ca.pem",
			want: start + " -v /etc/ca.pem:/etc/ca.pem -v /root/.ssh:/root/.ssh -v /tmp:/tmp" + name + ids +
				" --insecure=false -bootstrap=true -with-installer-gather-logging=true -masters-ips=192.0.2.11,192.0.2.12 --cacert /etc/ca.pem",
		},
	} {
		t.Run(title, func(t *testing.T) {
			runner := &machine.Recorder{Reply: func(c machine.Command) (machine.Result, error) {
				check.Slice(t, c.Env, []string{"PULL_SECRET_TOKEN=" + token})
				check.Equal(t, c.Timeout, time.Hour)
				return machine.Result{Stdout: []byte("Logs were sent\n")}, nil
			}}
			l := &Logs{Options: Options{URL: "http://192.0.2.1:8090", Version: ownImage, Token: token, CACertFile: test.ca}, Runner: runner, Log: quiet()}
			check.Equal(t, l.Execute(t.Context(), []string{test.argument}), Reply{Output: "Logs were sent\n"})
			check.Slice(t, runner.Commands(), []string{test.want})

			runner.Absent = []string{"podman"}
			var got string
			l.Own = logSenderFunc(func(_ context.Context, argv []string) error { got = strings.Join(argv, " "); return nil })
			check.Equal(t, l.Execute(t.Context(), []string{test.argument}), Reply{})
			_, flags, _ := strings.Cut(test.want, " logs_sender ")
			check.Equal(t, got, flags)
			l.Own = logSenderFunc(func(context.Context, []string) error { return errors.New("no route") })
			check.Equal(t, l.Execute(t.Context(), []string{test.argument}), Reply{ExitCode: 1, Error: "no route"})
		})
	}
}

func TestLogsGatherIsRefused(t *testing.T) {
	runner := &machine.Recorder{}
	l := &Logs{Runner: runner, Log: quiet()}
	for _, args := range [][]string{
		nil, {"{}"}, {`{"bootstrap":true}`}, {`{"bootstrap":true,` + logsIDs + `,"master_ips":["-oProxyCommand=reboot"]}`},
		// A zone may have any characters, and the program that gets the addresses is a script of the shell.
		{`{"bootstrap":true,` + logsIDs + `,"master_ips":["fe80::1%a,-oProxyCommand=reboot"]}`},
		{`{"bootstrap":true,"cluster_id":"$(id)"}`},
	} {
		check.Equal(t, l.Execute(t.Context(), args).ExitCode, refused, args)
	}
	check.Equal(t, len(runner.Commands()), 0)
}

func TestLogsAreGatheredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Logs{Runner: &machine.Recorder{Absent: []string{"podman"}}, Log: quiet()}
		l.Own = logSenderFunc(func(ctx context.Context, _ []string) error { <-ctx.Done(); return ctx.Err() })
		argument := []string{`{"bootstrap":false,` + logsIDs + `}`}
		first := make(chan Reply)
		go func() { first <- l.Execute(t.Context(), argument) }()
		synctest.Wait()
		check.Equal(t, l.Execute(t.Context(), argument).ExitCode, alreadyRunning)
		check.Equal(t, <-first, Reply{ExitCode: 1, Error: "context deadline exceeded"}) // after an hour
	})
}

func TestUpgradeIsRefused(t *testing.T) {
	runner := &machine.Recorder{}
	u := &Upgrade{Runner: runner, Log: quiet()}
	for _, args := range [][]string{nil, {"{}"}, {`{"agent_image":""}`}, {`{"agent_image":"--authfile=/etc/shadow"}`}, {`{"agent_image":"a b"}`}, {"[]"}} {
		check.Equal(t, u.Execute(t.Context(), args).ExitCode, refused, args)
	}
	check.Equal(t, len(runner.Commands()), 0)
	u.pulling.Lock()
	check.Equal(t, u.Execute(t.Context(), []string{`{"agent_image":"quay.io/a/b:1"}`}), Reply{Output: `{"agent_image":"quay.io/a/b:1"}`})
}

// files are what a downloader serves.
type files map[string]string

func (f files) Download(_ context.Context, url string) (io.ReadCloser, int64, error) {
	content, is := f[url]
	if !is {
		return nil, 0, answered(http.StatusNotFound)
	}
	return io.NopCloser(strings.NewReader(content)), int64(len(content)), nil
}

const artifactsArgument = `{"host_fs_mount_dir":"/host","kernel_url":"http://192.0.2.1/vmlinuz?token=a","initrd_url":"http://192.0.2.1/initrd",` +
	`"rootfs_url":"http://192.0.2.1/rootfs.img?arch=x86_64&version=4.22"}`

func newArtifacts(t *testing.T, served files) (*Artifacts, *machine.Recorder, hostfile.Files) {
	t.Helper()
	machineFiles := hostfile.Files{Root: t.TempDir()}
	runner := &machine.Recorder{}
	return &Artifacts{
		Runner: runner, Files: machineFiles, Downloader: served, Clock: clock.Real(), Log: quiet(),
		Free: func(string) (uint64, error) { return 1 << 30, nil },
	}, runner, machineFiles
}

func TestBootArtifacts(t *testing.T) {
	a, runner, f := newArtifacts(t, files{"http://192.0.2.1/vmlinuz?token=a": "kernel", "http://192.0.2.1/initrd": "initrd"})
	want := Reply{Output: "Successfully downloaded boot artifacts"}
	check.Equal(t, a.Execute(t.Context(), []string{artifactsArgument}), want)
	check.Equal(t, string(must.Get(f.Read("/host/boot/discovery/vmlinuz"))(t)), "kernel")
	check.Equal(t, string(must.Get(f.Read("/host/boot/discovery/initrd"))(t)), "initrd")
	check.Equal(t, string(must.Get(f.Read("/host/boot/loader/entries/00-assisted-discovery.conf"))(t)), `title Assisted Installer Discovery
version 999
options random.trust_cpu=on ignition.firstboot ignition.platform.id=metal 'coreos.live.rootfs_url=http://192.0.2.1/rootfs.img?arch=x86_64&version=4.22'
linux /boot/discovery/vmlinuz
initrd /boot/discovery/initrd`)
	check.Slice(t, runner.Commands(), []string{"mount -o remount,rw " + f.Path("/host/boot")})
	// A second time there is nothing to do.
	check.Equal(t, a.Execute(t.Context(), []string{artifactsArgument}), want)
	check.Equal(t, len(runner.Commands()), 1)
}

func TestBootArtifactsFail(t *testing.T) {
	both := files{"http://192.0.2.1/vmlinuz?token=a": "kernel", "http://192.0.2.1/initrd": "initrd"}
	for name, test := range map[string]struct {
		served files
		change func(*Artifacts, *machine.Recorder)
		want   string
		took   time.Duration
	}{
		"no initrd": {files{"http://192.0.2.1/vmlinuz?token=a": "kernel"}, nil, "404", 4 * time.Minute},
		"mount fails": {both, func(_ *Artifacts, r *machine.Recorder) {
			r.Reply = func(machine.Command) (machine.Result, error) { return machine.Result{Code: 32}, nil }
		}, "writable", 0},
		"no room": {both, func(a *Artifacts, _ *machine.Recorder) {
			a.Free = func(string) (uint64, error) { return 5, nil }
		}, "has 5 bytes free, and 6 are needed", 4 * time.Minute},
		"no cleanup": {both, func(a *Artifacts, r *machine.Recorder) {
			a.Free = func(string) (uint64, error) { return 5, nil }
			r.Reply = func(c machine.Command) (machine.Result, error) {
				if c.Name == "rpm-ostree" {
					return machine.Result{Code: 1}, nil
				}
				return machine.Result{}, nil
			}
		}, "remove the earlier deployment", 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, runner, f := newArtifacts(t, test.served)
				if test.change != nil {
					test.change(a, runner)
				}
				began := time.Now()
				reply := a.Execute(t.Context(), []string{artifactsArgument})
				check.Equal(t, reply.ExitCode, refused)
				check.Contains(t, reply.Error, test.want)
				check.Equal(t, time.Since(began), test.took)
				if f.Exists("/host/boot/loader/entries/00-assisted-discovery.conf") {
					t.Error("the machine would boot what is not whole")
				}
			})
		})
	}
}

func TestRoomIsMade(t *testing.T) {
	a, runner, _ := newArtifacts(t, files{"http://192.0.2.1/vmlinuz?token=a": "kernel", "http://192.0.2.1/initrd": "initrd"})
	a.Free = func(string) (uint64, error) { return uint64(5 * len(runner.Commands())), nil }
	check.Equal(t, a.Execute(t.Context(), []string{artifactsArgument}).ExitCode, 0)
	check.Equal(t, runner.Commands()[1], "rpm-ostree cleanup --os=rhcos -r")
	a.Free = nil
	if free := must.Get(a.free(t.TempDir()))(t); free == 0 {
		t.Error("nothing is free")
	}
	check.Says(t, check.Err(a.free("/nowhere")), "what is free in /nowhere")
}

func TestLongArtifact(t *testing.T) {
	content, err := io.ReadAll(&atMost{strings.NewReader("12345"), 4})
	check.Says(t, err, "too long")
	check.Equal(t, len(content), 5)
	check.Do(t, check.Err(io.ReadAll(&atMost{strings.NewReader("1234"), 4})))
}

func TestHostileArtifacts(t *testing.T) {
	a, runner, _ := newArtifacts(t, nil)
	for _, change := range [][2]string{
		{`"/host"`, `"/host/../etc"`}, {`"/host"`, `"host"`}, {`"/host"`, `"/host; reboot"`}, {`"/host"`, `"/host "`},
		{"rootfs.img?arch=x86_64&version=4.22", "a' init=/bin/sh '"}, {"rootfs.img?arch=x86_64&version=4.22", `a\nlinux /evil`},
		{"http://192.0.2.1/initrd", "file:///etc/shadow"}, {"http://192.0.2.1/initrd", ""}, {`"initrd_url"`, `"initrd"`},
	} {
		argument := strings.Replace(artifactsArgument, change[0], change[1], 1)
		if argument == artifactsArgument {
			t.Fatalf("%q changes nothing", change)
		}
		check.Equal(t, a.Execute(t.Context(), []string{argument}).ExitCode, refused, change)
	}
	check.Equal(t, len(runner.Commands()), 0)
}

func TestReclaim(t *testing.T) {
	runner := &machine.Recorder{}
	r := &Reclaim{Runner: runner, Log: quiet()}
	check.Equal(t, r.Execute(t.Context(), []string{`{"host_fs_mount_dir":"/host"}`}), Reply{})
	check.Slice(t, runner.Commands(), []string{"systemctl reboot"})
	runner.Absent = []string{"systemctl"}
	check.Equal(t, r.Execute(t.Context(), []string{`{"host_fs_mount_dir":"/host"}`}), Reply{})
	check.Equal(t, runner.Reboots(), 1)
	for _, args := range [][]string{nil, {"{}"}, {`{"host_fs_mount_dir":"a"}`}, {`{"host_fs_mount_dir":"/$(reboot)"}`}} {
		check.Equal(t, r.Execute(t.Context(), args).ExitCode, refused, args)
	}
	check.Equal(t, runner.Reboots(), 1)
}
