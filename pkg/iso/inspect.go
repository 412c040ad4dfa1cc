package iso

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

const maxListed = 10_000

// Inspect reports all that any tool embedded in the base: coreos-installer, the Assisted Installer, the
// agent-based installer, or this package. What can not be read is among the report's Problems.
func (b *Base) Inspect(ctx context.Context) (*Report, error) {
	i := inspection{base: b, report: &Report{
		VolumeID: b.info.VolumeID, Size: b.info.Size, Arch: b.info.Arch, OS: b.info.OS, Version: b.info.Version,
		Features: b.info.Features, Boot: b.info.Boot,
		Network: []NetworkFile{}, Secrets: []Secret{},
		Ignition: IgnitionReport{AreaBytes: b.area.length, Compression: embedarea.None, Members: []Member{}},
	}}
	i.area()
	i.kargs()
	i.ramdisk(ctx, customPath)
	i.ramdisk(ctx, nmstatectlImg)
	i.live(ctx)
	if err := b.checkRebuilt(); err != nil {
		i.problem(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	return i.report, nil
}

type inspection struct {
	base   *Base
	report *Report
}

func (i *inspection) problem(err error) {
	i.report.Problems = append(i.report.Problems, strings.TrimPrefix(err.Error(), i.base.name+": "))
}

func (i *inspection) area() {
	held, err := i.base.contents()
	report := &i.report.Ignition
	report.Bytes = held.used
	if err != nil {
		report.Compression = "unknown"
		i.problem(err)
		return
	}
	if held.compression != "" {
		report.Compression = held.compression
	}
	for _, m := range held.members {
		report.Members = append(report.Members, memberOf(m.Name, int64(len(m.Data)), m.Mode))
		i.file(i.base.area.position(), m)
	}
}

func (i *inspection) file(in string, m embedarea.Member) {
	if m.Name == configMember {
		i.config(in, m.Data)
		return
	}
	if _, is := networkFile(m.Name); is {
		i.report.Network = append(i.report.Network, NetworkFile{Name: strings.TrimPrefix(m.Name, keyfileDir), In: in, Bytes: int64(len(m.Data))})
	}
	for _, kind := range ignition.Kinds(m.Data) {
		i.report.Secrets = append(i.report.Secrets, Secret{In: in, Path: m.Name, Kind: kind})
	}
}

// config looks into an Ignition config, which may bring network files of its own.
func (i *inspection) config(in string, data []byte) {
	for _, s := range ignition.Secrets(data) {
		i.report.Secrets = append(i.report.Secrets, Secret{In: in, Path: s.Path, Kind: s.Kind})
	}
	for _, w := range configWeights(data) {
		if _, is := networkFile(w.Path); is {
			i.report.Network = append(i.report.Network, NetworkFile{Name: w.Path, In: in + ": " + configMember, Bytes: w.Bytes})
		}
	}
}

func (i *inspection) kargs() {
	if i.base.kargs == nil {
		return
	}
	i.report.Kargs = KargsReport{Current: i.base.Kargs(), Default: strings.Join(i.base.kargs.Default, " "), Limit: i.base.kargs.Limit}
	for _, damage := range i.base.kargs.Damage {
		i.problem(errors.New(damage))
	}
	for _, kind := range ignition.Kinds([]byte(i.report.Kargs.Current)) {
		i.report.Secrets = append(i.report.Secrets, Secret{In: "kernel arguments", Path: "kernel arguments", Kind: kind})
	}
}

func (i *inspection) ramdisk(ctx context.Context, name string) {
	archive, err := i.base.file(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		i.problem(err)
		return
	}
	found := Ramdisk{Path: name, Members: []Member{}}
	seen, err := embedarea.Walk(archive, archive.Size(), maxInitrd, func(h cpio.Header, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return i.member(&found, h, content)
	})
	found.Compression = strings.Join(seen, "+")
	i.report.Ramdisks = append(i.report.Ramdisks, found)
	if err != nil {
		i.problem(fmt.Errorf("%s: %w", name, err))
	}
}

// member records one file in a ramdisk. No more than maxMember bytes of it are read.
func (i *inspection) member(in *Ramdisk, h cpio.Header, content io.Reader) error {
	if h.Kind() != cpio.TypeRegular {
		return nil
	}
	if len(in.Members) >= maxListed {
		return fmt.Errorf("it has more than %d files", maxListed)
	}
	data, err := io.ReadAll(io.LimitReader(content, maxMember))
	if err != nil {
		return err
	}
	name := strings.TrimLeft(strings.TrimPrefix(h.Name, "./"), "/")
	in.Members = append(in.Members, memberOf(name, h.Size, h.Mode))
	i.file(in.Path, embedarea.Member{Name: name, Mode: h.Mode, Data: data})
	return nil
}

func memberOf(name string, size int64, mode uint32) Member {
	return Member{Name: name, Bytes: size, Mode: fmt.Sprintf("%04o", mode&0o7777)}
}

func (i *inspection) live(ctx context.Context) {
	ramdisk := Ramdisk{Path: initrdPath}
	found, err := i.base.readInitrd(ctx, func(h cpio.Header, content io.Reader) error { return i.member(&ramdisk, h, content) })
	if err != nil {
		i.problem(err)
	}
	if ramdisk.Compression = found.compression; len(ramdisk.Members) > 0 {
		i.report.Ramdisks = append(i.report.Ramdisks, ramdisk)
	}
	id, err := i.base.rootfsID()
	if err != nil {
		i.problem(err)
	}
	i.report.Live = LiveReport{InitrdID: found.id, RootfsID: id, Match: id != "" && id == found.id}
}

// Report is all that was found in an image, as "iso show" prints it.
type Report struct {
	VolumeID string         `json:"volumeId"`
	Size     int64          `json:"size"` // bytes
	Arch     string         `json:"arch"`
	OS       string         `json:"os"`
	Version  string         `json:"version"`
	Ignition IgnitionReport `json:"ignition"`
	Kargs    KargsReport    `json:"kargs"`
	Network  []NetworkFile  `json:"network"`
	Ramdisks []Ramdisk      `json:"ramdisks,omitempty"`
	Features map[string]any `json:"features"`
	Boot     Boot           `json:"boot"`
	Live     LiveReport     `json:"live"`
	Secrets  []Secret       `json:"secrets"`
	// Problems are what could not be read, and ErrRebuilt. The rest of the report stands.
	Problems []string `json:"problems,omitempty"`
}

// IgnitionReport is what the Ignition area holds.
type IgnitionReport struct {
	Bytes       int64    `json:"bytes"`     // of the area that are in use
	AreaBytes   int64    `json:"areaBytes"` // that it has
	Compression string   `json:"compression"`
	Members     []Member `json:"members"`
}

// Member is a file in an archive.
type Member struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Mode  string `json:"mode"` // octal
}

// KargsReport is the kernel arguments. All is empty where the image has no areas for them.
type KargsReport struct {
	Current string `json:"current"`
	Default string `json:"default"`
	Limit   int    `json:"limit"` // bytes
}

// NetworkFile is a file that configures the network of the live system.
type NetworkFile struct {
	Name  string `json:"name"`
	In    string `json:"in"` // the file of the image that holds it
	Bytes int64  `json:"bytes"`
}

// Ramdisk is an archive beside the Ignition area in which a tool put something.
type Ramdisk struct {
	Path        string   `json:"path"`
	Compression string   `json:"compression"`
	Members     []Member `json:"members"`
}

// LiveReport reports whether initrd and root filesystem belong together: the live system refuses to boot where the ids
// of their builds differ.
type LiveReport struct {
	InitrdID string `json:"initrdId"`
	RootfsID string `json:"rootfsId"` // empty in a minimal ISO
	Match    bool   `json:"match"`
}

// MarshalJSON leaves out the root filesystem that a minimal ISO does not have.
func (l LiveReport) MarshalJSON() ([]byte, error) {
	if l.RootfsID == "" {
		return json.Marshal(map[string]string{"initrdId": l.InitrdID})
	}
	type whole LiveReport
	return json.Marshal(whole(l))
}

// Secret is a place in the image that not everybody should see.
type Secret struct {
	In   string `json:"in"`   // the file of the image
	Path string `json:"path"` // the place in it
	Kind string `json:"kind"` // as package ignition names it
}

// Keyfile is a NetworkManager connection profile.
type Keyfile = nmstate.Keyfile

type contents struct {
	members     []embedarea.Member
	compression string
	used        int64 // bytes of the area up to the last that is not zero
}

func (c contents) config() []byte {
	i := slices.IndexFunc(c.members, func(m embedarea.Member) bool { return m.Name == configMember })
	if i < 0 {
		return nil
	}
	return c.members[i].Data
}

// names lists the members for people, at most four.
func (c contents) names() string {
	var names []string
	for _, m := range c.members {
		names = append(names, m.Name)
	}
	if len(names) > 4 {
		names = append(names[:4], fmt.Sprintf("and %d more", len(names)-4))
	}
	return strings.Join(names, ", ")
}

func (b *Base) readContents() (contents, error) {
	data := make([]byte, b.area.length)
	if _, err := b.image.ReadAt(data, b.area.offset); err != nil {
		return contents{}, fmt.Errorf("%s: %w", b.area.position(), err)
	}
	used := len(bytes.TrimRight(data, "\x00"))
	if used == 0 {
		return contents{}, nil
	}
	held := contents{used: int64(used)}
	var err error
	// An uncompressed archive is padded with zeros that belong to it.
	held.members, held.compression, err = embedarea.Unpack(data[:min(used+512, len(data))])
	if err != nil {
		err = fmt.Errorf("%s: %w", b.area.position(), err)
	}
	return held, err
}

// Ignition returns the config that the image carries, nil where it carries none.
func (b *Base) Ignition() (config []byte, err error) {
	defer b.named(&err)
	held, err := b.contents()
	return held.config(), err
}

// Keyfiles returns the network profiles that the live system finds in the image.
func (b *Base) Keyfiles() (keyfiles []Keyfile, err error) {
	defer b.named(&err)
	held, err := b.contents()
	for _, m := range held.members {
		if strings.HasPrefix(m.Name, keyfileDir) {
			keyfiles = append(keyfiles, Keyfile{Name: path.Base(m.Name), Content: m.Data})
		}
	}
	return keyfiles, err
}

// NetworkFiles returns every file that configures the network of the live system, as the report of an inspection lists
// them: profiles beside the Ignition config, and those that the config brings. The name of a file that belongs to one of
// several hosts begins with that host's folder.
func (b *Base) NetworkFiles() (files []Keyfile, err error) {
	defer b.named(&err)
	held, err := b.contents()
	add := func(name string, content []byte) {
		if short, is := networkFile(name); is {
			files = append(files, Keyfile{Name: strings.ReplaceAll(short, "/", "-"), Content: content})
		}
	}
	for _, m := range held.members {
		add(m.Name, m.Data)
	}
	for _, f := range ignition.Files(held.config()) {
		add(f.Path, f.Content)
	}
	return files, err
}

// networkFile reports whether a file configures the network of the live system, and gives its name within its folder.
func networkFile(name string) (short string, is bool) {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	for _, dir := range []string{keyfileDir, "etc/assisted/network/", "etc/NetworkManager/system-connections/"} {
		if short, is := strings.CutPrefix(name, dir); is {
			return short, true
		}
	}
	return "", false
}

// Kargs returns the kernel arguments in one line. It is empty where the image has no areas for them.
func (b *Base) Kargs() string {
	if b.kargs == nil {
		return ""
	}
	return strings.Join(b.kargs.Current, " ")
}
