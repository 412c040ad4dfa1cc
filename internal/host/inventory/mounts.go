//go:build linux

package inventory

import (
	"slices"

	"github.com/oaictl/oaictl/internal/host/mountinfo"
)

// mounts are the mounts of the first process: a container has others. A mount without a source is left out.
func (c Collector) mounts() []mountinfo.Mount {
	content, err := c.files().text("proc/1/mountinfo")
	if err != nil {
		content, err = c.files().text("proc/self/mountinfo")
	}
	if err != nil {
		c.warn("read what is mounted", err)
		return nil
	}
	return slices.DeleteFunc(mountinfo.Parse(content), func(m mountinfo.Mount) bool { return m.Source == "" })
}

// mountPoint is where a device is mounted first, "" if it is not.
func mountPoint(mounts []mountinfo.Mount, name, number string) string {
	for _, m := range mounts {
		if m.Source == "/dev/"+name || number != "" && m.Number == number {
			return m.Point
		}
	}
	return ""
}
