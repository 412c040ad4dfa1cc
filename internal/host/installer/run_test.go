//go:build linux

package installer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-openapi/swag"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
	"github.com/oaictl/oaictl/internal/host/installer/manifests"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// inWorld runs a test on a fake clock.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) { test(t, w) })
}

// role is an installation to the end.
type role struct {
	name   string
	flags  []string
	change func(w *world)
	told   []string
	disks  []string
}

const (
	wrote = "write /dev/vda --append-karg ip=52-54-00-00-00-11:dhcp"
	boots = "boot from /dev/vda"
)

// allRoles are installations with the stages that host.md and the recordings have.
func allRoles() []role {
	var (
		writing   = []string{`Writing image to disk ""`, `Writing image to disk "100%"`}
		rebooting = []string{`Rebooting ""`}
		tail      = []string{
			`Waiting for control plane "Waiting for bootstrap node preparation"`,
			`Waiting for control plane "Waiting for masters to join bootstrap control plane"`, `Waiting for bootkube ""`,
			`Waiting for bootkube "waiting for ETCD bootstrap to be complete"`, `Waiting for controller "waiting for controller pod ready event"`,
		}
		disks = []string{"clean /dev/vda", wrote, boots}
	)
	begin := func(starting, installing string) []string {
		return []string{fmt.Sprintf("Starting installation %q", starting), fmt.Sprintf("Installing %q", installing)}
	}
	return []role{
		{"bootstrap", flags("bootstrap", 3), nil, slices.Concat(begin("bootstrap", "master"), writing, tail, rebooting), disks},
		{
			"bootstrap that overlays the node image", flags("bootstrap", 3), func(w *world) {
				must.Do(w.t, os.Remove(w.files.Path(clientPath)))
				w.reply = func(c machine.Command) (machine.Result, error) {
					if strings.HasPrefix(c.String(), "systemctl start --no-block") {
						w.put(clientPath, "")
					}
					return machine.Result{}, nil
				}
			}, slices.Concat(begin("bootstrap", "master"), writing, tail, rebooting), disks,
		},
		{"master", flags("master", 3), nil, slices.Concat(begin("master", "master"), writing, rebooting), disks},
		{"arbiter", flags("arbiter", 2), nil, slices.Concat(begin("arbiter", "arbiter"), writing, rebooting), disks},
		{
			"worker", flags("worker", 3), func(w *world) {
				w.others[0].Progress.CurrentStage, w.others[2].Progress.CurrentStage = models.HostStageDone, models.HostStageDone
			},
			slices.Concat(begin("worker", "worker"), writing, []string{`Waiting for control plane ""`}, rebooting), disks,
		},
		{
			"added worker", flags("worker", 3), func(w *world) { w.cluster.Kind = swag.String(models.ClusterKindAddHostsCluster) },
			slices.Concat(begin("worker", "worker"), writing, []string{`Waiting for control plane ""`}, rebooting), disks,
		},
		{
			"single node", flags("bootstrap", 1), nil,
			slices.Concat(begin("bootstrap", "bootstrap"), []string{`Waiting for bootkube ""`}, writing, rebooting), disks,
		},
		{
			"master without the operator's reboot", flags("master", 3, "--enable-skip-mco-reboot"), nil,
			slices.Concat(begin("master", "master"), writing, rebooting), disks,
		},
		{
			"single node without the operator's reboot", flags("bootstrap", 1, "--enable-skip-mco-reboot"), nil,
			slices.Concat(begin("bootstrap", "bootstrap"), []string{`Waiting for bootkube ""`}, writing, rebooting), disks,
		},
		{
			"master with a registry", flags("master", 3), func(w *world) {
				w.put(registryOnMedium+"/x", "")
				w.put(registryData+"/images", "content")
			},
			slices.Concat(begin("master", "master"), writing,
				[]string{`Copying registry data to disk ""`, `Copying registry data to disk "100%"`}, rebooting), disks,
		},
		{
			"master of Ironic", flags("master", 3), func(w *world) {
				w.reply = func(c machine.Command) (machine.Result, error) {
					if slices.Contains(c.Args, "list-units") {
						return machine.Result{Stdout: []byte("ironic-agent.service loaded active running\n")}, nil
					}
					return machine.Result{}, nil
				}
			}, slices.Concat(begin("master", "master"), writing, []string{`Rebooting "Ironic will reboot the node shortly"`}), disks,
		},
		{
			"master into the root file system", flags("master", 3, "--coreos-image", "quay.io/x/os:1"), func(w *world) {
				w.put("/ostree/repo/refs/heads/coreos/node-image", "x")
			}, slices.Concat(begin("master", "master"), []string{`Writing image to disk ""`}, rebooting), nil,
		},
		{
			"disks to format", flags("master", 3, "--format-disk", "/dev/vdb", "--skip-installation-disk-cleanup"), nil,
			slices.Concat(begin("master", "master"), writing, rebooting), []string{"format /dev/vdb", wrote, boots},
		},
	}
}

