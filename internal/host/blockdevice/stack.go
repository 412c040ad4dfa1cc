//go:build linux

package blockdevice

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a block device on top of another.
type Kind string

// Kinds of holders.
const (
	LVM       Kind = "logical volume"
	Multipath Kind = "multipath device"
	Mapped    Kind = "device mapper device" // another device of the device mapper, such as one of LUKS or kpartx
	RAID      Kind = "md array"
	Other     Kind = "block device" // such as one of bcache
)

// Holder is a block device that stands on a disk or its partitions, directly or through other holders.
type Holder struct {
	Kernel string // the kernel's name, such as dm-0 or md127
	Kind   Kind
	Name   string // the name of the device mapper; "" if the kind is RAID or Other
	UUID   string // the UUID of the device mapper
	Level  string // the level of an array, such as raid1
	// Within is the kernel's name of the container that an array's metadata are in, "" if it has its own.
	Within string
	// Others are the kernel's names of block devices below it that are not on the disk.
	Others []string
}

// Container is the level of an array that has only the metadata of other arrays.
const Container = "container"

// last is 1 for what is removed after all else.
func (h Holder) last() int {
	if h.Level == Container {
		return 1
	}
	return 0
}

// Extent is a partition of a disk as the kernel knows it.
type Extent struct {
	Kernel        string // such as sda1
	Number        int
	Offset, Bytes int64
}

// Stack is what stands on a disk.
type Stack struct {
	Partitions []Extent
	// Holders has no holder before one that stands on it: this is the order in which they can be removed.
	Holders []Holder
}

// Stack reads what stands on a disk. It is empty for a file.
func (d Disks) Stack(id Identity) (Stack, error) {
	if id.File {
		return Stack{}, nil
	}
	start, err := d.tree(id.Number)
	if err != nil {
		return Stack{}, fmt.Errorf("find out what stands on %q: %w", id.Path, err)
	}
	var s stacked
	s.within = map[string]bool{}
	if err := s.visit(start); err != nil {
		return Stack{}, fmt.Errorf("find out what stands on %q: %w", id.Path, err)
	}
	partitions, err := start.partitions()
	if err != nil {
		return Stack{}, fmt.Errorf("read the partitions of %q: %w", id.Path, err)
	}
	var stack Stack
	for _, part := range partitions {
		extent, err := part.extent()
		if err != nil {
			return Stack{}, fmt.Errorf("read the partitions of %q: %w", id.Path, err)
		}
		stack.Partitions = append(stack.Partitions, extent)
	}
	slices.SortFunc(stack.Partitions, func(a, b Extent) int { return a.Number - b.Number })
	for _, tree := range s.order {
		holder, err := tree.holder(s.within)
		if err != nil {
			return Stack{}, fmt.Errorf("find out what stands on %q: %w", id.Path, err)
		}
		stack.Holders = append(stack.Holders, holder)
	}
	// An array and the container that has its metadata stand beside each other in sysfs. The container ends last.
	slices.SortStableFunc(stack.Holders, func(a, b Holder) int { return a.last() - b.last() })
	return stack, nil
}

// stacked collects holders from the top down.
type stacked struct {
	order  []tree
	within map[string]bool // the kernel's names of all that was visited
}

// visit adds what stands on t before t itself. The disk and its partitions are not holders.
func (s *stacked) visit(t tree) error {
	if s.within[t.name()] {
		return nil
	}
	s.within[t.name()] = true
	partitions, err := t.partitions()
	if err != nil {
		return err
	}
	holders, err := t.list("holders")
	if err != nil {
		return err
	}
	for _, part := range partitions {
		s.within[part.name()] = true
		more, err := part.list("holders")
		if err != nil {
			return err
		}
		holders = append(holders, more...)
	}
	for _, holder := range holders {
		known := s.within[holder.name()]
		if err := s.visit(holder); err != nil {
			return err
		}
		if !known {
			s.order = append(s.order, holder)
		}
	}
	return nil
}

func (t tree) name() string { return filepath.Base(t.folder) }

func (t tree) extent() (Extent, error) {
	number, err := strconv.Atoi(t.first("partition"))
	if err != nil {
		return Extent{}, fmt.Errorf("the number of %s: %w", t.name(), err)
	}
	start, err := strconv.ParseInt(t.first("start"), 10, 64)
	if err != nil {
		return Extent{}, fmt.Errorf("the start of %s: %w", t.name(), err)
	}
	size, err := t.size()
	if err != nil {
		return Extent{}, fmt.Errorf("%s: %w", t.name(), err)
	}
	return Extent{Kernel: t.name(), Number: number, Offset: start * sectorSize, Bytes: size}, nil
}

// holder describes a holder. Within has the names of all that is on the disk.
func (t tree) holder(within map[string]bool) (Holder, error) {
	h := Holder{Kernel: t.name(), Kind: Other, Name: t.first("dm/name"), UUID: t.first("dm/uuid")}
	switch {
	case t.has("md"):
		h.Kind, h.Level = RAID, t.first("md/level")
		metadata := t.first("md/metadata_version") // external:/md127/0 in an array, external:imsm in a container
		if rest, is := strings.CutPrefix(metadata, "external:"); is {
			volume := strings.TrimLeft(rest, "/-")
			if volume == rest {
				h.Level = Container
			} else {
				h.Within, _, _ = strings.Cut(volume, "/")
			}
		}
	case strings.HasPrefix(h.UUID, "LVM-"):
		h.Kind = LVM
	case strings.HasPrefix(h.UUID, "mpath-"):
		h.Kind = Multipath
	case t.has("dm"):
		h.Kind = Mapped
	}
	slaves, err := t.list("slaves")
	if err != nil {
		return Holder{}, err
	}
	for _, slave := range slaves {
		if !within[slave.name()] {
			h.Others = append(h.Others, slave.name())
		}
	}
	return h, nil
}
