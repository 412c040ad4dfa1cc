//go:build linux

// Command init is the whole operating system of the live image that the boot
// tests make: it reports on the second serial port what it was booted with, and
// switches the machine off.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reportPort is the serial port of the report. The kernel writes to the first one.
const reportPort = "/dev/ttyS1"

func main() {
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		_ = os.MkdirAll(m.at, 0o755) // if it cannot be made, mounting says so
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			fmt.Println(m.at, err)
		}
	}
	port, err := os.OpenFile(reportPort, os.O_WRONLY, 0)
	if err != nil {
		fmt.Println(err)
	}
	tell := func(key string, value any) { _, _ = fmt.Fprintf(port, "%s %v\r\n", key, value) }

	cmdline, _ := os.ReadFile("/proc/cmdline") // empty says as much
	tell("cmdline", strings.TrimSpace(string(cmdline)))
	for _, path := range embedded() {
		data, err := os.ReadFile(path)
		if err != nil {
			tell("error", err)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			tell("error", err)
			continue
		}
		tell("file", fmt.Sprintf("%s %04o %x", path, info.Mode().Perm(), sha256.Sum256(data)))
	}
	loadModules()
	if label := liveLabel(string(cmdline)); label != "" {
		tell("live", liveMedia(label))
	}
	tell("end", "ok")
	time.Sleep(200 * time.Millisecond) // until the port has sent it
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

// embedded are the files that an image of a machine brings with it.
func embedded() []string {
	files := []string{}
	for _, root := range []string{"/config.ign", "/etc/coreos-firstboot-network", "/usr/lib/ignition"} {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files = append(files, path)
			}
			return nil
		})
	}
	return files
}

// loadModules loads what there is, in rounds, until a round loads nothing more: so the dependencies of modules need not
// be known.
func loadModules() {
	left, _ := filepath.Glob("/mods/*.ko") // the pattern is right
	for progress := true; progress; {
		progress = false
		var failed []string
		for _, path := range left {
			f, err := os.Open(path)
			if err != nil {
				continue
			}
			if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil {
				failed = append(failed, path)
			} else {
				progress = true
			}
			_ = f.Close()
		}
		left = failed
	}
}

func liveLabel(cmdline string) string {
	for _, word := range strings.Fields(cmdline) {
		if label, ok := strings.CutPrefix(word, "coreos.liveiso="); ok {
			return label
		}
	}
	return ""
}

// liveMedia looks for the medium of a label, mounts it and says what stands in
// its file "marker".
func liveMedia(label string) string {
	for range 100 {
		devices, _ := filepath.Glob("/sys/block/*") // the pattern is right
		for _, device := range devices {
			path := "/dev/" + filepath.Base(device)
			if volume(path) != label {
				continue
			}
			_ = os.MkdirAll("/live", 0o755) // if it cannot be made, mounting says so
			if err := unix.Mount(path, "/live", "iso9660", unix.MS_RDONLY, ""); err != nil {
				return "cannot mount " + path + ": " + err.Error()
			}
			marker, err := os.ReadFile("/live/marker")
			if err != nil {
				return err.Error()
			}
			return strings.TrimSpace(string(marker))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "no medium " + label
}

// volume is the label of the ISO 9660 file system on a device, "" if it has none.
func volume(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	descriptor := make([]byte, 2048)
	if _, err := f.ReadAt(descriptor, 16*2048); err != nil || !bytes.HasPrefix(descriptor, []byte("\x01CD001")) {
		return ""
	}
	return strings.TrimRight(string(descriptor[40:72]), " ")
}