func TestInstall(t *testing.T) {
	for _, role := range allRoles() {
		t.Run(role.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				if role.change != nil {
					role.change(w)
				}
				must.Do(t, w.installer(parse(t, role.flags...)).Run(t.Context()))
				check.Slice(t, w.told(), role.told)
				check.Slice(t, w.disksDone, role.disks)
				for _, line := range append(w.recorder.Commands(), w.logged()) {
					if strings.Contains(line, secret) {
						t.Errorf("the token is shown: %s", line)
					}
				}
				for _, path := range []string{bootstrapIgnition, installDir + "/master-" + hostID + ".ign"} {
					if w.files.Exists(path) {
						t.Errorf("%s is still there", path)
					}
				}
			})
		})
	}
}

// TestPrograms compares the programs of each role with those in testdata.
func TestPrograms(t *testing.T) {
	var got strings.Builder
	for _, role := range allRoles() {
		inWorld(t, func(t *testing.T, w *world) {
			if role.change != nil {
				role.change(w)
			}
			must.Do(t, w.installer(parse(t, role.flags...)).Run(t.Context()))
			fmt.Fprintf(&got, "# %s\n", role.name)
			for _, line := range w.recorder.Commands() {
				if !strings.HasPrefix(line, "systemctl show ") {
					fmt.Fprintln(&got, line)
				}
			}
		})
	}
	const golden = "testdata/programs.txt"
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	check.Equal(t, got.String(), string(must.Get(os.ReadFile(golden))(t)))
}

func TestOrderOfCalls(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		must.Do(t, w.installer(parse(t, flags("bootstrap", 3)...)).Run(t.Context()))
		check.Slice(t, w.calls, []string{"GET bootstrap.ign", "GET ignition", "cluster logs requested", "host logs requested"})
		check.Slice(t, w.toldOf("node-1"), []string{"Joined"})
		check.Slice(t, w.toldOf("node-2"), []string{"Joined"})
		info := must.Get(os.Stat(w.files.Path(manifestsFolder + "/assisted-installer-controller-secret.yaml")))(t)
		check.Equal(t, info.Mode().Perm(), fs.FileMode(0o600))
		info = must.Get(os.Stat(w.files.Path("/root/.docker/config.json")))(t)
		check.Equal(t, info.Mode().Perm(), fs.FileMode(0o600))
		check.Contains(t, string(must.Get(w.files.Read("/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml"))(t)),
			"ssh-rsa AAAAB3Nz core@node")
	})
}

// TestPercent: each five percent are told, and after a failed try from 0 again.
func TestPercent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.writing = func(_ context.Context, image Image) error {
			for _, percent := range []int{0, 3, 5, 9, 50} {
				image.Progress(percent)
				time.Sleep(time.Second)
			}
			return nil // the first try of the writer failed
		}
		must.Do(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()))
		var percents []string
		for _, p := range w.posts {
			if strings.HasSuffix(p.info, "%") {
				percents = append(percents, p.info)
			}
		}
		check.Equal(t, strings.Join(percents, " "),
			"5% 50% 6% 12% 18% 24% 30% 36% 42% 48% 54% 60% 66% 72% 78% 84% 90% 96% 100%")
	})
}

// TestLateProgress: a number that comes after writing ended is dropped.
func TestLateProgress(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.writing = func(_ context.Context, image Image) error {
			time.AfterFunc(time.Hour, func() { image.Progress(7) })
			return nil
		}
		must.Do(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()))
		time.Sleep(2 * time.Hour)
		check.Equal(t, slices.Contains(w.infos(), "7%"), false)
	})
}

// TestSlowService: writing does not wait for the service, which is told only the newest numbers.
func TestSlowService(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slow = 20 * time.Second
		must.Do(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()))
		var percents []string
		for _, p := range w.posts {
			if strings.HasSuffix(p.info, "%") {
				percents = append(percents, p.info)
			}
		}
		// Writing takes 51 seconds.
		check.Equal(t, strings.Join(percents, " "), "6% 42% 84% 100%")
	})
}

