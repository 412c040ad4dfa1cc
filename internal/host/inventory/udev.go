//go:build linux

package inventory

import (
	"strings"
)

// parseUdev reads the properties of a device from a file of /run/udev/data, such as "E:ID_MODEL=QEMU_HARDDISK".
func parseUdev(content string) map[string]string {
	properties := map[string]string{}
	for line := range strings.Lines(content) {
		property, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "E:")
		if !is {
			continue
		}
		if name, value, found := strings.Cut(property, "="); found {
			properties[name] = value
		}
	}
	return properties
}

// udev has the properties of a block device with this number "major:minor". It is empty if udev does not know the device.
func (c Collector) udev(number string) map[string]string {
	if number == "" || strings.Contains(number, "/") {
		return nil
	}
	content, err := c.files().text("run/udev/data/b" + number)
	if err != nil {
		return nil
	}
	return parseUdev(content)
}

// firstOf is the first property that is set.
func firstOf(properties map[string]string, names ...string) string {
	for _, name := range names {
		if value := properties[name]; value != "" {
			return value
		}
	}
	return ""
}
