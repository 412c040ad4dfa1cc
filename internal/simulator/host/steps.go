package host

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

type replied struct {
	// to is a digest of all that the reply depends on.
	to uint64
	at time.Time
}

// replyLife is how long an agent keeps itself from repeating a reply.
const replyLife = time.Hour

// answered reads the argument of a step, and replies with what do makes of it.
func answered[Asked any](s *models.Step, do func(Asked) (any, error)) models.StepReply {
	var asked Asked
	if err := argument(s, &asked); err != nil {
		return failed(err)
	}
	return said(do(asked))
}

func said(v any, err error) models.StepReply {
	if err != nil {
		return failed(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return failed(err)
	}
	return models.StepReply{Output: string(raw)}
}

func failed(err error) models.StepReply { return models.StepReply{ExitCode: 1, Error: err.Error()} }

func (l *machineRun) instructionsPath(poll bool) string {
	p := hostPath(l.infraEnv(), l.spec.UUID) + "/instructions"
	if poll {
		p += "?timestamp=" + strconv.FormatInt(l.clock().Unix(), 10)
	}
	return p
}

func (l *machineRun) clock() time.Time {
	now := l.fleet.serviceTime()
	if t := l.trouble(scenario.DoUnreachableNTP); t != nil {
		now = now.Add(t.rule.Args.Duration("skew", 0))
	}
	return now
}

// perform starts a step. Its reply comes after the time that the step takes.
func (l *machineRun) perform(ctx context.Context, s *models.Step) {
	switch s.StepType {
	case models.StepTypeInstall:
		l.startInstall(s)
		return
	case models.StepTypeStopInstallation:
		if l.install != nil {
			l.logf("stops installing")
			l.install = nil
		}
	case models.StepTypeLogsGather:
		if l.logsGathered {
			return
		}
		l.logsGathered = true
		l.gatherLogs(ctx, s)
	}
	if l.inFlight[s.StepType] || l.hasReplied(s) {
		return
	}
	l.inFlight[s.StepType] = true
	l.schedule(l.jitter.of(stepTime(s.StepType)), func(ctx context.Context) {
		delete(l.inFlight, s.StepType)
		l.reply(ctx, s, l.answer(s))
		l.afterReply(s)
	})
}

func stepTime(stepType models.StepType) time.Duration {
	switch stepType {
	case models.StepTypeContainerImageAvailability:
		return 90 * time.Second
	case models.StepTypeInstallationDiskSpeedCheck:
		return 25 * time.Second
	case models.StepTypeConnectivityCheck, models.StepTypeNtpSynchronizer, models.StepTypeUpgradeAgent:
		return 6 * time.Second
	}
	return 2 * time.Second
}

// hasReplied reports whether the service already has the reply to a step. What an
// agent answers depends on the arguments and on the troubles of the moment only;
// speeds and times of measurements differ each time.
func (l *machineRun) hasReplied(s *models.Step) bool {
	switch s.StepType {
	case models.StepTypeContainerImageAvailability, models.StepTypeInstallationDiskSpeedCheck, models.StepTypeUpgradeAgent,
		models.StepTypeRebootForReclaim:
		return false
	}
	last, ok := l.replied[s.StepType]
	return ok && last.to == l.fingerprint(s) && l.fleet.now().Sub(last.at) < replyLife
}

func (l *machineRun) fingerprint(s *models.Step) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %s", s.Args, l.standing())
	return h.Sum64()
}

// reply posts an answer. One that is refused is given again at the next poll that asks for it.
func (l *machineRun) reply(ctx context.Context, s *models.Step, reply models.StepReply) {
	reply.StepID, reply.StepType = s.StepID, s.StepType
	err := l.agentAPI().send(ctx, http.MethodPost, l.instructionsPath(false), reply, nil)
	if err != nil {
		l.logf("cannot reply to %s: %v", s.StepType, err)
		return
	}
	if reply.ExitCode == 0 {
		l.replied[s.StepType] = replied{to: l.fingerprint(s), at: l.fleet.now()}
	}
	l.mu.Lock()
	if did := string(s.StepType); !slices.Contains(l.answered, did) {
		l.answered = append(l.answered, did)
	}
	l.mu.Unlock()
	l.notice()
}

// afterReply is what some steps do to the agent itself.
func (l *machineRun) afterReply(s *models.Step) {
	switch s.StepType {
	case models.StepTypeUpgradeAgent:
		var asked models.UpgradeAgentRequest
		if argument(s, &asked) == nil && asked.AgentImage != "" {
			l.agentVersion = asked.AgentImage
		}
		l.session++
		l.watched = false
		l.schedule(agentRestartTime, l.register)
	case models.StepTypeRebootForReclaim:
		l.bootISO()
	}
}

func argument(s *models.Step, into any) error {
	if len(s.Args) == 0 {
		return fmt.Errorf("step %s has no argument", s.StepType)
	}
	if err := json.Unmarshal([]byte(s.Args[0]), into); err != nil {
		return fmt.Errorf("argument of step %s: %w", s.StepType, err)
	}
	return nil
}

