//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
)

// Upgrade does the step upgrade-agent: it pulls another agent's image. After that the host registers again, and the
// service names the new image as the one to run.
type Upgrade struct {
	Runner machine.Runner
	Log    *slog.Logger

	pulling sync.Mutex
}

// Execute implements Executor. As in the original, the result is in the output, and the exit code is 0.
func (u *Upgrade) Execute(ctx context.Context, args []string) Reply {
	request, err := parseUpgrade(args, u.Log)
	if err != nil {
		return refuse(err)
	}
	response := models.UpgradeAgentResponse{AgentImage: request.AgentImage}
	switch {
	case !u.pulling.TryLock(): // the answer of the first one has the result
	case !u.Runner.Has(podman):
		defer u.pulling.Unlock()
		u.Log.Error("another agent needs podman, and this machine has none", "image", request.AgentImage)
		response.Result = models.UpgradeAgentResultFailure
	default:
		defer u.pulling.Unlock()
		response.Result = models.UpgradeAgentResultSuccess
		command := machine.Command{Name: podman, Args: []string{"pull", request.AgentImage}, Limit: outputLimit}
		if _, err := u.Runner.Run(ctx, command); err != nil {
			u.Log.Error("the agent's image was not pulled", "image", request.AgentImage, "error", err)
			response.Result = models.UpgradeAgentResultFailure
		}
	}
	output, err := json.Marshal(response)
	if err != nil {
		return refuse(err)
	}
	return Reply{Output: string(output)}
}

// upgraded reports whether another agent's image is there, so that the host has to register again.
func upgraded(reply Reply) bool {
	var response models.UpgradeAgentResponse
	return reply.ExitCode == 0 && json.Unmarshal([]byte(reply.Output), &response) == nil && response.Result == models.UpgradeAgentResultSuccess
}