// TestStopAtEveryStep ends the installer before each step, by its context or as SIGKILL does, and starts it again: no step that was done is done again.
func TestStopAtEveryStep(t *testing.T) {
	// These have all steps. Each mark of the journal takes time: it is on the disk when the step is done.
	several := []string{
		"bootstrap that overlays the node image", "worker", "single node without the operator's reboot", "master with a registry",
		"master into the root file system",
	}
	for _, role := range allRoles() {
		if !slices.Contains(several, role.name) {
			continue
		}
		steps := must.Get(Plan(parse(t, role.flags...), Facts{Registry: true, NodeImage: true}))(t)
		for _, at := range steps {
			for name, kill := range map[string]bool{"stop": false, "kill": true} {
				t.Run(role.name+"/"+string(at.Name)+"/"+name, func(t *testing.T) {
					t.Parallel() // each waits for its files to be on the disk
					inWorld(t, func(t *testing.T, w *world) {
						if role.change != nil {
							role.change(w)
						}
						stopAndGoOn(t, w, parse(t, role.flags...), at.Name, kill)
					})
				})
			}
		}
	}
}

func stopAndGoOn(t *testing.T, w *world, c Config, at Name, kill bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := w.installer(c)
	var began []Name
	first.before = func(s Step) {
		began = append(began, s.Name)
		if s.Name != at {
			return
		}
		if kill {
			runtime.Goexit() // as if the process had ended: nothing more is posted or written
		}
		cancel()
	}
	var err error
	var ended sync.WaitGroup
	ended.Go(func() { err = first.Run(ctx) })
	ended.Wait()
	if !slices.Contains(began, at) {
		must.Do(t, err) // the step is not needed in this world
		return
	}
	if stopped, is := errors.AsType[*Stopped](err); !kill && (!is || stopped.Step != at || ExitCode(err) == 0) {
		t.Fatalf("it ended with %v", err)
	}
	second := w.installer(c)
	second.before = func(s Step) {
		if !s.Always && s.Name != at && slices.Contains(began, s.Name) && toldBefore(began, at) {
			t.Errorf("the step %s is done again", s.Name)
		}
	}
	must.Do(t, second.Run(t.Context()))
	if writes := count(w.disksDone, wrote); writes > 1 {
		t.Errorf("the disk was written %d times", writes)
	}
	told := w.told()
	check.Contains(t, told[len(told)-1], "Rebooting")
}

// toldBefore reports whether the service knew of the installation before a step.
func toldBefore(began []Name, at Name) bool {
	return slices.Index(began, at) > slices.Index(began, StepStart)
}

func count(list []string, item string) int {
	n := 0
	for _, one := range list {
		if one == item {
			n++
		}
	}
	return n
}

// TestStopWhileWriting: a half-written disk is cleared, in time, and written again later.
func TestStopWhileWriting(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan time.Time, 1)
		w.writing = func(ctx context.Context, image Image) error {
			image.Progress(40)
			time.AfterFunc(time.Second, func() {
				ended <- time.Now()
				cancel(errors.New("SIGTERM"))
			})
			<-ctx.Done()
			return ctx.Err()
		}
		w.slow = time.Minute // the service is away
		c := parse(t, flags("master", 3)...)
		err := w.installer(c).Run(ctx)
		check.Says(t, err, "the installer was stopped during the step write-image: SIGTERM")
		if took := time.Since(<-ended); took > 2*time.Second {
			t.Errorf("it took %s to end", took)
		}
		check.Slice(t, w.disksDone, []string{"clean /dev/vda", "clear /dev/vda"})
		w.writing, w.slow = nil, 0
		must.Do(t, w.installer(c).Run(t.Context()))
		check.Equal(t, count(w.disksDone, wrote), 1)
	})
}

func TestStopTellsTheService(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.writing = func(context.Context, Image) error { cancel(); return context.Canceled }
		w.clearErr = errors.New("I/O error")
		err := w.installer(parse(t, flags("master", 3)...)).Run(ctx)
		check.Says(t, err, "clear the half-written disk /dev/vda: I/O error; it may boot")
		told := w.told()
		check.Equal(t, told[len(told)-1],
			`Writing image to disk "The installer was stopped during write-image, and its half-written disk could not be cleared"`)
	})
}

