package iso

import (
	_ "embed" // hostname.service
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// Existing says what is done with what the base already carries.
type Existing uint8

// The ways to treat a base that was customised before.
const (
	// Refuse makes it an error: a machine must not boot with a config that the user does not know of.
	Refuse Existing = iota
	// Merge keeps it. Two Ignition configs become one by the rules of Ignition; a keyfile takes the
	// place of one with the same name.
	Merge
	// Replace drops it, even where nothing takes its place.
	Replace
)

// ErrCustomized is the error for a base that carries something, if the customization does not say what is done with
// that.
var ErrCustomized = errors.New("the image is customised already")

// Customization is what makes a base a machine's own.
type Customization struct {
	// Ignition is a config as JSON, spec 3.x; empty for none.
	Ignition []byte
	// Keyfiles are the network profiles for the live system, already in its initrd.
	Keyfiles []Keyfile
	// Hostname gives the live system its name by the MAC address of one of its network interfaces, or
	// by "" for every machine that boots the image.
	Hostname map[string]string
	// Kargs changes the kernel arguments.
	Kargs KargEdit
	// NoGrow makes it an error that the config does not fit into the area that the base has.
	NoGrow bool
	// Existing says what is done with what the base already carries.
	Existing Existing
}

// KargEdit changes kernel arguments, in this order: Reset, a bool, goes back to those that the image
// was built with; Delete, a []string, takes arguments out; Replace, a []Replacement, changes them where
// they stand; Append, a []string, adds them at the end. What is deleted or replaced must be there.
type KargEdit = kargs.Edit

// Replacement is a whole argument, Old, and what takes its place, New.
type Replacement = kargs.Replacement

// Result says how a customisation went.
type Result struct {
	// Compression of the archive: gzip, xz, or none where the image carries nothing.
	Compression string
	// IgnitionBytes is the size of the archive, AreaBytes the room that it has.
	IgnitionBytes, AreaBytes int64
	// Grown says that the area was made larger, at the end of the image.
	Grown bool
	// Warnings are what is likely a mistake and yet no error.
	Warnings []string
}

// Customize makes an image that reads from the base. It is an ErrCustomized where the base carries something and c does
// not say what is done with that, and a TooLargeError where the config does not fit.
func (b *Base) Customize(c Customization) (image *overlay.Image, result Result, err error) {
	defer b.named(&err)
	held, err := b.held(c.Existing)
	if err != nil {
		return nil, Result{}, err
	}
	result = Result{Compression: held.compression, IgnitionBytes: held.used, AreaBytes: b.area.length}
	image = b.image.Clone()
	if err := b.editKargs(image, c.Kargs, &result); err != nil {
		return nil, Result{}, err
	}
	brings := len(c.Ignition) > 0 || len(c.Keyfiles) > 0 || len(c.Hostname) > 0
	if !brings && c.Existing != Replace {
		return image, result, nil
	}
	members, err := b.members(held, c, &result)
	if err != nil {
		return nil, Result{}, err
	}
	if err := b.embed(image, members, c.NoGrow, &result); err != nil {
		return nil, Result{}, err
	}
	return image, result, nil
}

// held is what the base carries, as far as it is to be kept.
func (b *Base) held(existing Existing) (contents, error) {
	if existing == Replace {
		return contents{compression: embedarea.None}, nil
	}
	held, err := b.contents()
	if err != nil {
		return contents{}, fmt.Errorf("the contents of the image cannot be read: %w", err)
	}
	if len(held.members) > 0 && existing == Refuse {
		return contents{}, fmt.Errorf("%w: %s holds %s", ErrCustomized, b.area.position(), held.names())
	}
	if held.compression == "" {
		held.compression = embedarea.None
	}
	return held, nil
}

func (b *Base) members(held contents, c Customization, result *Result) ([]embedarea.Member, error) {
	config, err := b.config(held, c, result)
	if err != nil {
		return nil, err
	}
	added := make([]embedarea.Member, 0, len(c.Keyfiles)+1)
	if config != nil {
		added = append(added, embedarea.Member{Name: configMember, Mode: 0o600, Data: config})
	}
	if takes, _ := b.info.Features["live-initrd-network"].(bool); !takes && len(c.Keyfiles) > 0 {
		return nil, fmt.Errorf("this version of the live system does not read network profiles from the image: %s does not contain "+
			"live-initrd-network",
			featuresPath)
	}
	for _, k := range c.Keyfiles {
		m, err := keyfileMember(k)
		if err != nil {
			return nil, err
		}
		added = append(added, m)
	}
	members := slices.DeleteFunc(slices.Clone(held.members), func(old embedarea.Member) bool {
		return slices.ContainsFunc(added, func(m embedarea.Member) bool { return m.Name == old.Name })
	})
	return append(members, added...), nil
}

// keyfileMember checks a profile. NetworkManager refuses one that others than root may read.
func keyfileMember(k Keyfile) (embedarea.Member, error) {
	if k.Name == "" || strings.ContainsAny(k.Name, "/\x00") || strings.HasPrefix(k.Name, ".") {
		return embedarea.Member{}, fmt.Errorf("network profile %q: its name must be a file name without a directory", k.Name)
	}
	if err := nmstate.CheckKeyfile(k.Name, k.Content); err != nil {
		return embedarea.Member{}, err
	}
	return embedarea.Member{Name: keyfileDir + k.Name, Mode: 0o600, Data: k.Content}, nil
}

func (b *Base) config(held contents, c Customization, result *Result) ([]byte, error) {
	var configs [][]byte
	if old := held.config(); old != nil {
		configs = append(configs, old)
	}
	if len(c.Ignition) > 0 {
		report, err := b.checker.Validate("the Ignition config", c.Ignition)
		if err != nil {
			return nil, err
		}
		result.Warnings = append(result.Warnings, report.Warnings()...)
		configs = append(configs, c.Ignition)
	}
	if len(c.Hostname) > 0 {
		config, err := hostnameConfig(c.Hostname)
		if err != nil {
			return nil, err
		}
		configs = append(configs, config)
	}
	switch len(configs) {
	case 0:
		return nil, nil
	case 1:
		return configs[0], nil
	}
	merged, err := b.checker.Merge(configs...)
	if err != nil {
		return nil, fmt.Errorf("merging Ignition configs: %w", err)
	}
	return merged, nil
}

func (b *Base) editKargs(image *overlay.Image, wanted KargEdit, result *Result) error {
	if wanted.IsZero() {
		return nil
	}
	if b.kargs == nil {
		return kargs.ErrNone
	}
	_, patches, warned, err := b.kargs.Apply(wanted)
	if err != nil {
		return err
	}
	applyPatches(image, patches)
	result.Warnings = append(result.Warnings, warned...)
	return nil
}

// hostnameSpec is the oldest version of Ignition configs; merged with a later one it gives that.
const hostnameSpec = "3.0.0"

const hostnameDir = "/etc/oaictl/hostnames/"

// hostnameUnit names a machine with an interface that has the address that is the name of a file in hostnameDir. It
// runs before anything that passes the name on to others.
//
//go:embed hostname.service
var hostnameUnit string

// hostnamePattern is a name of RFC 1123: labels of letters, digits and inner dashes. It is large, and compiled when it is asked.
var hostnamePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
})

