//go:build linux

package installer

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-openapi/swag"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// endless is a wait for something that never happens.
type endless struct {
	name   string
	flags  []string
	change func(w *world)
	// says are parts of the error: what was waited for, what was seen, where to look.
	says []string
	told string // an info at the service while it waits; "" if the stage says it
	goes bool   // the installation goes on without it
}

func endlessWaits() []endless {
	never := func(unit string) func(w *world) { return func(w *world) { w.states[unit] = []string{"activating"} } }
	bootstrap := flags("bootstrap", 3)
	return []endless{
		{"node image", bootstrap, func(w *world) {
			must.Do(w.t, os.Remove(w.files.Path(clientPath)))
			never(nodeImagePull)(w)
		}, []string{"35m0s", "node-image-pull.service to be active", "it is activating", "journalctl -u node-image-pull.service"},
			"waiting for node-image-pull.service to be active: it is activating", false},
		{"masters", bootstrap, func(w *world) {
			w.nodes = func() []kube.Node { return []kube.Node{w.node("node-1", true), w.node("node-2", false)} }
		}, []string{"1h5m0s", "master nodes to be ready", "1 of 2 are ready (node-1); not ready: node-2", "oc get nodes,csr"}, "", false},
		{"API server", bootstrap, func(w *world) { w.kubeErr = errors.New("connection refused") },
			[]string{"master nodes to be ready", "list the master nodes: connection refused"}, "", false},
		{"install-config", bootstrap, func(w *world) { w.config = "\t" }, []string{"the install-config is not YAML"}, "", false},
		{"arbiter", flags("bootstrap", 2), func(w *world) {
			w.config = installConfig + "arbiter:\n  replicas: 1\n"
			w.others = w.others[:2]
			w.cluster.Hosts = nil
			w.arbiters = func() []kube.Node { return nil }
		}, []string{"arbiter nodes to be ready", "0 of 1 are ready"}, "", false},
		{"bootkube", flags("bootstrap", 1), func(w *world) { w.bootkubeHangs = true },
			[]string{"bootkube to complete", "bootkube.service is failed", "journalctl -u bootkube.service"}, "", false},
		{"etcd", bootstrap, never("progress.service"), []string{"etcd to have its members", "progress.service is activating"}, "", false},
		{"controller", bootstrap, func(w *world) {
			w.events = func() []kube.Event { return []kube.Event{eventOf("x", "u", "cannot pull\nthe image")} }
		}, []string{"the controller in the new cluster to be ready", `its last event: cannot pull\nthe image`, "the job assisted-installer-controller"},
			"", false},
		{"workers", bootstrap, func(w *world) {
			w.invoker = agentInvoker
			w.others[3].Progress.CurrentStage = models.HostStageInstalling
		}, []string{"the workers to have got what they need", `node-4 is at "Installing"`},
			`waiting for the workers to have got what they need from the service on this machine: node-4 is at "Installing"`, false},
		{"MachineConfigs", bootstrap, func(w *world) { w.configs = nil },
			[]string{"the MachineConfigs of the control plane nodes", "names the MachineConfig rendered-master-1, which does not exist"},
			"waiting for the MachineConfigs of the control plane nodes to agree: the node node-1 names the MachineConfig " +
				"rendered-master-1, which does not exist", false},
		{"control plane hosts", flags("worker", 3), func(*world) {}, []string{"2 control plane hosts to be done", `0 are done; node-1 is at ""`}, "", false},
		{"machine-config-server", flags("master", 3, "--enable-skip-mco-reboot"), func(w *world) { w.served = nil },
			[]string{"20m0s", "the machine-config-server to give this host's config", "connection refused"},
			"waiting for the machine-config-server to give this host's config: cannot tell: connection refused", true},
	}
}

// TestWaits: each wait ends, says what it waited for, and tells the service if no stage does.
func TestWaits(t *testing.T) {
	for _, row := range endlessWaits() {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				row.change(w)
				began := time.Now()
				err := w.installer(parse(t, row.flags...)).Run(t.Context())
				text := w.logged()
				if row.goes {
					must.Do(t, err)
				} else {
					check.Equal(t, ExitCode(err), 1)
					text = err.Error()
				}
				for _, part := range row.says {
					if row.goes {
						part = strings.ReplaceAll(part, `"`, `\"`)
					}
					check.Contains(t, text, part)
				}
				if row.told != "" {
					check.Contains(t, strings.Join(w.infos(), "\n"), row.told)
				}
				if took := time.Since(began); took > 4*time.Hour {
					t.Errorf("it took %s", took)
				}
				checkSaidEachMinute(t, w.logged())
			})
		})
	}
}