func TestFailures(t *testing.T) {
	ends := func(command string) func(w *world) {
		return func(w *world) {
			w.reply = func(c machine.Command) (machine.Result, error) {
				if strings.HasPrefix(c.String(), command) {
					return machine.Result{Code: 1}, &machine.Failed{Command: c, Result: machine.Result{Code: 1, Stderr: []byte("no luck")}}
				}
				return machine.Result{}, nil
			}
		}
	}
	for _, row := range []struct {
		name   string
		flags  []string
		change func(w *world)
		says   string
	}{
		{"another disk", flags("master", 3), func(w *world) { w.disks["/dev/vda"] = otherDisk() }, "its serial number"},
		{"no such disk", flags("master", 3), func(w *world) { delete(w.disks, "/dev/vda") }, "it is not there"},
		{"unknown disk", flags("master", 3), func(w *world) { w.host.Inventory = `{"disks":[]}` }, "has no disk"},
		{"no inventory", flags("master", 3), func(w *world) { w.host.Inventory = "" }, "read the inventory"},
		{"writing", flags("master", 3), func(w *world) {
			w.writing = func(context.Context, Image) error { return errors.New("I/O error") }
		}, "the step write-image failed: write the operating system to the disk /dev/vda: I/O error"},
		{"host Ignition", flags("master", 3), func(w *world) { w.files0 = map[string]string{"host": "<html>"} }, "is not a JSON object"},
		{"host Ignition of the future", flags("master", 3), func(w *world) {
			w.files0 = map[string]string{"host": `{"ignition":{"version":"3.99.0"}}`}
		}, "is the newest that is known"},
		{"bootstrap Ignition", flags("bootstrap", 3), func(w *world) {
			w.files0 = map[string]string{"bootstrap.ign": `{"ignition":{"version":"2.2.0"}}`}
		}, "not 3"},
		{"another cluster's Ignition", flags("bootstrap", 3), func(w *world) { w.cluster.Name = "other" }, `it is for the cluster "demo"`},
		{"machine-config-daemon", flags("bootstrap", 3), ends("podman run --net host"), "write the files of bootstrap.ign into the live system"},
		{"bootkube", flags("bootstrap", 3), ends("systemctl start bootkube.service"), "no luck"},
		{"shutdown", flags("master", 3), ends("shutdown"), "reboot into the installed system"},
		{"remount", flags("master", 3, "--coreos-image", "quay.io/x/os:1"), ends("mount"), "make the file systems of this machine writable"},
		{"registry", flags("master", 3), func(w *world) {
			w.put(registryOnMedium+"/x", "")
			w.put(registryData+"/x", "")
			ends("rsync")(w)
		}, "copy the registry to the disk"},
		{"no master Ignition", flags("bootstrap", 1), func(w *world) { must.Do(w.t, os.Remove(w.files.Path(masterIgnition))) }, "that bootkube made"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				row.change(w)
				err := w.installer(parse(t, row.flags...)).Run(t.Context())
				check.Says(t, err, row.says)
				check.Equal(t, ExitCode(err), 1)
				told := w.told()
				check.Contains(t, told[len(told)-1], "Failed ")
				check.Contains(t, w.posts[len(w.posts)-1].info, row.says)
				if w.files.Exists(journalPath) {
					t.Error("the journal of a failed installation stays")
				}
			})
		})
	}
}

func otherDisk() blockdevice.Identity {
	return blockdevice.Identity{Path: "/dev/vda", Number: "252:0", Serial: "S2"}
}

