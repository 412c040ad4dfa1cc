//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"sync"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/agent"
	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/diskspeed"
	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/inventory"
	"github.com/oaictl/oaictl/internal/host/logs"
	"github.com/oaictl/oaictl/internal/host/network"
	"github.com/oaictl/oaictl/internal/host/service"
)

const agentLog = "/var/log/agent.log"

// The memory of the agent: a live system keeps its files in memory, too. The collector of garbage works more often for it.
const (
	agentMemory  = 16 << 20 // bytes from which on it works harder
	agentGarbage = 40       // percent of the memory in use
	// installGarbage is Go's own, for an agent that installs the machine.
	installGarbage = 100
)

// runAgent is agent and next_step_runner.
func runAgent(ctx context.Context, c call) int {
	debug.SetMemoryLimit(agentMemory)
	debug.SetGCPercent(agentGarbage)
	options, err := agent.ParseFlags(c.name, c.args, c.env, c.errors)
	if err != nil {
		return agent.ExitCode(err)
	}
	log, done := c.log(agentLog)
	defer done()
	client, err := service.New(service.Config{
		URL: options.URL, CACertFile: options.CACertFile, Insecure: options.Insecure, Token: options.Token, AgentVersion: options.Version,
		Proxy: http.ProxyFromEnvironment, Log: log, Clock: realClock(),
	})
	if err != nil {
		log.Error("the agent cannot start", "error", err)
		return 1
	}
	host := c.host()
	collector := inventory.Collector{Root: inventory.MachineRoot(), Runner: host, Log: log}
	a := agent.Agent{
		Options: options, Service: client, Identity: identity{collector}, Runner: host, Clock: realClock(), Log: log,
		Executors: map[models.StepType]agent.Executor{
			models.StepTypeInventory:                  step{collector},
			models.StepTypeInstallationDiskSpeedCheck: step{c.diskSpeed()},
		},
	}
	for kind, executor := range network.Steps(network.Options{Runner: host, Clock: realClock(), Log: log}) {
		a.Executors[kind] = step{executor}
	}
	install := &agent.Install{
		Options: options, Runner: host, Own: ownInstaller{c}, Clock: realClock(), Log: log,
		Status: func(ctx context.Context, infraEnv, id strfmt.UUID) (string, error) {
			found, err := client.Host(ctx, infraEnv, id)
			if err != nil || found.Status == nil {
				return "", err
			}
			return *found.Status, nil
		},
	}
	for kind, executor := range map[models.StepType]agent.Executor{
		models.StepTypeInstall:               install,
		models.StepTypeStopInstallation:      install.Stop(),
		models.StepTypeLogsGather:            &agent.Logs{Options: options, Runner: host, Own: ownLogSender{c}, Log: log},
		models.StepTypeUpgradeAgent:          &agent.Upgrade{Runner: host, Log: log},
		models.StepTypeDownloadBootArtifacts: &agent.Artifacts{Runner: host, Downloader: client, Clock: realClock(), Log: log},
		models.StepTypeRebootForReclaim:      &agent.Reclaim{Runner: host, Log: log},
	} {
		a.Executors[kind] = executor
	}
	work := a.Run
	if c.name == "next_step_runner" {
		work = a.RunSteps
	}
	var resumed sync.WaitGroup
	defer resumed.Wait()
	resumed.Go(func() { install.Resume(ctx) })
	if err := work(ctx); err != nil && ctx.Err() == nil {
		log.Error("the agent ends", "error", err)
		return agent.ExitCode(err)
	}
	return 0
}

// identity finds the id of this host.
type identity struct{ collector inventory.Collector }

// HostID implements agent.Identity.
func (i identity) HostID(context.Context) (strfmt.UUID, error) {
	return strfmt.UUID(i.collector.HostID()), nil
}

// step is a step of a package that does not know the agent.
type step struct{ network.Executor }

// Execute implements agent.Executor.
func (s step) Execute(ctx context.Context, args []string) agent.Reply {
	code, stdout, stderr := s.Executor.Execute(ctx, args)
	return agent.Reply{ExitCode: code, Output: stdout, Error: stderr}
}

// ownInstaller installs the machine in this process.
type ownInstaller struct{ call }

// Start implements agent.Installer.
func (o ownInstaller) Start(ctx context.Context, argv []string) error {
	// Unpacking an image needs more memory than looking at a machine.
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(installGarbage)
	o.call.args = argv
	return install(ctx, o.call)
}

// ownLogSender sends logs in this process.
type ownLogSender struct{ call }

// Send implements agent.LogSender.
func (o ownLogSender) Send(ctx context.Context, argv []string) error {
	o.call.args = argv
	return o.call.sendLogs(ctx)
}

func (c call) diskSpeed() diskspeed.Checker {
	return diskspeed.Checker{Disks: blockdevice.Disks{}, Clock: realClock(), Images: guard.Rack()}
}

func runInventory(ctx context.Context, c call) int {
	log, done := c.log(agentLog)
	defer done()
	if err := (inventory.Collector{Root: inventory.MachineRoot(), Runner: c.host(), Log: log}).Run(ctx, c.args, c.out); err != nil {
		fmt.Fprintln(c.errors, "inventory:", err)
		return 1
	}
	return 0
}

func runFreeAddresses(ctx context.Context, c call) int {
	if c.helped(`its argument is a JSON list of networks, such as ["192.0.2.0/24"]`) {
		return 0
	}
	log, done := c.log(agentLog)
	defer done()
	steps := network.Steps(network.Options{Runner: c.host(), Clock: realClock(), Log: log})
	code, stdout, stderr := steps[models.StepTypeFreeNetworkAddresses].Execute(ctx, c.args)
	fmt.Fprint(c.out, stdout)
	fmt.Fprint(c.errors, stderr)
	return code & 0xff //nolint:mnd // the exit code of a process has eight bits
}

func runDiskSpeed(ctx context.Context, c call) int {
	if c.helped(`its last argument is a JSON object with the path of a disk, such as {"path": "/dev/sda"}`) {
		return 0
	}
	return c.diskSpeed().Run(ctx, c.args, c.out, c.errors)
}

func runLogs(ctx context.Context, c call) int {
	err := c.sendLogs(ctx)
	if _, wrong := errors.AsType[*logs.Usage](err); wrong {
		return exitUsage
	}
	return agent.ExitCode(err)
}

func (c call) sendLogs(ctx context.Context) error {
	options, err := logs.ParseFlags(c.args, c.env, c.errors)
	if err != nil {
		return err
	}
	log, done := c.log("/var/log/logs-sender.log")
	defer done()
	client, err := service.New(service.Config{
		URL: options.URL, CACertFile: options.CACertFile, Insecure: options.Insecure, Token: options.Token,
		Proxy: http.ProxyFromEnvironment, Log: log, Clock: realClock(),
	})
	if err != nil {
		log.Error("the logs cannot be sent", "error", err)
		return err
	}
	sender := logs.Sender{Options: options, Service: client, Runner: c.host(), Files: hostfile.Files{}, Clock: realClock(), Log: log}
	report, err := sender.Send(ctx)
	if report != "" {
		log.Warn("a part of the logs is missing", "report", report)
	}
	if err != nil {
		log.Error("the logs are not sent", "error", err)
	}
	return err
}

// hostname is the name of the machine, as the kernel has it.
func hostname() (string, error) { return os.Hostname() }
