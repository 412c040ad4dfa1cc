//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/bootorder"
	"github.com/oaictl/oaictl/internal/host/controller/rights"
	"github.com/oaictl/oaictl/internal/host/disk"
	"github.com/oaictl/oaictl/internal/host/disk/mount"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/installer"
	"github.com/oaictl/oaictl/internal/host/installer/manifests"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/service"
)

const (
	// controllerVariable has the name of the controller's image that was built with this installer.
	controllerVariable = "OAICTL_CONTROLLER_IMAGE"
	// outside is where a container of the installer puts its program, so that the machine can run it.
	outside = "/opt/oaictl-host/assisted-installer"
	// machinePath is where the programs of a live system are.
	machinePath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
)

func runInstaller(ctx context.Context, c call) int {
	if machine.InContainer() {
		fmt.Fprintln(c.errors, "assisted-installer:", leaveContainer(c))
		return 1
	}
	return installer.ExitCode(install(ctx, c))
}

// leaveContainer replaces this process by the same program outside the container. It returns only an error.
func leaveContainer(c call) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := copyProgram(own, outside); err != nil {
		return err
	}
	environ := slices.DeleteFunc(slices.Clone(c.environ), func(line string) bool { return strings.HasPrefix(line, "PATH=") })
	return machine.Enter(outside, append([]string{c.name}, c.args...), append(environ, machinePath))
}

func install(ctx context.Context, c call) error {
	config, err := installer.Parse(c.args, c.env, c.errors)
	if err != nil {
		if !errors.Is(err, installer.ErrHelp) && !errors.Is(err, installer.ErrUsage) {
			fmt.Fprintln(c.errors, err)
		}
		return err
	}
	log, done := c.log("/var/log/assisted-installer.log")
	defer done()
	proxy := proxyOf(kube.Proxy{HTTP: config.HTTPProxy, HTTPS: config.HTTPSProxy, No: config.NoProxy})
	client, err := service.New(service.Config{
		URL: config.URL, CACertFile: config.CACertPath, Insecure: config.Insecure, Token: config.Token, Proxy: proxy,
		Log: log, Clock: realClock(),
	})
	if err != nil {
		log.Error("the installer cannot start", "error", err)
		return err
	}
	host, files := c.host(), hostfile.Files{}
	disks := disk.Disks{
		Devices: blockdevice.Disks{}, Programs: host, Files: files, Client: &http.Client{Transport: &http.Transport{Proxy: proxy}},
		Clock: realClock(), Log: log, Arch: runtime.GOARCH, Release: config.OpenShiftVersion,
	}
	deps := installer.Deps{
		Service: client, Disks: installerDisks{disks, config.InstallerArgs}, Logs: c.installerLogs(config, host),
		Fetcher: installer.HTTPFetcher{},
		BootOrder: bootorder.Order{
			Variables: machine.EFI{Folder: machine.EFIFolder}, Programs: host, Files: files, Arch: runtime.GOARCH, Log: log,
			Mounter: mount.Mounter{Programs: host, Files: files, Clock: realClock(), Log: log},
		},
		Kube:   installer.Connect,
		Runner: host, Files: files, Hostname: hostname, Architecture: runtime.GOARCH, Clock: realClock(), Log: log,
		Controller: installer.Controller{Image: c.env(controllerVariable), Rules: controllerRules()},
	}
	return installer.New(config, deps).Run(ctx)
}

// proxyOf finds the proxy of a request.
func proxyOf(p kube.Proxy) func(*http.Request) (*url.URL, error) {
	find := (&httpproxy.Config{HTTPProxy: p.HTTP, HTTPSProxy: p.HTTPS, NoProxy: p.No}).ProxyFunc()
	return func(request *http.Request) (*url.URL, error) { return find(request.URL) }
}

// installerLogs sends logs by podman, as the original does, or without it by itself.
func (c call) installerLogs(config installer.Config, host machine.Host) installer.Logs {
	if host.Has("podman") {
		return installer.PodmanLogs{Config: config, Runner: host}
	}
	return ownLogs{c, config}
}

// ownLogs sends the logs of an installation in this process.
type ownLogs struct {
	call   call
	config installer.Config
}

// Send implements installer.Logs.
func (o ownLogs) Send(ctx context.Context, bootstrap bool) error {
	o.call.args = []string{
		"-cluster-id", o.config.ClusterID, "-url", o.config.URL, "-host-id", o.config.HostID, "-infra-env-id", o.config.InfraEnvID,
		fmt.Sprintf("-insecure=%t", o.config.Insecure), fmt.Sprintf("-bootstrap=%t", bootstrap), "-cacert=" + o.config.CACertPath,
	}
	return o.call.sendLogs(ctx)
}

// installerDisks are disks for the installer, which does not know the package disk.
type installerDisks struct {
	disk.Disks
	args []string // for coreos-installer
}

// Write implements installer.Disks.
func (d installerDisks) Write(ctx context.Context, image installer.Image) error {
	return d.Disks.Write(ctx, disk.Image(image))
}

// Clear implements installer.Disks.
func (d installerDisks) Clear(ctx context.Context, id blockdevice.Identity) error {
	if disk.KeepsPartitions(d.args) {
		return errors.New("it has partitions that are to be kept, so it stays as coreos-installer left it")
	}
	return d.Disks.Clear(ctx, id)
}

// controllerRules are what the controller of oaictl-host may do.
func controllerRules() []manifests.Rule {
	var rules []manifests.Rule
	for _, r := range rights.Rules() {
		rules = append(rules, manifests.Rule{APIGroups: r.Groups, Resources: r.Resources, ResourceNames: r.Names, Verbs: r.Verbs})
	}
	return rules
}