// checkSaidEachMinute looks for pauses in the log.
func checkSaidEachMinute(t *testing.T, log string) {
	t.Helper()
	var last time.Time
	for line := range strings.Lines(log) {
		stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		at := must.Get(time.Parse(time.RFC3339Nano, stamp))(t)
		if !last.IsZero() && at.Sub(last) > 66*time.Second {
			t.Errorf("nothing was said for %s before %s", at.Sub(last), line)
		}
		last = at
	}
}

// TestPatience: a wait goes on after its limit while the service counts on the host.
func TestPatience(t *testing.T) {
	for _, row := range []struct {
		name       string
		ready      time.Duration // when the nodes are
		until      time.Duration // how long the service waits
		hostFails  bool          // the service does not answer
		ends, says string
	}{
		{"ready after three hours", 3 * time.Hour, 24 * time.Hour, false, "3h", ""},
		{"given up after two hours", 3 * time.Hour, 2 * time.Hour, false, "2h", `the service does not wait for this host any more: its status is "error"`},
		{"never", 100 * time.Hour, 100 * time.Hour, false, "24h", "the step took too long"},
		{"the service is away", 3 * time.Hour, time.Minute, true, "3h", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				began := time.Now()
				w.nodes = func() []kube.Node {
					ready := time.Since(began) > row.ready
					return []kube.Node{w.node("node-1", ready), w.node("node-2", ready)}
				}
				w.host.Status = swag.String(models.HostStatusInstallingInProgress)
				time.AfterFunc(row.until, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.host.Status = swag.String(models.HostStatusError)
					if row.hostFails {
						w.hostErr = errors.New("no route to host")
					}
				})
				i := w.installer(parse(t, flags("bootstrap", 3)...))
				err := i.Run(t.Context())
				if row.says == "" {
					must.Do(t, err)
				} else {
					check.Says(t, err, row.says)
				}
				check.Equal(t, time.Since(began).Truncate(time.Hour), must.Get(time.ParseDuration(row.ends))(t))
				checkSaidEachMinute(t, w.logged())
			})
		})
	}
}

// TestWaitEnds: waits end when what they wait for happens after a while.
func TestWaitEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		later := func(minutes int) bool { return time.Since(began) > time.Duration(minutes)*time.Minute }
		w.nodes = func() []kube.Node {
			byAddress := nodeOf("other-name", "master", later(3), "rendered-master-0", "rendered-master-1")
			must.Do(w.t, json.Unmarshal([]byte(`[{"type":"InternalIP","address":"192.0.2.12"}]`), &byAddress.Status.Addresses))
			return []kube.Node{w.node("NODE-1", later(2)), byAddress}
		}
		w.events = func() []kube.Event {
			if !later(10) {
				return nil
			}
			return []kube.Event{eventOf(readyEvent, "2", "")}
		}
		time.AfterFunc(20*time.Minute, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.configs = map[string]bool{"rendered-master-0": true, "rendered-master-1": true}
		})
		must.Do(t, w.installer(parse(t, flags("bootstrap", 3)...)).Run(t.Context()))
		check.Slice(t, w.toldOf("node-1"), []string{"Joined"})
		check.Slice(t, w.toldOf("node-2"), []string{"Joined"})
	})
}

