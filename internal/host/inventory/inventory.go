//go:build linux

// Package inventory describes the machine to the assisted-service: processors, memory, disks, network, firmware. It only
// looks: it reads sysfs, procfs, udev's data and netlink, and runs programs that change nothing.
//
// A part that cannot be read is logged and left empty. The service judges what it gets.
//
// The answer is the one that the assisted-installer-agent gives for the same machine, but for these fields:
//
//   - disks[].installation_eligibility and is_installation_media: a stick with the image of a CD that is mounted as a whole
//     is a medium, and a partition counts as mounted under each name of its device;
//   - disks[].path: also devices with a folder in their name, such as /dev/cciss/c0d0;
//   - disks[].iscsi: also for sessions of adapters on the PCI bus;
//   - gpus: also if the system has no pci.ids; then vendor and name are "unknown";
//   - cpu, disks[].has_uuid and system_vendor.virtual: if lscpu, sg_inq or systemd-detect-virt is missing, they are read from
//     the kernel instead of left empty.
package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Collector reads the inventory of a machine.
type Collector struct {
	// Root is a folder that has proc, sys, run, dev and usr. "" is the machine itself. In a container it is MachineRoot.
	Root string
	// Runner runs the programs for what the kernel does not show in files.
	Runner machine.Runner
	// Network has the interfaces and routes. Nil means those of the network namespace that this process is in.
	Network Network
	// Log gets a warning for each part that cannot be read. Nil means no log.
	Log *slog.Logger
}

// Collect reads the whole inventory. What cannot be read is left empty.
func (c Collector) Collect(ctx context.Context) *models.Inventory {
	links := c.links()
	routes := c.kernelRoutes()
	inventory := &models.Inventory{
		BmcAddress:   c.bmcAddress(ctx),
		BmcV6address: c.bmcV6Address(ctx),
		Boot:         c.boot(),
		CPU:          c.cpu(ctx),
		Disks:        c.disks(ctx),
		Gpus:         c.gpus(),
		Hostname:     c.files().word("proc/sys/kernel/hostname"),
		Interfaces:   c.interfaces(ctx, links, routes),
		Memory:       c.memory(ctx),
		Routes:       modelRoutes(routes),
		SystemVendor: c.systemVendor(ctx),
		TpmVersion:   c.tpmVersion(),
	}
	inventory.Hostname = c.usableHostname(inventory.Hostname, inventory.Interfaces)
	return inventory
}

// Execute answers the step "inventory". The step has no arguments that matter.
func (c Collector) Execute(ctx context.Context, _ []string) (exitCode int, stdout, stderr string) {
	content, err := json.Marshal(c.Collect(ctx))
	if err != nil {
		return 1, "", fmt.Sprintf("write the inventory as JSON: %v", err)
	}
	return 0, string(content), ""
}

// Run is the program "inventory". It prints the inventory as JSON.
func (c Collector) Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("inventory", flag.ContinueOnError)
	flags.SetOutput(out)
	for _, ignored := range []string{"with-journal-logging", "with-text-logging", "with-stdout-logging"} {
		flags.Bool(ignored, false, "has no effect; accepted for scripts that pass it to the program of the assisted-installer-agent")
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the arguments of inventory: %w", err)
	}
	code, stdout, stderr := c.Execute(ctx, flags.Args())
	if code != 0 {
		return errors.New(stderr)
	}
	_, err := io.WriteString(out, stdout)
	return err
}

const (
	// programLimit is how long a program may take: what it asks may not answer, such as a broken disk or BMC.
	programLimit = 20 * time.Second
	// outputLimit is how many bytes of a program's output are read.
	outputLimit = 1 << 20
)

// run gives the standard output of a program.
func (c Collector) run(ctx context.Context, name string, args ...string) (string, error) {
	result, err := c.Runner.Run(ctx, machine.Command{
		Name: name, Args: args, Env: []string{"LC_ALL=C"}, Timeout: programLimit, Limit: outputLimit,
	})
	return string(result.Stdout), err
}

func (c Collector) logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// warn logs that a part of the inventory cannot be read.
func (c Collector) warn(what string, err error) {
	c.logger().Warn("inventory: cannot "+what, "error", escape.Word(err.Error()))
}

func (c Collector) files() tree { return tree{c.Root} }
