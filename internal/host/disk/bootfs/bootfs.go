//go:build linux

// Package bootfs prepares the boot file system of a written image for its first boot, as coreos-installer does.
package bootfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/host/disk/coreos"
	"github.com/oaictl/oaictl/internal/host/hostfile"
)

// Label is the label of the boot file system of CoreOS.
const Label = "boot"

// Config says what the first boot gets.
type Config struct {
	Ignition []byte // the Ignition config, which may have secrets
	Options  coreos.Options
}

// boot is a mounted boot file system.
type boot struct{ files hostfile.Files }

// Apply writes the config to the boot file system at root. Links of the image cannot lead it outside of root.
func Apply(root string, c Config) error {
	b := boot{hostfile.Files{Root: root}}
	steps := []struct {
		what string
		do   func(Config) error
	}{
		{"write the Ignition config", b.writeIgnition},
		{"set the platform", b.setPlatform},
		{"set the consoles", b.setConsoles},
		{"set the kernel arguments of the first boot", b.setFirstboot},
		{"change the kernel arguments", b.changeKargs},
		{"copy the configuration of the network", b.copyNetwork},
	}
	for _, step := range steps {
		if err := step.do(c); err != nil {
			return fmt.Errorf("%s in the boot file system: %w", step.what, err)
		}
	}
	return nil
}

// inside follows the links of a path, and returns it as a path below root. Its folder must exist.
func (b boot) inside(path string) (string, error) {
	root, err := filepath.EvalSymlinks(b.files.Root)
	if err != nil {
		return "", err
	}
	whole := b.files.Path(path)
	real, err := filepath.EvalSymlinks(whole)
	if errors.Is(err, fs.ErrNotExist) {
		if _, linkErr := os.Lstat(whole); linkErr == nil {
			return "", fmt.Errorf("%s is a link to nothing", path)
		}
		folder, folderErr := filepath.EvalSymlinks(filepath.Dir(whole))
		real, err = filepath.Join(folder, filepath.Base(whole)), folderErr
	}
	if err != nil {
		return "", err
	}
	if relative, below := strings.CutPrefix(real, root+"/"); below {
		return "/" + relative, nil
	}
	return "", fmt.Errorf("a link leads from %s to outside of the file system", path)
}

// rewrite changes a file that must exist, and keeps its permissions.
func (b boot) rewrite(path string, change func(content string) (string, error)) error {
	real, err := b.inside(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(b.files.Path(real))
	if err != nil {
		return err
	}
	content, err := b.files.Read(real)
	if err != nil {
		return err
	}
	changed, err := change(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if changed == string(content) {
		return nil
	}
	return b.files.Write(real, []byte(changed), info.Mode().Perm())
}

func (b boot) writeIgnition(c Config) error {
	if !json.Valid(c.Ignition) {
		return errors.New("the config is not JSON") // the error of the parser could show a part of it
	}
	const onlyRoot = 0o700
	if err := b.files.MakeFolder("/ignition", onlyRoot); err != nil {
		return err
	}
	path, err := b.inside("/ignition/config.ign")
	if err != nil {
		return err
	}
	if b.files.Exists(path) {
		return errors.New("the image already has a config: it was installed before, and is not a fresh image")
	}
	return b.files.Write(path, c.Ignition, 0o600)
}

func (b boot) setFirstboot(c Config) error {
	args := c.Options.FirstbootArgs
	if args == "" {
		return nil
	}
	return b.rewrite("/ignition.firstboot", func(content string) (string, error) {
		return content + fmt.Sprintf("set ignition_network_kcmdline=\"%s\"\n", args), nil
	})
}

func (b boot) changeKargs(c Config) error {
	return b.editEntry(kargs{append: c.Options.AppendKargs, delete: c.Options.DeleteKargs})
}

// editEntry changes the kernel arguments of the entry that boots by default: the last by name.
func (b boot) editEntry(changes kargs) error {
	if changes.empty() {
		return nil
	}
	folder, err := b.inside("/loader/entries")
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(b.files.Path(folder), "*.conf"))
	if err != nil {
		return err
	}
	// Glob sorts by name. A file that begins with a dot is one that is being written.
	found = slices.DeleteFunc(found, func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") })
	if len(found) == 0 {
		return errors.New("loader/entries has no entries of the boot loader")
	}
	entry := filepath.Join(folder, filepath.Base(found[len(found)-1]))
	return b.rewrite(entry, func(content string) (string, error) { return editEntry(content, changes) })
}

// platform is what platforms.json of an image says of a platform.
type platform struct {
	GrubCommands    []string `json:"grub_commands"`
	KernelArguments []string `json:"kernel_arguments"`
}

// metal is the platform that images for disks are made for.
const metal = "metal"

// platforms has the settings of a platform, and those of metal, which they replace. Both are empty if the image has none.
func (b boot) platforms(name string) (platform, platform, error) {
	const path = "/coreos/platforms.json"
	if !b.files.Exists(path) {
		return platform{}, platform{}, nil
	}
	real, err := b.inside(path)
	if err != nil {
		return platform{}, platform{}, err
	}
	content, err := b.files.Read(real)
	if err != nil {
		return platform{}, platform{}, err
	}
	var all map[string]platform
	if err := json.Unmarshal(content, &all); err != nil {
		return platform{}, platform{}, fmt.Errorf("read %s: %w", path, err)
	}
	return all[name], all[metal], nil
}

func (b boot) setPlatform(c Config) error {
	name := c.Options.Platform
	if name == "" || name == metal {
		return nil
	}
	const argument = "ignition.platform.id="
	if err := b.editEntry(kargs{replace: [][2]string{{argument + metal, argument + name}}}); err != nil {
		return err
	}
	if len(c.Options.Consoles) > 0 {
		return nil // they replace those of the platform
	}
	own, old, err := b.platforms(name)
	if err != nil {
		return err
	}
	if err := b.editEntry(kargs{append: own.KernelArguments, delete: old.KernelArguments}); err != nil {
		return err
	}
	if slices.Equal(own.GrubCommands, old.GrubCommands) {
		return nil
	}
	return b.setGrub(own.GrubCommands)
}

func (b boot) setConsoles(c Config) error {
	consoles := c.Options.Consoles
	if len(consoles) == 0 {
		return nil
	}
	_, old, err := b.platforms(metal)
	if err != nil {
		return err
	}
	changes := kargs{delete: old.KernelArguments}
	for _, console := range consoles {
		changes.append = append(changes.append, console.Karg())
	}
	if err := b.editEntry(changes); err != nil {
		return err
	}
	return b.setGrub(coreos.Grub(consoles))
}

// setGrub sets the commands of the console in the file that has them: newer images have one only for them.
func (b boot) setGrub(commands []string) error {
	path := "/grub2/console.cfg"
	if !b.files.Exists(path) {
		path = "/grub2/grub.cfg"
	}
	return b.rewrite(path, func(content string) (string, error) { return editGrub(content, commands) })
}

// copyNetwork copies keyfiles of NetworkManager. They may have passwords.
func (b boot) copyNetwork(c Config) error {
	from := c.Options.NetworkDir
	if from == "" {
		return nil
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	const folder = "/coreos-firstboot-network"
	if err := b.files.MakeFolder(folder, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		source := filepath.Join(from, entry.Name())
		info, err := os.Stat(source)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		path, err := b.inside(folder + "/" + entry.Name())
		if err != nil {
			return err
		}
		if err := b.files.Write(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
