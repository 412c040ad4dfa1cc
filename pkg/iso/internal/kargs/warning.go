package kargs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// serialConsole is a serial line of which the driver wants a speed; without one
// it takes 9600 baud, at which a machine that prints its boot seems to hang.
var serialConsole = regexp.MustCompile(`^console=tty(S|AMA|USB)[0-9]+$`)

// liveRoot are the arguments by one of which a live system finds its root.
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
			warnings = append(warnings, fmt.Sprintf("%s says no baud rate: a serial console of another speed than 9600 stays unreadable; write %s,115200n8 or what it has", w, w))
		}
		if grub && strings.ContainsAny(w, ";&|<>{}$'\\") {
			warnings = append(warnings, fmt.Sprintf("%s holds characters that GRUB takes for its own (; & | < > { } $ ' \\): the kernel will see something else", w))
		}
	}
	return append(warnings, a.lost(words)...)
}

// lost names what the image was built with and the live system does not do without.
func (a *Area) lost(words []string) []string {
	var warnings []string
	if hasKey(a.Default, liveRoot...) && !hasKey(words, liveRoot...) {
		warnings = append(warnings, fmt.Sprintf("neither %s is left: the live system will not find its root file system", strings.Join(liveRoot, " nor ")))
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
