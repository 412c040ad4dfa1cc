//go:build linux

package inventory

import (
	"slices"
	"strings"
)

// mount is a mounted file system.
type mount struct {
	number string // the device number "major:minor"
	source string // such as /dev/sda1
	point  string
}

// parseMountinfo reads lines such as `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/sda1 rw` (proc_pid_mountinfo(5)).
func parseMountinfo(content string) []mount {
	var mounts []mount
	unescape := strings.NewReplacer(`\011`, "\t", `\012`, "\n", `\040`, " ", `\043`, "#", `\134`, `\`)
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		const beforeDash = 6
		if dash < beforeDash || len(fields) < dash+3 {
			continue
		}
		mounts = append(mounts, mount{
			number: fields[2],
			source: unescape.Replace(fields[dash+2]),
			point:  unescape.Replace(fields[4]),
		})
	}
	return mounts
}

// mounts are the mounts of the first process: a container has others.
func (c Collector) mounts() []mount {
	content, err := c.files().text("proc/1/mountinfo")
	if err != nil {
		content, err = c.files().text("proc/self/mountinfo")
	}
	if err != nil {
		c.warn("read what is mounted", err)
		return nil
	}
	return parseMountinfo(content)
}

// mountPoint is where a device is mounted first, "" if it is not.
func mountPoint(mounts []mount, name, number string) string {
	for _, m := range mounts {
		if m.source == "/dev/"+name || number != "" && m.number == number {
			return m.point
		}
	}
	return ""
}
