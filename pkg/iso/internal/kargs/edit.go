package kargs

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
)

// Edit is a wish for kernel arguments. Its parts are carried out in the order
// reset, delete, replace, append.
type Edit struct {
	// Append adds arguments at the end, each one argument.
	Append []string
	// Delete takes arguments out, given whole, wherever they stand.
	Delete []string
	// Replace changes arguments where they stand.
	Replace []Replacement
	// Reset begins with the image's default arguments instead of the current ones.
	Reset bool
}

// IsZero reports whether the edit changes nothing.
func (e Edit) IsZero() bool {
	return len(e.Append) == 0 && len(e.Delete) == 0 && len(e.Replace) == 0 && !e.Reset
}

// Replacement puts one whole argument in the place of another.
type Replacement struct{ Old, New string }

// Patch is bytes to be written into the image.
type Patch = iso9660.Patch

// Apply works out the new arguments and the bytes that bring them into the image:
// the whole area of every file, or none where nothing changes. Warnings speak of
// arguments that are likely to do harm.
func (a *Area) Apply(edit Edit) (args string, patches []Patch, warnings []string, err error) {
	if len(a.Damage) > 0 && !edit.Reset {
		return "", nil, nil, fmt.Errorf("edit the kernel arguments: %s; resetting them to the image's defaults cures that", a.Damage[0])
	}
	words, err := a.edited(edit)
	if err != nil {
		return "", nil, nil, fmt.Errorf("edit the kernel arguments: %w", err)
	}
	args = strings.Join(words, " ")
	if len(args) > a.Limit {
		return "", nil, nil, fmt.Errorf("edit the kernel arguments: they take %d bytes, %d more than the image holds (%d)",
			len(args), len(args)-a.Limit, a.Limit)
	}
	if len(a.Damage) > 0 || !slices.Equal(words, a.Current) {
		for _, f := range a.Files {
			patches = append(patches, Patch{Offset: f.Offset, Data: f.filled(args)})
		}
	}
	return args, patches, a.warn(words), nil
}

func (a *Area) edited(edit Edit) ([]string, error) {
	words := slices.Clone(a.Current)
	if edit.Reset {
		if len(a.Default) == 0 {
			return nil, errors.New("the image does not say what its defaults are")
		}
		words = slices.Clone(a.Default)
	}
	for _, old := range edit.Delete {
		if !slices.Contains(words, old) {
			return nil, missing("delete", old, words)
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == old })
	}
	for _, r := range edit.Replace {
		if !slices.Contains(words, r.Old) {
			return nil, missing("replace", r.Old, words)
		}
		if err := checkArgument(r.New); err != nil {
			return nil, err
		}
		for i, w := range words {
			if w == r.Old {
				words[i] = r.New
			}
		}
	}
	for _, add := range edit.Append {
		if err := checkArgument(add); err != nil {
			return nil, err
		}
		words = append(words, add)
	}
	return words, nil
}

// missing names arguments of the same key: what was meant is likely among them.
func missing(verb, argument string, words []string) error {
	key, _, _ := strings.Cut(argument, "=")
	var near []string
	for _, w := range words {
		if k, _, _ := strings.Cut(w, "="); k == key {
			near = append(near, w)
		}
	}
	if len(near) > 0 {
		return fmt.Errorf("%s %q: there is no such argument, but %s", verb, argument, strings.Join(near, " "))
	}
	return fmt.Errorf("%s %q: there is no such argument", verb, argument)
}

// checkArgument refuses what would not reach the kernel as one argument.
func checkArgument(argument string) error {
	if argument == "" {
		return errors.New("an argument is empty")
	}
	for _, c := range []byte(argument) {
		if !printable(c) {
			return fmt.Errorf("argument %q: only printable ASCII reaches the kernel", argument)
		}
	}
	switch {
	case strings.Count(argument, `"`)%2 != 0:
		return fmt.Errorf("argument %q: a quote is not closed", argument)
	case len(split(argument)) != 1 || strings.TrimSpace(argument) != argument:
		return fmt.Errorf("argument %q: a space separates arguments; give each separately, or quote the value", argument)
	case argument[0] == '#':
		return fmt.Errorf("argument %q: boot loaders take it for a comment", argument)
	}
	return nil
}

// serialConsole is a serial line with a driver that wants a speed; without one it takes 9600 baud, at which a machine
// that prints its boot seems to hang.
var serialConsole = regexp.MustCompile(`^console=tty(S|AMA|USB)[0-9]+$`)

// liveRoot are the arguments by which a live system finds its root; it needs one of them.
var liveRoot = []string{"coreos.liveiso", "coreos.live.rootfs_url"}

// warn speaks of arguments that were not there before and likely do harm, and of
// defaults that the live system needs and that are gone.
func (a *Area) warn(words []string) []string {
	var warnings []string
	grub := slices.ContainsFunc(a.Files, func(f File) bool { return path.Base(f.Path) == "grub.cfg" })
	mainframe := slices.ContainsFunc(a.Files, func(f File) bool { return path.Base(f.Path) == "cdboot.img" })
	for _, w := range words {
		if slices.Contains(a.Current, w) {
			continue
		}
		if serialConsole.MatchString(w) && !mainframe {
			warnings = append(warnings,
				fmt.Sprintf("%s says no baud rate: a serial console of another speed than 9600 stays unreadable; write %s,115200n8 or what it has", w,
					w))
		}
		if grub && strings.ContainsAny(w, ";&|<>{}$'\\") {
			warnings = append(warnings,
				fmt.Sprintf("%s holds characters that GRUB takes for its own (; & | < > { } $ ' \\): the kernel will see something else", w))
		}
	}
	return append(warnings, a.lost(words)...)
}

// lost names what the image was built with and the live system does not do without.
func (a *Area) lost(words []string) []string {
	var warnings []string
	if hasKey(a.Default, liveRoot...) && !hasKey(words, liveRoot...) {
		warnings = append(warnings, fmt.Sprintf("neither %s is left: the live system will not find its root file system",
			strings.Join(liveRoot, " nor ")))
	}
	for _, key := range []string{"ignition.firstboot", "ignition.platform.id"} {
		if hasKey(a.Default, key) && !hasKey(words, key) {
			warnings = append(warnings, key+" is gone: the live system will not run its Ignition")
		}
	}
	return warnings
}

func hasKey(words []string, keys ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		key, _, _ := strings.Cut(w, "=")
		return slices.Contains(keys, key)
	})
}