func (l *machineRun) answer(s *models.Step) models.StepReply {
	switch s.StepType {
	case models.StepTypeInventory:
		m, patch := l.present()
		inv := m.inventory(l.clock())
		if l.image.Load().persistent {
			inv.bootedFromDisk()
		}
		text, err := inv.encode(patch)
		if err != nil {
			return failed(err)
		}
		return models.StepReply{Output: text}
	case models.StepTypeConnectivityCheck:
		return answered(s, l.checkConnectivity)
	case models.StepTypeFreeNetworkAddresses:
		return answered(s, l.findFreeAddresses)
	case models.StepTypeNtpSynchronizer:
		return answered(s, l.synchronize)
	case models.StepTypeDomainResolution:
		return answered(s, l.resolveDomains)
	case models.StepTypeVerifyVips:
		return answered(s, l.verifyVIPs)
	case models.StepTypeDhcpLeaseAllocate:
		return said(l.leaseVIPs())
	case models.StepTypeInstallationDiskSpeedCheck:
		return answered(s, l.measureDisk)
	case models.StepTypeContainerImageAvailability:
		return answered(s, l.pullImages)
	case models.StepTypeAPIVipConnectivityCheck:
		return answered(s, fetchPointerIgnition)
	case models.StepTypeTangConnectivityCheck:
		return answered(s, reachTang)
	case models.StepTypeUpgradeAgent:
		return answered(s, func(asked models.UpgradeAgentRequest) (any, error) {
			return models.UpgradeAgentResponse{AgentImage: asked.AgentImage, Result: models.UpgradeAgentResultSuccess}, nil
		})
	}
	// These answer by their exit code alone.
	return models.StepReply{}
}

func (l *machineRun) measureDisk(asked struct{ Path string }) (any, error) {
	sync := l.jitter.of(5 * time.Millisecond)
	if t := l.trouble(scenario.DoSlowDisk); t != nil {
		if t.rule.Args.Bool("fails", false) {
			return nil, fmt.Errorf("measuring the speed of %s: fio: input/output error", asked.Path)
		}
		sync = t.rule.Args.Duration("sync", 40*time.Millisecond)
	}
	return map[string]any{"path": asked.Path, "io_sync_duration": sync.Milliseconds()}, nil
}

func (l *machineRun) pullImages(asked models.ContainerImageAvailabilityRequest) (any, error) {
	failure := l.trouble(scenario.DoImagePullFailure)
	results := make([]models.ContainerImageAvailability, 0, len(asked.Images))
	for _, name := range asked.Images {
		if failure != nil && matchImage(failure.rule.Args.String("image", ""), name) {
			results = append(results, models.ContainerImageAvailability{Name: name, Result: models.ContainerImageAvailabilityResultFailure})
			continue
		}
		const size = 333_000_000.0
		seconds := l.jitter.of(5 * time.Second).Seconds()
		results = append(results, models.ContainerImageAvailability{
			Name: name, Result: models.ContainerImageAvailabilityResultSuccess, SizeBytes: size, Time: seconds, DownloadRate: size / seconds / 1e6,
		})
	}
	return map[string]any{"images": results}, nil
}

// matchImage takes a glob or any part of an image's name; empty is every image.
func matchImage(glob, name string) bool {
	if ok, err := path.Match(glob, name); err == nil && ok {
		return true
	}
	return strings.Contains(name, glob)
}

func (l *machineRun) gatherLogs(ctx context.Context, s *models.Step) {
	var want struct {
		ClusterID  string `json:"cluster_id"`
		InfraEnvID string `json:"infra_env_id"`
	}
	if err := argument(s, &want); err != nil {
		l.logf("cannot gather logs: %v", err)
		return
	}
	l.uploadLogs(ctx, want.ClusterID, cmp.Or(want.InfraEnvID, l.infraEnv()))
}

func (l *machineRun) uploadLogs(ctx context.Context, cluster, infraEnv string) {
	progress := hostPath(infraEnv, l.spec.UUID) + "/logs-progress"
	query := url.Values{"logs_type": {"host"}, "infra_env_id": {infraEnv}, "host_id": {l.spec.UUID}}
	lines := fmt.Sprintf("%s: installer of %s\n", l.fleet.serviceTime().UTC().Format(time.RFC3339), l.spec.Hostname)
	err := l.fleet.sendLogs(ctx, l.agentAPI(), progress, clusterPath(cluster)+"/logs?"+query.Encode(), l.spec.Hostname, map[string]string{
		"installer.logs": lines, "agent.logs": lines,
	})
	if err != nil {
		l.logf("cannot upload logs: %v", err)
	}
}

func (c *controller) uploadLogs(ctx context.Context) (bool, error) {
	err := c.fleet.sendLogs(ctx, c.fleet.api, clusterPath(c.cluster)+"/logs-progress", clusterPath(c.cluster)+"/logs?logs_type=controller",
		"controller", map[string]string{"assisted-installer-controller.logs": "controller of " + c.cluster + "\n"})
	if err != nil && !refused(err) {
		return false, err
	}
	return true, nil
}

// sendLogs reports that logs are coming, sends them, and reports that they came.
func (f *Fleet) sendLogs(ctx context.Context, api *client, progress, upload, name string, files map[string]string) error {
	if err := api.send(
		ctx, http.MethodPut, progress, models.LogsProgressParams{LogsState: models.LogsStateRequested.Pointer()}, nil,
	); err != nil {
		return err
	}
	archive, err := pack(files, f.serviceTime())
	if err != nil {
		return fmt.Errorf("packing the logs of %s: %w", name, err)
	}
	if err := api.upload(ctx, upload, name+".tar.gz", archive); err != nil {
		return err
	}
	return api.send(ctx, http.MethodPut, progress, models.LogsProgressParams{LogsState: models.LogsStateCompleted.Pointer()}, nil)
}

func pack(files map[string]string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	var failed error
	for name, content := range files {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: at})
		if err == nil {
			_, err = io.WriteString(archive, content)
		}
		failed = errors.Join(failed, err)
	}
	failed = errors.Join(failed, archive.Close(), zip.Close())
	return out.Bytes(), failed
}