// TestWatchIgnition: hosts whose Ignition asked the machine-config-server are posted as configuring, once each.
func TestWatchIgnition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const folder = "/var/log/containers/"
		line := func(address string) string {
			return `2026-01-01T00:00:00Z stderr F I0101 api.go:102] Pool master requested by address:"` + address + `" User-Agent:"Ignition/2.9.0"` + "\n"
		}
		w.put(folder+"other.log", line("192.0.2.12:1"))
		began := time.Now()
		w.nodes = func() []kube.Node {
			ready := time.Since(began) > 10*time.Minute
			return []kube.Node{w.node("node-1", ready), w.node("node-2", ready)}
		}
		w.others[1].Progress.CurrentStage = models.HostStageDone
		const log = folder + "machine-config-server-x_y.log"
		time.AfterFunc(time.Minute, func() { w.put(log, line("192.0.2.11:1")+`I0101 Pool worker requested by 192.0.2.14:2`) })
		time.AfterFunc(3*time.Minute, func() {
			w.put(log, line("192.0.2.11:1")+`I0101 Pool worker requested by 192.0.2.14:2 User-Agent:"Ignition/2.6.0"`+"\n"+
				line("[::ffff:192.0.2.13%eth0]:3")+line("192.0.2.12:4")+line("198.51.100.1:5"))
		})
		must.Do(t, w.installer(parse(t, flags("bootstrap", 3)...)).Run(t.Context()))
		check.Slice(t, w.toldOf("node-1"), []string{"Configuring", "Joined"})
		check.Slice(t, w.toldOf("node-2"), nil)
		check.Slice(t, w.toldOf("node-3"), []string{"Configuring"})
		check.Slice(t, w.toldOf("node-4"), []string{"Waiting for ignition"})
	})
}

func TestReadLogs(t *testing.T) {
	files := hostfile.Files{Root: t.TempDir()}
	w := ignitionWatch{read: map[string]int64{}, seen: map[netip.Addr]bool{}}
	line := "requested by 192.0.2.1:1 User-Agent:\"Ignition/2\"\n"
	write := func(content string) {
		t.Helper()
		must.Do(t, files.Write("/log", []byte(content), 0o600))
		must.Do(t, w.readLog(files.Path("/log")))
	}
	write(strings.Repeat("x", 2*chunkSize) + "\n" + line)
	check.Equal(t, len(w.seen), 1)
	clear(w.seen)
	write(line) // another file, shorter
	check.Equal(t, len(w.seen), 1)
	must.Do(t, w.readLogs(files.Path("/none*")))
	if err := w.readLogs("["); err == nil {
		t.Error("a bad pattern is taken")
	}
	if err := w.readLog(files.Path("/none")); err == nil {
		t.Error("no file is taken")
	}
}

func TestTaints(t *testing.T) {
	overrides := `{"platform":{"vsphere":{"vcenters":[{"server":"vc","user":"u","password":"p"}]}}}`
	for _, row := range []struct {
		name, platform, overrides, invoker, version string
		removed                                     bool
	}{
		{"metal", "baremetal", "", "", "4.20.1", false},
		{"nutanix", "nutanix", "", "", "4.20.1", true},
		{"vsphere by the service", "vsphere", overrides, "assisted-service", "4.20.1", true},
		{"vsphere by the agent, with credentials", "vsphere", overrides, agentInvoker, "4.20.1", false},
		{"vsphere by the agent, with placeholders", "vsphere", strings.Replace(overrides, `"u"`, `"usernameplaceholder"`, 1), agentInvoker, "4.20.1", true},
		{"vsphere by the agent, without credentials", "vsphere", "x", agentInvoker, "4.20.1", true},
		{"old vsphere", "vsphere", overrides, agentInvoker, "4.14", true},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.cluster.Platform = &models.Platform{Type: new(models.PlatformType(row.platform))}
			w.cluster.InstallConfigOverrides, w.invoker = row.overrides, row.invoker
			c := parse(t, flags("bootstrap", 3, "--openshift-version", row.version)...)
			r := &run{Installer: w.installer(c), clusterNow: w.cluster}
			waits := w.node("b", false)
			waits.Spec.Taints = []map[string]any{{"key": "node.cloudprovider.kubernetes.io/uninitialized"}}
			w.untaintErr = errors.New("conflict")
			r.removeTaints(t.Context(), w, []kube.Node{w.node("a", true), waits, w.node("c", false)})
			if removed := len(w.untaints) == 1 && w.untaints[0] == "b"; removed != row.removed {
				t.Errorf("%s: %q", row.name, w.untaints)
			}
		})
	}
}

func TestConfigsState(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.configs["rendered-master-2"] = true
		node := func(name, current, desired string) kube.Node { return nodeOf(name, "master", true, current, desired) }
		for says, nodes := range map[string][]kube.Node{
			"":                            {node("a", "rendered-master-1", "rendered-master-2"), node("b", "rendered-master-2", "rendered-master-2")},
			"there are no master nodes":   nil,
			"the node b has no config":    {node("a", "rendered-master-1", "rendered-master-1"), node("b", "", "")},
			"which does not exist":        {node("a", "gone", "rendered-master-1")},
			"is to have rendered-master-": {node("a", "rendered-master-1", "rendered-master-1"), node("b", "rendered-master-1", "rendered-master-2")},
		} {
			state := must.Get(configsState(t.Context(), w, nodes))(t)
			check.Contains(t, state, says)
			check.Equal(t, state == "", says == "", state)
		}
	})
}

