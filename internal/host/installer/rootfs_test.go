//go:build linux

package installer

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestWriteRoot: the first boot of the installed system finds Ignition and the network, and a second try ends well.
func TestWriteRoot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put(networkFolder+"/eth0.nmconnection", "[connection]\n")
		w.put("/ostree/repo/refs/heads/coreos/node-image", "x")
		fails := 2
		w.reply = func(c machine.Command) (machine.Result, error) {
			if c.Name == "ostree" && slices.Contains(c.Args, "stateroot-init") {
				w.put("/ostree/deploy/install/var/x", "")
			}
			if c.Name == "rpm-ostree" && fails > 0 {
				fails--
				return machine.Result{Code: 1}, nil
			}
			return machine.Result{}, nil
		}
		args := `["--append-karg","a=b","--delete-karg","c","--append-karg=d=e","--copy-network","--append-karg"]`
		c := parse(t, flags("master", 3, "--coreos-image", "quay.io/x/os:1", "--installer-args", args)...)
		must.Do(t, w.installer(c).Run(t.Context()))
		check.Equal(t, string(must.Get(w.files.Read(bootIgnition))(t)), pointer)
		check.Equal(t, string(must.Get(w.files.Read(bootNetworks+"/eth0.nmconnection"))(t)), "[connection]\n")
		check.Equal(t, w.files.Exists(firstBootStamp), true)
		check.Equal(t, w.files.Exists("/ostree/repo/tmp/node-image"), true)
		commands := w.recorder.Commands()
		check.Equal(t, count(commands, "ostree admin stateroot-init install"), 1)
		check.Equal(t, count(commands, "rpm-ostree kargs --os install --append a=b --append d=e --delete-if-present c"), 3)
		check.Equal(t, len(w.disksDone), 0)
	})
}

func TestWriteRootFails(t *testing.T) {
	for command, says := range map[string]string{
		"mount /boot":                  "make the file systems of this machine writable",
		"ostree refs":                  "remove the node image",
		"ostree admin stateroot-init":  "install the image quay.io/x/os:1",
		"ostree container":             "install the image quay.io/x/os:1",
		"rpm-ostree":                   "set the kernel arguments",
		"none, without network folder": "copy this machine's network",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.put("/ostree/repo/refs/heads/coreos/node-image", "x")
			w.reply = func(c machine.Command) (machine.Result, error) {
				if strings.HasPrefix(c.String(), command) {
					return machine.Result{Code: 1, Stderr: []byte("no luck")}, nil
				}
				return machine.Result{}, nil
			}
			c := parse(t, flags("master", 3, "--coreos-image", "quay.io/x/os:1", "--installer-args", `["-n","--append-karg","a"]`)...)
			check.Says(t, w.installer(c).Run(t.Context()), says, command)
		})
	}
}

func TestPlatformID(t *testing.T) {
	w := newWorld(t)
	r := &run{Installer: w.installer(parse(t, flags("master", 3)...))}
	for line, want := range map[string]string{
		"a ignition.platform.id=nutanix b\n": "ignition.platform.id=nutanix", "a b\n": "ignition.platform.id=metal",
	} {
		w.put("/proc/cmdline", line)
		check.Equal(t, r.platformID(), want)
	}
	must.Do(t, w.files.Remove("/proc/cmdline"))
	check.Equal(t, r.platformID(), "ignition.platform.id=metal")
}

func TestSSHKeyIsChecked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put(sshKey, "left by a step that was stopped")
		r := &run{Installer: w.installer(parse(t, flags("bootstrap", 3)...))}
		must.Do(t, r.makeSSHKey(t.Context()))
		check.Equal(t, w.files.Exists(sshKey), false) // ssh-keygen of this world makes only the public one
		w.recorder.Reply = func(machine.Command) (machine.Result, error) {
			w.put(sshKey+".pub", "ssh-rsa x\n- evil: yes\n")
			return machine.Result{}, nil
		}
		check.Says(t, r.makeSSHKey(t.Context()), "is not a public SSH key")
		w.recorder.Reply = nil
		check.Says(t, r.makeSSHKey(t.Context()), "read the SSH key")
	})
}

func TestPodmanLogs(t *testing.T) {
	recorder := &machine.Recorder{}
	c := parse(t, flags("master", 3, "--cacert", "/etc/ca.pem", "--insecure")...)
	must.Do(t, PodmanLogs{Config: c, Runner: recorder}.Send(t.Context(), false))
	line := recorder.Commands()[0]
	check.Contains(t, line, " -v /etc/ca.pem:/etc/ca.pem ")
	check.Contains(t, line, " -insecure=true -bootstrap=false -cacert=/etc/ca.pem")
	if strings.Contains(line, secret) {
		t.Errorf("the token is an argument: %s", line)
	}
}
