package iso

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/embed"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// Keyfile is a NetworkManager connection profile.
type Keyfile = nmstate.Keyfile

type contents struct {
	members     []embed.Member
	compression string
	used        int64 // bytes of the area up to the last that is not zero
}

func (c contents) find(name string) ([]byte, bool) {
	i := slices.IndexFunc(c.members, func(m embed.Member) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return c.members[i].Data, true
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

// readArchive returns the bytes of the area without the zeros behind them.
func (b *Base) readArchive() ([]byte, error) {
	data := make([]byte, b.area.length)
	if _, err := b.image.ReadAt(data, b.area.offset); err != nil {
		return nil, fmt.Errorf("%s: %w", b.area.place(), err)
	}
	return bytes.TrimRight(data, "\x00"), nil
}

func (b *Base) readContents() (contents, error) {
	data, err := b.readArchive()
	if err != nil || len(data) == 0 {
		return contents{}, err
	}
	// An uncompressed archive is padded with zeros that belong to it.
	padded := append(data, make([]byte, min(512, b.area.length-int64(len(data))))...)
	members, compression, err := embed.Unpack(padded)
	if err != nil {
		return contents{used: int64(len(data))}, fmt.Errorf("%s: %w", b.area.place(), err)
	}
	return contents{members: members, compression: compression, used: int64(len(data))}, nil
}

// Ignition returns the config that the image carries, nil where it carries none.
func (b *Base) Ignition() ([]byte, error) {
	held, err := b.contents()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	config, _ := held.find(configMember)
	return config, nil
}

// Keyfiles returns the network profiles that the live system finds in the image.
func (b *Base) Keyfiles() ([]Keyfile, error) {
	held, err := b.contents()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	var keyfiles []Keyfile
	for _, m := range held.members {
		if strings.HasPrefix(m.Name, keyfileDir) {
			keyfiles = append(keyfiles, Keyfile{Name: path.Base(m.Name), Content: m.Data})
		}
	}
	return keyfiles, nil
}

// Kargs returns the kernel arguments in one line. It is empty where the image has no areas for them.
func (b *Base) Kargs() string {
	if b.kargs == nil {
		return ""
	}
	return strings.Join(b.kargs.Current, " ")
}
