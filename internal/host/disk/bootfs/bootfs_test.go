//go:build linux

package bootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/host/disk/coreos"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	firstEntry  = "title Old\noptions old ignition.platform.id=metal\n"
	secondEntry = "title Red Hat Enterprise Linux CoreOS (ostree:0)\nversion 1\n" +
		"options $ignition_firstboot ostree=/ostree/boot.1/rhcos/0 ignition.platform.id=metal console=tty0 console=ttyS0,115200n8  \n" +
		"linux /ostree/rhcos/vmlinuz\n"
	grub = "set pager=1\n# CONSOLE-SETTINGS-START\nserial --unit=0\nterminal_input serial\n# CONSOLE-SETTINGS-END\nblscfg\n"
)

// boot makes the folder of a boot file system; loader is a link, as ostree makes it.
func bootFolder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"loader.1/entries/ostree-1.conf":       firstEntry,
		"loader.1/entries/ostree-2.conf":       secondEntry,
		"loader.1/entries/.ostree-3.conf.1234": "half written",
		"loader.1/entries/readme":              "no entry",
		"ignition.firstboot":                   "# comment\n",
		"grub2/grub.cfg":                       grub,
		"coreos/platforms.json": `{"metal": {"kernel_arguments": ["console=ttyS0,115200n8"], "grub_commands": ["serial --unit=0"]},
			"vmware": {"kernel_arguments": ["console=hvc0"], "grub_commands": ["terminal_output console"]}}`,
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
	}
	must.Do(t, os.Symlink("loader.1", filepath.Join(root, "loader")))
	return root
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(parts...)))(t))
}

func options(t *testing.T, args ...string) coreos.Options {
	t.Helper()
	return must.Get(coreos.Parse(args))(t)
}

func TestApply(t *testing.T) {
	const start = "$ignition_firstboot ostree=/ostree/boot.1/rhcos/0 "
	for name, test := range map[string]struct {
		args    []string
		options string // of the entry; "" if the entry stays as it is
		grub    string // what is between the marks; "" if it stays as it is
		first   string // of ignition.firstboot
	}{
		"nothing": {},
		"kernel arguments": {
			args:    []string{"--append-karg", "ip=52-54-00-00-00-01:dhcp", "--append-karg", "a=b", "--delete-karg", "console=tty0"},
			options: start + "ignition.platform.id=metal console=ttyS0,115200n8 ip=52-54-00-00-00-01:dhcp a=b",
		},
		"words beside each other": {
			args:    []string{"--delete-karg", "console=tty0 console=ttyS0,115200n8", "--delete-karg", "absent"},
			options: start + "ignition.platform.id=metal",
		},
		"metal": {args: []string{"--platform", "metal"}},
		"platform": {
			args: []string{"--platform", "vmware"}, options: start + "ignition.platform.id=vmware console=tty0 console=hvc0",
			grub: "terminal_output console\n",
		},
		"unknown platform": {
			args: []string{"--platform", "nutanix"}, options: start + "ignition.platform.id=nutanix console=tty0", grub: "\n",
		},
		"platform and console": {
			args:    []string{"--platform", "vmware", "--console", "ttyS1,9600"},
			options: start + "ignition.platform.id=vmware console=tty0 console=ttyS1,9600n8",
			grub:    "serial --unit=1 --speed=9600 --word=8 --parity=no\nterminal_input serial\nterminal_output serial\n",
		},
		"first boot": {args: []string{"--firstboot-args", "rd.neednet=1 ip=dhcp"}, first: "set ignition_network_kcmdline=\"rd.neednet=1 ip=dhcp\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := bootFolder(t)
			must.Do(t, Apply(root, Config{Ignition: []byte(`{"ignition":{}}`), Options: options(t, test.args...)}))
			entry := secondEntry
			if test.options != "" {
				entry = "title Red Hat Enterprise Linux CoreOS (ostree:0)\nversion 1\noptions " + test.options + "\nlinux /ostree/rhcos/vmlinuz\n"
			}
			if diff := cmp.Diff(entry, read(t, root, "loader/entries/ostree-2.conf")); diff != "" {
				t.Error(diff)
			}
			if got := read(t, root, "loader/entries/ostree-1.conf"); got != firstEntry {
				t.Errorf("the other entry is %q", got)
			}
			config := grub
			if test.grub != "" {
				config = "set pager=1\n# CONSOLE-SETTINGS-START\n" + strings.TrimPrefix(test.grub, "\n") + "# CONSOLE-SETTINGS-END\nblscfg\n"
			}
			if diff := cmp.Diff(config, read(t, root, "grub2/grub.cfg")); diff != "" {
				t.Error(diff)
			}
			if got := read(t, root, "ignition.firstboot"); got != "# comment\n"+test.first {
				t.Errorf("ignition.firstboot is %q", got)
			}
			info := must.Get(os.Stat(filepath.Join(root, "ignition/config.ign")))(t)
			if got := read(t, root, "ignition/config.ign"); got != `{"ignition":{}}` || info.Mode().Perm() != 0o600 {
				t.Errorf("the config is %q, %v", got, info.Mode())
			}
			folder := must.Get(os.Stat(filepath.Join(root, "ignition")))(t)
			if folder.Mode().Perm() != 0o700 {
				t.Errorf("its folder has %v", folder.Mode())
			}
		})
	}
}

func TestConsoleConfigOfNewImages(t *testing.T) {
	root := bootFolder(t)
	must.Do(t, os.WriteFile(filepath.Join(root, "grub2/console.cfg"), []byte("\n# CONSOLE-SETTINGS-START\n# CONSOLE-SETTINGS-END\n"), 0o600))
	must.Do(t, Apply(root, Config{Ignition: []byte(`{}`), Options: options(t, "--console", "tty0")}))
	want := "\n# CONSOLE-SETTINGS-START\nterminal_input console\nterminal_output console\n# CONSOLE-SETTINGS-END\n"
	if got := read(t, root, "grub2/console.cfg"); got != want || read(t, root, "grub2/grub.cfg") != grub {
		t.Errorf("console.cfg is %q", got)
	}
}