// TestGoesOn: what does not hinder the installation is only logged.
func TestGoesOn(t *testing.T) {
	for _, row := range []struct {
		name   string
		flags  []string
		change func(w *world)
		logs   string
	}{
		{"cleaning", flags("master", 3), func(w *world) { w.cleaning = errors.New("no luck") }, "no luck"},
		{"formatting", flags("master", 3, "--format-disk", "/dev/vdb"), func(w *world) { w.formatErr = errors.New("no luck") }, "no luck"},
		{"formatting the boot disk by another name", flags("master", 3, "--format-disk", "/dev/disk/by-id/a"), func(w *world) {
			w.disks["/dev/disk/by-id/a"] = w.disks["/dev/vda"]
		}, "it is the disk to install to"},
		{"formatting the live medium", flags("master", 3, "--format-disk", "/dev/vdb"), func(w *world) {
			w.disks["/dev/vdb"] = blockdevice.Identity{Path: "/dev/vdb", Number: "8:0", Serial: "LIVE"}
		}, "it is the live medium"},
		{"the service refuses stages", flags("master", 3), func(w *world) {
			w.refuse = func(models.HostStage, string) error { return errors.New("[PUT] 409: the stage goes backwards") }
		}, "the service does not take the stage"},
		{"logs", flags("master", 3), func(w *world) {
			w.reply = func(c machine.Command) (machine.Result, error) {
				if slices.Contains(c.Args, "logs_sender") {
					return machine.Result{Code: 3}, nil
				}
				return machine.Result{}, nil
			}
		}, "send the logs of this machine"},
		{"the operating system of the release", flags("master", 3, "--enable-skip-mco-reboot"), func(w *world) {
			w.reply = func(c machine.Command) (machine.Result, error) {
				if c.Name == "ostree" {
					return machine.Result{Code: 1}, nil
				}
				return machine.Result{}, nil
			}
		}, "which the node then installs at its first boot"},
		{"a config without pointer", flags("master", 3, "--enable-skip-mco-reboot"), func(w *world) {
			w.files0 = map[string]string{"host": ignitionOf()}
		}, "points nowhere"},
		{"bootstrap Ignition of an unknown cluster", flags("bootstrap", 3), func(w *world) {
			w.files0 = map[string]string{"bootstrap.ign": ignitionOf(ignitionFile("/root/.docker/config.json", "{}"))}
		}, "is not compared with the cluster"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				row.change(w)
				must.Do(t, w.installer(parse(t, row.flags...)).Run(t.Context()))
				check.Contains(t, w.logged(), row.logs)
				check.Equal(t, count(w.disksDone, wrote), 1)
				if slices.Contains(w.disksDone, "format /dev/vda") {
					t.Error("the disk to install to was formatted")
				}
			})
		})
	}
}

func TestCleaningFailsAloud(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cleaning = errors.New("no luck")
		must.Do(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()))
		check.Equal(t, w.told()[1], `Starting installation "Could not clean install device /dev/vda. The installation will continue. `+
			`If the installation fails, clean the disk and try again"`)
	})
}

// TestUnmounts: what was mounted is unmounted, also when the installer is stopped.
func TestUnmounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.reply = func(c machine.Command) (machine.Result, error) {
			if c.Name == "ostree" {
				cancel()
				return machine.Result{}, context.Canceled
			}
			return machine.Result{}, nil
		}
		err := w.installer(parse(t, flags("master", 3, "--enable-skip-mco-reboot")...)).Run(ctx)
		check.Equal(t, ExitCode(err), 1)
		commands := w.recorder.Commands()
		check.Slice(t, commands[len(commands)-2:], []string{"umount /mnt/boot", "umount /mnt"})
	})
}

func TestHostname(t *testing.T) {
	for name, valid := range map[string]bool{
		"node-0": true, "node-0.example.com": true, "0": true, "localhost": false, "Node": false, "a_b": false, "": false, "-a": false,
		strings.Repeat("a.", 127) + "a": false,
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.hostname = name
			r := &run{Installer: w.installer(parse(t, flags("bootstrap", 3)...))}
			must.Do(t, r.checkHostname(t.Context()))
			if named := len(w.recorder.Commands()) == 0; named != valid {
				t.Errorf("%q: %q", name, w.recorder.Commands())
			}
		})
	}
}

// TestControllerRules: the controller of oaictl has its own rules, another the original's.
func TestControllerRules(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := w.installer(parse(t, flags("bootstrap", 3)...))
		r := &run{Installer: i}
		roleFile := manifestsFolder + "/assisted-installer-controller-role.yaml"
		must.Do(t, r.writeManifests(t.Context()))
		check.Contains(t, string(must.Get(w.files.Read(roleFile))(t)), "deletecollection")
		i.Controller = Controller{Image: "quay.io/x/controller:latest", Rules: []manifests.Rule{{APIGroups: []string{"only.example.com"}}}}
		must.Do(t, r.writeManifests(t.Context()))
		content := string(must.Get(w.files.Read(roleFile))(t))
		check.Contains(t, content, "only.example.com")
		check.Equal(t, strings.Contains(content, "deletecollection"), false)
	})
}

func TestShorten(t *testing.T) {
	check.Equal(t, shorten("short", 10), "short")
	check.Equal(t, shorten("éééééé", 10), "éé [...]")
	check.Equal(t, len(shorten(strings.Repeat("x", 5000), longestInfo)), longestInfo)
}

// TestBootstrapWithoutCredentials: a registry may need none.
func TestBootstrapWithoutCredentials(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.files0 = map[string]string{"bootstrap.ign": ignitionOf(clusterConfigFile(installConfig))}
		must.Do(t, w.installer(parse(t, flags("bootstrap", 3)...)).Run(t.Context()))
		if w.files.Exists(firstboot.DockerConfig) {
			t.Error("there are credentials")
		}
	})
}