func TestReloadResolver(t *testing.T) {
	w := newWorld(t)
	w.put(resolverPath, "nameserver 192.0.2.1\n")
	own := hostfile.Files{Root: t.TempDir()}
	i := w.installer(parse(t, flags("bootstrap", 3)...))
	r := &run{Installer: i}
	must.Do(t, r.reloadResolver(t.Context()))
	i.Own = &own
	check.Says(t, r.reloadResolver(t.Context()), "no such")
	must.Do(t, own.Write(resolverPath, []byte("nameserver 198.51.100.1 and more\n"), 0o644))
	must.Do(t, r.reloadResolver(t.Context()))
	check.Equal(t, string(must.Get(own.Read(resolverPath))(t)), "nameserver 192.0.2.1\n")
}

func TestGrowpart(t *testing.T) {
	w := newWorld(t)
	r := &run{Installer: w.installer(parse(t, flags("master", 3)...)), disk: w.disks["/dev/vda"]}
	root := partition{Path: "/dev/mapper/mpatha4", Label: labelRoot}
	for _, row := range []struct {
		stdout string
		code   int
		free   int64
		says   string
	}{
		{"CHANGED: x", 0, 5, ""}, {"NOCHANGE: it is as large as it can be", 1, 0, ""}, {"FAILED", 1, 0, "exit code 1"}, {"NOCHANGE:", 2, 0, "exit code 2"},
	} {
		w.reply = func(machine.Command) (machine.Result, error) {
			return machine.Result{Stdout: []byte(row.stdout), Code: row.code}, nil
		}
		err := r.growpart(t.Context(), root, row.free)
		check.Equal(t, err != nil, row.says != "", row.stdout)
		if err != nil {
			check.Says(t, err, row.says)
		}
	}
	check.Equal(t, w.recorder.Commands()[0], "growpart --free-percent=5 /dev/vda 4")
	check.Equal(t, w.recorder.Commands()[1], "growpart /dev/vda 4")
}

func TestLayout(t *testing.T) {
	disk := must.Get(parseLayout([]byte(lsblkOutput)))(t)
	check.Equal(t, must.Get(disk.find("root"))(t).Path, "/dev/vda4")
	check.Says(t, must2(disk.find("luks_root")), "no partition with the label")
	check.Equal(t, disk.freePercent(disk.Size), int64(0))
	check.Equal(t, layout{}.freePercent(1), int64(0))
	check.Equal(t, partition{Path: "/dev/nvme0n1p12"}.number(), "12")
	for text, says := range map[string]string{"x": "read what lsblk prints", `{"blockdevices":[]}`: "shows 0 disks"} {
		_, err := parseLayout([]byte(text))
		check.Says(t, err, says)
	}
	_, err := layout{Partitions: []partition{{Path: "/etc/passwd", Label: "root"}}}.find("root")
	check.Says(t, err, "no partition")
}

func must2(_ partition, err error) error { return err }

// TestRegistryNeedsRoom: the root partition grows for the registry, or the installation fails.
func TestRegistryNeedsRoom(t *testing.T) {
	for _, row := range []struct {
		size int64 // of the disk
		says string
	}{{128849018880, ""}, {2600 << 20, "install to a larger disk"}} {
		inWorld(t, func(t *testing.T, w *world) {
			w.put(registryData+"/images", "")
			must.Do(t, os.Truncate(w.files.Path(registryData+"/images"), 2<<30))
			w.put(registryOnMedium+"/x", "")
			w.reply = func(c machine.Command) (machine.Result, error) {
				if c.Name != "lsblk" {
					return machine.Result{}, nil
				}
				return machine.Result{Stdout: []byte(strings.Replace(lsblkOutput, "128849018880", swag.FormatInt64(row.size), 1))}, nil
			}
			err := w.installer(parse(t, flags("master", 3)...)).Run(t.Context())
			if row.says != "" {
				check.Says(t, err, row.says)
				return
			}
			must.Do(t, err)
			check.Contains(t, strings.Join(w.recorder.Commands(), "\n"), "growpart --free-percent=95 /dev/vda 4")
		})
	}
}
