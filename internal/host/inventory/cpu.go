//go:build linux

package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/assisted-service/models"
	"golang.org/x/sys/unix"
)

// cpu describes the processors.
func (c Collector) cpu(ctx context.Context) *models.CPU {
	output, err := c.run(ctx, "lscpu", "-J")
	if err == nil {
		var cpu *models.CPU
		if cpu, err = parseLscpu([]byte(output)); err == nil {
			return cpu
		}
	}
	c.warn("read the processors with lscpu; /proc/cpuinfo is read instead", err)
	content, err := c.files().text("proc/cpuinfo")
	if err != nil {
		c.warn("read the processors", err)
		return &models.CPU{}
	}
	cpu := parseCPUInfo(content, firstText(c.files().word("proc/sys/kernel/arch"), machineName()))
	cpu.Frequency = c.frequency()
	return cpu
}

// frequency is the highest of all processors in MHz, zero if the kernel does not know it.
func (c Collector) frequency() float64 {
	const folder, kilohertz = "sys/devices/system/cpu/", 1000
	var highest int64
	for _, name := range c.files().names(folder) {
		highest = max(highest, number(c.files().word(folder+name+"/cpufreq/cpuinfo_max_freq")))
	}
	return float64(highest) / kilohertz
}

// machineName is the kernel's name of the processors' architecture, such as x86_64, for kernels without /proc/sys/kernel/arch.
func machineName() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Machine[:])
}

// lscpuField is a line of `lscpu -J`. Newer releases nest what belongs to a processor model below its vendor.
type lscpuField struct {
	Field    string       `json:"field"`
	Data     string       `json:"data"`
	Children []lscpuField `json:"children"`
}

// parseLscpu reads the output of `lscpu -J`.
func parseLscpu(output []byte) (*models.CPU, error) {
	var parsed struct {
		Lscpu []lscpuField `json:"lscpu"`
	}
	if err := json.Unmarshal(output, &parsed); err != nil {
		return nil, fmt.Errorf("read the output of lscpu: %w", err)
	}
	if len(parsed.Lscpu) == 0 {
		return nil, errors.New("read the output of lscpu: it has no fields")
	}
	cpu := &models.CPU{}
	addFields(cpu, parsed.Lscpu)
	return cpu, nil
}

func addFields(cpu *models.CPU, fields []lscpuField) {
	for _, f := range fields {
		switch strings.TrimSuffix(f.Field, ":") {
		case "Architecture":
			cpu.Architecture = f.Data
		case "Model name", "Machine type":
			cpu.ModelName = f.Data
		case "CPU(s)":
			cpu.Count = number(f.Data)
		case "CPU MHz", "CPU max MHz", "CPU static MHz":
			if frequency, err := strconv.ParseFloat(f.Data, 64); err == nil {
				cpu.Frequency = max(cpu.Frequency, frequency)
			}
		case "Flags":
			cpu.Flags = strings.Fields(f.Data)
		}
		addFields(cpu, f.Children)
	}
}

// parseCPUInfo reads /proc/cpuinfo of x86 and Arm.
func parseCPUInfo(content, architecture string) *models.CPU {
	cpu := &models.CPU{Architecture: architecture}
	for line := range strings.Lines(content) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "processor":
			cpu.Count++
		case "model name":
			cpu.ModelName = value
		case "flags", "Features":
			cpu.Flags = strings.Fields(value)
		}
	}
	return cpu
}

// hasHypervisorFlag reports whether the processors say that they are virtual.
func (c Collector) hasHypervisorFlag() bool {
	content, err := c.files().text("proc/cpuinfo")
	return err == nil && slices.Contains(parseCPUInfo(content, "").Flags, "hypervisor")
}

// number is a decimal number that is not negative, zero if text is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
