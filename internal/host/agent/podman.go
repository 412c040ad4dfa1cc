//go:build linux

package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/oaictl/oaictl/internal/host/machine"
)

const (
	podman = "podman"
	// containers, as the service and people know them
	runnerContainer    = "next-step-runner"
	installerContainer = "assisted-installer"
	logsContainer      = "logs-sender"
	// tokenName is the variable that has the token.
	tokenName = "PULL_SECRET_TOKEN"
)

// secretEnv gives the token to podman, which hands it to a container by its name only.
func secretEnv(token string) []string {
	if token == "" {
		return nil
	}
	return []string{tokenName + "=" + token}
}

// runnerArgs are the arguments of podman that run another agent, as the original agent gives them.
func runnerArgs(o Options, t target) []string {
	args := []string{
		"run", "--rm", "-ti", "--privileged", "--pid=host", "--uts=host", "--net=host", "--pids-limit=0",
		"-v", "/dev:/dev:rw", "-v", "/opt:/opt:rw", "-v", "/run/systemd/journal/socket:/run/systemd/journal/socket",
		"-v", "/var/log:/var/log:rw", "-v", "/run/media:/run/media:rw", "-v", "/etc/pki:/etc/pki",
	}
	if o.CACertFile != "" {
		args = append(args, "-v", o.CACertFile+":"+o.CACertFile)
	}
	for _, name := range []string{
		tokenName, "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	} {
		args = append(args, "--env", name)
	}
	args = append(args,
		"--name", runnerContainer, t.image, "next_step_runner", "--url", o.URL, "--infra-env-id", t.infraEnv.String(),
		"--host-id", t.host.String(), "--agent-version", t.image, "--insecure="+strconv.FormatBool(o.Insecure))
	if o.CACertFile != "" {
		args = append(args, "--cacert", o.CACertFile)
	}
	return args
}

// container is the result of a program that was run for a step.
func container(result machine.Result, err error) Reply {
	reply := Reply{ExitCode: result.Code, Output: string(result.Stdout), Error: string(result.Stderr)}
	if result.Cut {
		reply.Error += "\n(the output was longer than what is kept)"
	}
	if err == nil {
		return reply
	}
	if reply.ExitCode == 0 {
		reply.ExitCode = refused
	}
	failed, is := errors.AsType[*machine.Failed](err)
	switch {
	case is && failed.Err != nil && errors.Is(failed.Err, context.DeadlineExceeded):
		const timedOut = 124 // as timeout(1)
		reply.ExitCode = timedOut
		reply.Error += err.Error()
	case reply.Error == "":
		reply.Error = err.Error()
	}
	return reply
}

const (
	pullAttempts = 3
	pullLimit    = 600 * time.Second
	// outputLimit is how many bytes of a container's output are kept.
	outputLimit = 256 << 10
)

// pull makes an image be there.
func pull(ctx context.Context, runner machine.Runner, name string, log *slog.Logger) error {
	found, err := runner.Run(ctx, machine.Command{Name: podman, Args: []string{"images", "--quiet", name}})
	if err == nil && len(found.Stdout) > 0 {
		return nil
	}
	for attempt := 1; ; attempt++ {
		_, err = runner.Run(ctx, machine.Command{Name: podman, Args: []string{"pull", name}, Timeout: pullLimit, Limit: outputLimit})
		if err == nil || ctx.Err() != nil || attempt == pullAttempts {
			return err
		}
		log.Warn("an image was not pulled, it is pulled again", "image", name, "attempt", attempt, "attempts", pullAttempts, "error", err)
	}
}

// withCA adds a CA certificate's mount and flag.
func withCA(mounts, flags []string, file, mode string) (withMount, withFlag []string) {
	if file == "" {
		return mounts, flags
	}
	return append(slices.Clip(mounts), "-v", file+":"+file+mode), append(slices.Clip(flags), "--cacert", file)
}
