//go:build e2e

package boot

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long an emulated machine may take to report.
const patience = 3 * time.Minute

// report is what a booted machine reports about itself.
type report struct {
	cmdline string
	live    string            // the marker of the live medium, or why it was not found
	files   map[string]string // path → "mode sha256"
	errors  []string
}

// way is one of the ways in which firmware boots.
type way string

const (
	biosCD   way = "bios-cd"
	biosDisk way = "bios-disk"
	uefiCD   way = "uefi-cd"
	uefiDisk way = "uefi-disk"
)

func allWays() []way { return []way{biosCD, biosDisk, uefiCD, uefiDisk} }

// start is the arguments of a machine that boots the image in that way.
func (w way) start(t *testing.T, image string) []string {
	t.Helper()
	medium := []string{"-drive", "file=" + image + ",format=raw,if=ide,media=cdrom,readonly=on"}
	if w == biosDisk || w == uefiDisk {
		medium = []string{"-drive", "file=" + image + ",format=raw,if=ide,snapshot=on"}
	}
	args := append([]string{"-net", "none"}, medium...)
	if w == uefiCD || w == uefiDisk {
		args = append(args, uefi(t)...)
	}
	return args
}

// uefi is firmware with variables of its own.
func uefi(t *testing.T) []string {
	t.Helper()
	variables := filepath.Join(t.TempDir(), "vars.fd")
	write(t, variables, read(t, "/usr/share/OVMF/OVMF_VARS_4M.fd"))
	return []string{
		"-drive", "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
		"-drive", "if=pflash,format=raw,unit=1,file=" + variables,
	}
}

// boot switches a machine on and returns what it reports.
func boot(t *testing.T, args ...string) report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// KVM is not to be had everywhere, and where it is nested it may hang.
	// The report has the second serial port to itself: on the console the kernel writes between its bytes.
	reported := filepath.Join(t.TempDir(), "report")
	args = append([]string{
		"-accel", "tcg", "-m", "768", "-display", "none", "-serial", "stdio", "-serial", "file:" + reported, "-monitor", "none", "-no-reboot",
	}, args...)
	machine := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	var console, trouble bytes.Buffer
	machine.Stdout, machine.Stderr = &console, &trouble
	err := machine.Run()
	told, whole := parse(string(read(t, reported)))
	if !whole {
		t.Fatalf("%s\n%v\n%s\nthe console says:\n%s", strings.Join(machine.Args, " "), err, trouble.String(), tail(console.String(), 4000))
	}
	return told
}

// parse reads a report; whole is false if it does not come to its end.
func parse(text string) (r report, whole bool) {
	r.files = map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "cmdline":
			r.cmdline = value
		case "live":
			r.live = value
		case "error":
			r.errors = append(r.errors, value)
		case "file":
			path, rest, _ := strings.Cut(value, " ")
			r.files[path] = rest
		case "end":
			whole = true
		}
	}
	return r, whole
}

func tail(text string, most int) string { return text[max(0, len(text)-most):] }
