//go:build linux

package inventory

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// bmcChannels is how many channels of a BMC may have an address.
	bmcChannels = 12

	// bmcLimit is how long all channels may take together: ipmitool waits for a BMC that does not answer.
	bmcLimit = 90 * time.Second

	noBMC   = "0.0.0.0"
	noBMCv6 = "::/0"
)

// hasBMC reports whether the kernel has a device that speaks to a BMC. Without one, ipmitool only fails, 36 times.
func (c Collector) hasBMC() bool {
	return slices.ContainsFunc([]string{"dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0"}, c.files().exists)
}

// bmcAddress is the IPv4 address of the BMC, 0.0.0.0 if there is none.
func (c Collector) bmcAddress(ctx context.Context) string {
	if !c.hasBMC() {
		return noBMC
	}
	ctx, cancel := context.WithTimeout(ctx, bmcLimit)
	defer cancel()
	for channel := 1; channel <= bmcChannels && ctx.Err() == nil; channel++ {
		output, err := c.run(ctx, "ipmitool", "lan", "print", strconv.Itoa(channel))
		if err != nil {
			continue
		}
		if address := parseLan(output); address != "" {
			return address
		}
	}
	return noBMC
}

// parseLan finds the address in the output of `ipmitool lan print`, "" if none is set.
func parseLan(output string) string {
	for line := range strings.Lines(output) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "IP Address" {
			continue
		}
		address, err := netip.ParseAddr(strings.TrimSpace(value))
		if err != nil || address.Zone() != "" || address.IsUnspecified() {
			return ""
		}
		return address.String()
	}
	return ""
}

// bmcV6Address is the IPv6 address of the BMC, ::/0 if there is none.
func (c Collector) bmcV6Address(ctx context.Context) string {
	if !c.hasBMC() {
		return noBMCv6
	}
	ctx, cancel := context.WithTimeout(ctx, bmcLimit)
	defer cancel()
	for channel := 1; channel <= bmcChannels && ctx.Err() == nil; channel++ {
		number := strconv.Itoa(channel)
		enabled, err := c.run(ctx, "ipmitool", "lan6", "print", number, "enables")
		if err != nil || !usesIPv6(enabled) {
			continue
		}
		for _, kind := range []string{"dynamic_addr", "static_addr"} {
			output, err := c.run(ctx, "ipmitool", "lan6", "print", number, kind)
			if err != nil {
				continue
			}
			if address := parseLan6(output); address != "" {
				return address
			}
		}
	}
	return noBMCv6
}

// usesIPv6 reads the output of `ipmitool lan6 print N enables`.
func usesIPv6(output string) bool {
	for line := range strings.Lines(output) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "IPv6/IPv4 Addressing Enables" {
			value = strings.TrimSpace(value)
			return value == "both" || value == "ipv6"
		}
	}
	return false
}

// parseLan6 finds the first address in use in the output of `ipmitool lan6 print N dynamic_addr` or static_addr:
//
//	IPv6 Static Address 0:
//	    Enabled:        yes
//	    Address:        2001:db8::1/64
//	    Status:         active
func parseLan6(output string) string {
	fields := map[string]string{}
	for line := range strings.Lines(output + "\nend:\n") {
		name, value, found := strings.Cut(strings.TrimRight(line, " \t\r\n"), ":")
		if !found {
			continue
		}
		if isSection := name == strings.TrimLeft(name, " \t"); isSection {
			if address := addressOf(fields); address != "" {
				return address
			}
			fields = map[string]string{}
			continue
		}
		fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return ""
}

// addressOf is the address of a section of `ipmitool lan6 print`, "" if it is not in use.
func addressOf(fields map[string]string) string {
	source, dynamic := fields["Source/Type"]
	enabled := fields["Enabled"] == "yes"
	if dynamic {
		enabled = source == "DHCPv6" || source == "SLAAC"
	}
	if !enabled || fields["Status"] != "active" {
		return ""
	}
	prefix, err := netip.ParsePrefix(fields["Address"])
	if err != nil || prefix.Addr().IsUnspecified() {
		return ""
	}
	return prefix.Addr().String()
}
