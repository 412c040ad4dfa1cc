//go:build linux

package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
)

// LogSender is our own log sender, for machines without podman.
type LogSender interface {
	// Send gathers and uploads logs, with the flags of the original logs_sender.
	Send(ctx context.Context, argv []string) error
}

// Logs does the step logs-gather.
type Logs struct {
	Options Options
	Runner  machine.Runner
	// Own is used without podman.
	Own LogSender
	Log *slog.Logger

	sending sync.Mutex
}

// logsLimit is how long logs may be gathered.
const logsLimit = time.Hour

// Execute implements Executor.
func (l *Logs) Execute(ctx context.Context, args []string) Reply {
	request, err := decode[logsRequest](string(models.StepTypeLogsGather), args, l.Log)
	if err == nil {
		err = checkAddresses(request.MasterIps)
	}
	if err != nil {
		return refuse(err)
	}
	if !l.sending.TryLock() {
		return Reply{
			ExitCode: alreadyRunning, Error: fmt.Sprintf("the container name %q is already in use: logs are being gathered", logsContainer),
		}
	}
	defer l.sending.Unlock()
	argv := logsArgs(l.Options, &request.LogsGatherCmdRequest)
	if !l.Runner.Has(podman) {
		ctx, cancel := context.WithTimeout(ctx, logsLimit)
		defer cancel()
		if err := l.Own.Send(ctx, argv); err != nil {
			return Reply{ExitCode: 1, Error: err.Error()}
		}
		return Reply{}
	}
	mounts := []string{"-v", "/run/systemd/journal/socket:/run/systemd/journal/socket", "-v", "/var/log:/var/log", "-v", "/etc/pki:/etc/pki"}
	mounts, _ = withCA(mounts, nil, l.Options.CACertFile, "")
	if *request.Bootstrap {
		mounts = append(mounts, "-v", "/root/.ssh:/root/.ssh", "-v", "/tmp:/tmp")
	}
	return container(l.Runner.Run(ctx, machine.Command{
		Name: podman,
		Args: slices.Concat([]string{"run", "--rm", "--privileged", "--net=host"}, mounts,
			[]string{"--env", tokenName, "--name", logsContainer, "--pid=host", l.Options.Version, "logs_sender"}, argv),
		Env: secretEnv(l.Options.Token), Timeout: logsLimit, Limit: outputLimit,
	}))
}

// logsRequest is the argument of logs-gather. Its model takes installer_gather for missing when it is false.
type logsRequest struct{ models.LogsGatherCmdRequest }

// Validate checks the rest.
func (r *logsRequest) Validate(formats strfmt.Registry) error {
	rest := r.LogsGatherCmdRequest
	rest.InstallerGather = true
	return rest.Validate(formats)
}

// logsArgs are the flags of logs_sender, as the original agent gives them.
func logsArgs(o Options, r *models.LogsGatherCmdRequest) []string {
	args := []string{
		"-url", o.URL, "-cluster-id", r.ClusterID.String(), "-host-id", r.HostID.String(), "-infra-env-id", r.InfraEnvID.String(),
		"--insecure=" + strconv.FormatBool(o.Insecure), "-bootstrap=" + strconv.FormatBool(*r.Bootstrap),
		"-with-installer-gather-logging=" + strconv.FormatBool(r.InstallerGather),
	}
	if len(r.MasterIps) > 0 {
		args = append(args, "-masters-ips="+strings.Join(r.MasterIps, ","))
	}
	_, args = withCA(nil, args, o.CACertFile, "")
	return args
}
