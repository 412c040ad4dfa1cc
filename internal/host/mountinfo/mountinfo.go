// Package mountinfo reads /proc/<pid>/mountinfo (proc_pid_mountinfo(5)).
package mountinfo

import (
	"slices"
	"strconv"
	"strings"
)

// Mount is a mounted file system.
type Mount struct {
	Number string // the device number "major:minor"; btrfs has one that is not the device's
	Point  string // the folder
	Source string // such as /dev/sda1, "" if the line does not have it
}

// Parse reads lines such as `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/sda1 rw`. It leaves out a line without a mount
// point.
func Parse(content string) []Mount {
	// A line has optional fields from optional on. A dash ends them.
	const number, point, optional, afterDash = 2, 4, 6, 2
	var mounts []Mount
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) <= point {
			continue
		}
		mount := Mount{Number: fields[number], Point: Unescape(fields[point])}
		if len(fields) > optional {
			rest := fields[optional:]
			if dash := slices.Index(rest, "-"); dash >= 0 && len(rest) > dash+afterDash {
				mount.Source = Unescape(rest[dash+afterDash])
			}
		}
		mounts = append(mounts, mount)
	}
	return mounts
}

// Unescape replaces what the kernel writes for white space and backslashes in files of /proc: \040 for a space.
func Unescape(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		if text[0] == '\\' && len(text) >= 4 {
			if code, err := strconv.ParseUint(text[1:4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				text = text[4:]
				continue
			}
		}
		out.WriteByte(text[0])
		text = text[1:]
	}
	return out.String()
}
