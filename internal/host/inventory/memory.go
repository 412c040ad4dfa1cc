//go:build linux

package inventory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// memory says how much memory the machine has, and how much of it the kernel uses, in bytes.
func (c Collector) memory(ctx context.Context) *models.Memory {
	usable, err := c.usableBytes()
	if err != nil {
		c.warn("read the memory that the kernel uses", err)
	}
	memory := &models.Memory{UsableBytes: usable}
	switch installed := c.installedBytes(ctx); {
	case installed > 0:
		memory.PhysicalBytes, memory.PhysicalBytesMethod = installed, models.MemoryMethodDmidecode
	case usable > 0:
		// The service knows this method by the name of the library that the assisted-installer-agent uses for it.
		memory.PhysicalBytes, memory.PhysicalBytesMethod = max(c.onlineBytes(), 0), models.MemoryMethodGhw
		if memory.PhysicalBytes == 0 {
			memory.PhysicalBytes = usable
		}
	}
	return memory
}

// installedBytes adds the sizes of the memory modules that the firmware lists. It is zero if the firmware lists none.
func (c Collector) installedBytes(ctx context.Context) int64 {
	table, err := c.files().text("sys/firmware/dmi/tables/DMI")
	if err == nil {
		var installed int64
		if installed, err = memoryModules([]byte(table)); err == nil {
			return installed
		}
	}
	if !c.Runner.Has("dmidecode") {
		c.warn("read the memory modules of the firmware, and there is no dmidecode", err)
		return 0
	}
	output, err := c.run(ctx, "dmidecode", "-t", "17")
	if err == nil {
		var installed int64
		if installed, err = parseDmidecode(output); err == nil {
			return installed
		}
	}
	c.warn("read the memory modules with dmidecode", err)
	return 0
}

// parseDmidecode adds the sizes in the output of `dmidecode -t 17`, such as "	Size: 16 GB".
func parseDmidecode(output string) (int64, error) {
	var total int64
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "Size:" {
			continue // also "Size: No Module Installed"
		}
		value, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		bytes, err := inUnit(value, fields[2])
		if err != nil {
			return 0, err
		}
		total += bytes
	}
	return total, nil
}

// inUnit is a size in bytes. The units are powers of 1024.
func inUnit(value int64, unit string) (int64, error) {
	const largest = 1 << 60
	for i, known := range []string{"bytes", "kb", "mb", "gb", "tb"} {
		if known != strings.ToLower(unit) {
			continue
		}
		shift := 10 * i
		if value < 0 || value > largest>>shift {
			return 0, fmt.Errorf("the size %d %s is not possible", value, unit)
		}
		return value << shift, nil
	}
	return 0, fmt.Errorf("the unit %q of a size is not known", unit)
}

// onlineBytes adds the blocks of memory that the kernel has. It is zero on machines that do not show them.
func (c Collector) onlineBytes() int64 {
	const folder = "sys/devices/system/memory/"
	size, err := strconv.ParseInt(c.files().word(folder+"block_size_bytes"), 16, 64)
	if err != nil {
		return 0
	}
	var blocks int64
	for _, name := range c.files().names(folder) {
		index, isBlock := strings.CutPrefix(name, "memory")
		if _, err := strconv.ParseUint(index, 10, 64); !isBlock || err != nil {
			continue
		}
		if c.files().word(folder+name+"/state") == "online" {
			blocks++
		}
	}
	return blocks * size
}

// usableBytes reads MemTotal of /proc/meminfo.
func (c Collector) usableBytes() (int64, error) {
	content, err := c.files().text("proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "MemTotal:" {
			continue
		}
		value, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("MemTotal of /proc/meminfo: %w", err)
		}
		return inUnit(value, fields[2])
	}
	return 0, errors.New("/proc/meminfo has no MemTotal")
}