// hostnameConfig is the Ignition config that gives machines their names. CoreOS has no other way to
// name a live system than its files.
func hostnameConfig(names map[string]string) ([]byte, error) {
	if name, all := names[""]; all {
		if len(names) > 1 {
			return nil, errors.New("a hostname for all machines cannot be used together with hostnames by MAC address")
		}
		file, err := hostnameFile("/etc/hostname", name)
		return fmt.Appendf(nil, `{"ignition":{"version":%q},"storage":{"files":[%s]}}`, hostnameSpec, file), err
	}
	var files []string
	seen := map[string]bool{}
	for _, address := range slices.Sorted(maps.Keys(names)) {
		mac, err := net.ParseMAC(address)
		if err != nil {
			return nil, fmt.Errorf("hostname %q: %q is not a MAC address", names[address], address)
		}
		file, err := hostnameFile(hostnameDir+mac.String(), names[address])
		if err != nil {
			return nil, err
		}
		if seen[mac.String()] {
			return nil, fmt.Errorf("hostname %q: the MAC address %s already has a hostname", names[address], mac)
		}
		seen[mac.String()] = true
		files = append(files, file)
	}
	unit, err := json.Marshal(hostnameUnit)
	return fmt.Appendf(nil, `{"ignition":{"version":%q},"storage":{"files":[%s]},`+
		`"systemd":{"units":[{"name":"oaictl-hostname.service","enabled":true,"contents":%s}]}}`,
		hostnameSpec, strings.Join(files, ","), unit), err
}

// hostnameFile is a file of a config with a hostname, which neither JSON nor a URL has to escape.
func hostnameFile(path, hostname string) (string, error) {
	const mode = 0o644
	return fmt.Sprintf(`{"path":%q,"mode":%d,"overwrite":true,"contents":{"source":"data:,%s%%0A"}}`, path, mode, hostname),
		CheckHostname(hostname)
}

// CheckHostname refuses what is not a name of RFC 1123 (section 2.1), as every machine's is.
func CheckHostname(name string) error {
	if len(name) > 253 || !hostnamePattern().MatchString(strings.ToLower(name)) {
		return fmt.Errorf("hostname %q is not a valid name (RFC 1123)", name)
	}
	return nil
}