func TestCopyNetwork(t *testing.T) {
	root, keyfiles := bootFolder(t), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(keyfiles, "eth0.nmconnection"), []byte("[connection]\n"), 0o644))
	must.Do(t, os.Mkdir(filepath.Join(keyfiles, "folder"), 0o755))
	must.Do(t, Apply(root, Config{Ignition: []byte(`{}`), Options: options(t, "-n", "--network-dir", keyfiles)}))
	copied := filepath.Join(root, "coreos-firstboot-network")
	if got := read(t, copied, "eth0.nmconnection"); got != "[connection]\n" {
		t.Errorf("the keyfile is %q", got)
	}
	if info := must.Get(os.Stat(filepath.Join(copied, "eth0.nmconnection")))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("the keyfile has %v", info.Mode())
	}
	if entries := must.Get(os.ReadDir(copied))(t); len(entries) != 1 {
		t.Errorf("there are %d files", len(entries))
	}
	err := Apply(bootFolder(t), Config{Ignition: []byte(`{}`), Options: options(t, "-n", "--network-dir", keyfiles+"/none")})
	if err == nil || !strings.Contains(err.Error(), "copy the configuration of the network") {
		t.Errorf("an absent folder: %v", err)
	}
}

func TestApplyFails(t *testing.T) {
	outside := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(outside, "entries"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(outside, "entries/a.conf"), []byte(secondEntry), 0o600))
	all := []string{"--append-karg", "a", "--platform", "vmware", "--firstboot-args", "b"}
	for name, test := range map[string]struct {
		change func(t *testing.T, root string)
		config string
		args   []string
		want   string
	}{
		"config is no JSON": {config: `{"secret`, want: "is not JSON"},
		"config is there": {change: func(t *testing.T, root string) {
			must.Do(t, os.Mkdir(filepath.Join(root, "ignition"), 0o755))
			must.Do(t, os.WriteFile(filepath.Join(root, "ignition/config.ign"), nil, 0o600))
		}, want: "installed before"},
		"config leads outside": {change: func(t *testing.T, root string) {
			must.Do(t, os.Symlink(outside, filepath.Join(root, "ignition")))
		}, want: "outside of the file system"},
		"config leads to nothing": {change: func(t *testing.T, root string) {
			must.Do(t, os.Mkdir(filepath.Join(root, "ignition"), 0o755))
			must.Do(t, os.Symlink(outside+"/none", filepath.Join(root, "ignition/config.ign")))
		}, want: "link to nothing"},
		"no first boot": {change: func(t *testing.T, root string) {
			must.Do(t, os.Remove(filepath.Join(root, "ignition.firstboot")))
		}, want: "kernel arguments of the first boot"},
		"no entries": {change: func(t *testing.T, root string) {
			must.Do(t, os.Remove(filepath.Join(root, "loader/entries/ostree-1.conf")))
			must.Do(t, os.Remove(filepath.Join(root, "loader/entries/ostree-2.conf")))
		}, want: "no entries of the boot loader"},
		"entries outside": {change: func(t *testing.T, root string) {
			must.Do(t, os.Remove(filepath.Join(root, "loader")))
			must.Do(t, os.Symlink(outside, filepath.Join(root, "loader")))
		}, want: "outside of the file system"},
		"entry without arguments": {change: func(t *testing.T, root string) {
			must.Do(t, os.WriteFile(filepath.Join(root, "loader/entries/z.conf"), []byte("title a\n"), 0o600))
		}, want: "no line of kernel arguments"},
		"entry with two lines": {change: func(t *testing.T, root string) {
			must.Do(t, os.WriteFile(filepath.Join(root, "loader/entries/z.conf"), []byte("options ignition.platform.id=metal\noptions b\n"), 0o600))
		}, want: "several lines"},
		"another platform": {change: func(t *testing.T, root string) {
			must.Do(t, os.WriteFile(filepath.Join(root, "loader/entries/z.conf"), []byte("options a\n"), 0o600))
		}, want: `they do not have "ignition.platform.id=metal"`},
		"platforms.json": {change: func(t *testing.T, root string) {
			must.Do(t, os.WriteFile(filepath.Join(root, "coreos/platforms.json"), []byte("{"), 0o600))
		}, want: "platforms.json"},
		"no marks": {change: func(t *testing.T, root string) {
			must.Do(t, os.WriteFile(filepath.Join(root, "grub2/grub.cfg"), []byte("blscfg\n"), 0o600))
		}, want: "no marks"},
	} {
		t.Run(name, func(t *testing.T) {
			root := bootFolder(t)
			if test.change != nil {
				test.change(t, root)
			}
			config := test.config
			if config == "" {
				config = "{}"
			}
			err := Apply(root, Config{Ignition: []byte(config), Options: options(t, all...)})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if got := read(t, outside, "entries/a.conf"); got != secondEntry {
		t.Errorf("a file outside was changed to %q", got)
	}
}

func FuzzEditEntry(f *testing.F) {
	f.Add(secondEntry, "a=b", "console=tty0")
	f.Add("options \n", "", "")
	f.Fuzz(func(t *testing.T, entry, added, deleted string) {
		changed, err := editEntry(entry, kargs{append: []string{added}, delete: []string{deleted}})
		if err != nil {
			return
		}
		if again, err := editEntry(changed, kargs{}); err != nil || again != changed {
			t.Errorf("%q becomes %q, %v", changed, again, err)
		}
	})
}
