//go:build linux

package installer

import (
	"context"
	"fmt"

	"github.com/oaictl/oaictl/internal/host/machine"
)

// PodmanLogs sends logs with the agent's image, as assisted-installer does. The token is in the environment, not in the
// arguments, which all users of a machine can read.
type PodmanLogs struct {
	Config Config
	Runner machine.Runner
}

// Send implements Logs.
func (p PodmanLogs) Send(ctx context.Context, bootstrap bool) error {
	c := p.Config
	args := []string{
		"run", "--rm", "--privileged", "--net=host", "--pid=host",
		"-v", "/run/systemd/journal/socket:/run/systemd/journal/socket",
		"-v", "/var/log:/var/log",
	}
	if c.CACertPath != "" {
		args = append(args, "-v", c.CACertPath+":"+c.CACertPath)
	}
	args = append(args, "--env", "PULL_SECRET_TOKEN", c.AgentImage, "logs_sender",
		"-cluster-id", c.ClusterID, "-url", c.URL, "-host-id", c.HostID, "-infra-env-id", c.InfraEnvID,
		fmt.Sprintf("-insecure=%t", c.Insecure), fmt.Sprintf("-bootstrap=%t", bootstrap))
	if c.CACertPath != "" {
		args = append(args, "-cacert="+c.CACertPath)
	}
	_, err := p.Runner.Run(ctx, machine.Command{Name: "podman", Args: args, Env: []string{"PULL_SECRET_TOKEN=" + c.Token}})
	return err
}
