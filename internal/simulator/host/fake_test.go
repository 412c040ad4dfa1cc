package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/pipes"
)

const (
	fakeInfraEnv = "11111111-1111-1111-1111-111111111111"
	fakeCluster  = "22222222-2222-2222-2222-222222222222"
)

// fakeService speaks just enough of the wire for machines to be installed. It
// writes down what they do and answers with an error what a real one refuses.
type fakeService struct {
	t           *testing.T
	mu          sync.Mutex
	count       int // control plane nodes
	expect      int // hosts before it installs
	kind        string
	status      string
	since       time.Time // when it began to finalize
	hosts       map[string]*fakeHost
	order       []string
	finalizing  []models.FinalizingStage
	operators   map[string]models.OperatorStatus
	calls       map[string]int
	completion  *completion
	ingressCert string
	// refuse may answer a call instead of the service.
	refuse  func(method, path string) int
	version string // of the agent that registered last
	day2    bool   // hosts join an installed cluster
	late    bool   // on a hub, where a host that rebooted has timed out already
}

type fakeHost struct {
	id, role, status string
	stage            models.HostStage
	bootstrap        bool
	stages           []models.HostStage // as reported, once each
	// told are its reports without percentages, and its downloads, in order.
	told                 []string
	percents             int
	replies              map[models.StepType][]models.StepReply
	registrations, polls int
	failure              string
	logs                 int
	// extra are steps that the test adds to the next polls.
	extra  []*models.Step
	action string
}

func newFake(t *testing.T, controlPlanes, hosts int) *fakeService {
	return &fakeService{
		t: t, count: controlPlanes, expect: hosts, kind: "Cluster", status: "insufficient",
		hosts: map[string]*fakeHost{}, operators: map[string]models.OperatorStatus{"console": ""}, calls: map[string]int{},
	}
}

func fakeStages(role string, controlPlanes int) []models.HostStage {
	switch {
	case controlPlanes == 1 && role != "worker":
		return []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWaitingForBootkube, models.HostStageWritingImageToDisk, "Copying registry data to disk", models.HostStageRebooting, models.HostStageJoined, models.HostStageDone}
	case role == "bootstrap":
		return []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWritingImageToDisk, "Copying registry data to disk", models.HostStageWaitingForControlPlane, models.HostStageWaitingForBootkube, models.HostStageWaitingForController, models.HostStageRebooting, models.HostStageConfiguring, models.HostStageJoined, models.HostStageDone}
	case role == "worker":
		return []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWritingImageToDisk, models.HostStageWaitingForControlPlane, models.HostStageRebooting, models.HostStageWaitingForIgnition, models.HostStageConfiguring, models.HostStageJoined, models.HostStageDone}
	}
	return []models.HostStage{models.HostStageStartingInstallation, models.HostStageInstalling, models.HostStageWritingImageToDisk, "Copying registry data to disk", models.HostStageRebooting, models.HostStageConfiguring, models.HostStageJoined, models.HostStageDone}
}

func (f *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/api/assisted-install/v2")
	if !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	if f.refuse != nil {
		if code := f.refuse(r.Method, path); code != 0 {
			answerJSON(w, code, map[string]any{"code": fmt.Sprint(code), "reason": "refused by the test"})
			return
		}
	}
	f.tick()
	body, _ := io.ReadAll(r.Body)
	var parts []string
	for _, p := range strings.Split(strings.Trim(path, "/"), "/") {
		switch {
		case p == fakeInfraEnv:
			p = "IE"
		case p == fakeCluster:
			p = "C"
		case f.hosts[p] != nil:
			parts = append(parts, "H")
			f.route(w, r, r.Method+" "+strings.Join(parts, "/")+strings.SplitN(path, p, 2)[1], f.hosts[p], body)
			return
		}
		parts = append(parts, p)
	}
	f.route(w, r, r.Method+" "+strings.Join(parts, "/"), nil, body)
}

func answerJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fakeService) route(w http.ResponseWriter, r *http.Request, call string, h *fakeHost, body []byte) {
	f.calls[call]++
	switch call {
	case "POST infra-envs/IE/hosts":
		f.register(w, body)
	case "GET infra-envs/IE/hosts":
		answerJSON(w, 200, f.hostViews())
	case "GET infra-envs/IE":
		answerJSON(w, 200, infraEnvView{ClusterID: fakeCluster})
	case "GET clusters/C":
		answerJSON(w, 200, clusterView{ID: fakeCluster, Kind: f.kind, Status: f.status, Hosts: f.hostViews()})
	case "GET infra-envs/IE/hosts/H/instructions":
		f.instruct(w, h)
	case "POST infra-envs/IE/hosts/H/instructions":
		var reply models.StepReply
		f.decode(body, &reply)
		h.replies[reply.StepType] = append(h.replies[reply.StepType], reply)
		if reply.StepType == models.StepTypeInventory && f.status == "preparing-for-installation" {
			answerJSON(w, 500, map[string]any{"code": "500", "reason": "wrong state"})
			return
		}
		w.WriteHeader(204)
	case "PUT infra-envs/IE/hosts/H/progress":
		f.progress(w, h, body)
	case "PUT infra-envs/IE/hosts/H/logs-progress", "PUT clusters/C/logs-progress":
		w.WriteHeader(204)
	case "POST clusters/C/logs":
		if err := r.ParseMultipartForm(1 << 20); err == nil {
			f.t.Error("the body was read before: the fake should not get here")
		}
		if h := f.hosts[r.URL.Query().Get("host_id")]; h != nil {
			h.logs += strings.Count(string(body), `name="upfile"`)
		}
		w.WriteHeader(204)
	case "GET infra-env/IE/hosts/H/downloads/ignition":
		h.told = append(h.told, "GET ignition")
		answerJSON(w, 200, map[string]any{})
	case "GET clusters/C/downloads/files":
		for _, h := range f.hosts {
			if h.bootstrap {
				h.told = append(h.told, "GET "+r.URL.Query().Get("file_name"))
			}
		}
		answerJSON(w, 200, map[string]any{})
	case "PUT clusters/C/progress":
		var p models.ClusterFinalizingProgress
		f.decode(body, &p)
		f.finalizing = append(f.finalizing, p.FinalizingStage)
		w.WriteHeader(200)
	case "GET clusters/C/monitored-operators":
		var all []models.MonitoredOperator
		for name := range f.operators {
			kind := models.OperatorTypeOlm
			if name == "console" {
				kind = models.OperatorTypeBuiltin
			}
			all = append(all, models.MonitoredOperator{Name: name, OperatorType: kind})
		}
		answerJSON(w, 200, all)
	case "PUT clusters/C/monitored-operators":
		var o models.OperatorMonitorReport
		f.decode(body, &o)
		f.operators[o.Name] = o.Status
		w.WriteHeader(200)
	case "POST clusters/C/uploads/ingress-cert":
		f.decode(body, &f.ingressCert)
		w.WriteHeader(201)
	case "POST clusters/C/actions/complete-installation":
		f.completion = &completion{}
		f.decode(body, f.completion)
		w.WriteHeader(202)
	default:
		answerJSON(w, 404, map[string]any{"code": 404, "message": "path " + call + " was not found"})
	}
}

func (f *fakeService) decode(body []byte, into any) {
	if err := json.Unmarshal(body, into); err != nil {
		f.t.Errorf("body %q: %v", body, err)
	}
}

func (f *fakeService) register(w http.ResponseWriter, body []byte) {
	var reg registration
	f.decode(body, &reg)
	h := f.hosts[reg.HostID]
	if h == nil {
		h = &fakeHost{id: reg.HostID, status: "discovering", replies: map[models.StepType][]models.StepReply{}}
		h.role = "worker"
		if len(f.hosts) < f.count {
			h.role, h.bootstrap = "master", len(f.hosts) == 0
		}
		f.hosts[reg.HostID] = h
		f.order = append(f.order, reg.HostID)
	}
	switch {
	case h.status == "installing-in-progress" && h.stage == models.HostStageRebooting:
		h.status = "installing-pending-user-action"
	case h.status == "installing-in-progress":
		h.status = "error"
	default:
		h.status, h.stage, h.stages, h.action = "discovering", "", nil, ""
	}
	h.registrations++
	f.version = reg.AgentVersion
	if f.day2 {
		h.role, h.bootstrap = "worker", false
	}
	answerJSON(w, 201, f.view(h))
}

func (f *fakeService) view(h *fakeHost) hostView {
	role := h.role
	if h.bootstrap {
		role = "bootstrap"
	}
	return hostView{
		ID: h.id, InfraEnvID: fakeInfraEnv, ClusterID: fakeCluster, Status: h.status, Role: h.role, Bootstrap: h.bootstrap,
		CheckedInAt: time.Now(), Progress: hostProgress{CurrentStage: h.stage}, ProgressStages: fakeStages(role, f.count),
	}
}

func (f *fakeService) hostViews() []hostView {
	views := []hostView{}
	for _, id := range f.order {
		views = append(views, f.view(f.hosts[id]))
	}
	return views
}

// tick moves the cluster on, as the service's monitor does.
func (f *fakeService) tick() {
	all := func(ok func(*fakeHost) bool) bool {
		for _, h := range f.hosts {
			if !ok(h) {
				return false
			}
		}
		return len(f.hosts) >= f.expect
	}
	switch f.status {
	case "insufficient":
		if all(func(h *fakeHost) bool {
			return len(h.replies[models.StepTypeDomainResolution]) > 0 && h.status == "known"
		}) {
			f.status = "preparing-for-installation"
		}
	case "preparing-for-installation":
		if all(func(h *fakeHost) bool {
			return len(h.replies[models.StepTypeContainerImageAvailability]) > 0 && len(h.replies[models.StepTypeInstallationDiskSpeedCheck]) > 0
		}) {
			f.status = "installing"
		}
	case "installing":
		for _, h := range f.hosts {
			if h.status == "error" && h.role == "master" {
				f.status = "error"
				return
			}
		}
		if all(func(h *fakeHost) bool { return h.role != "master" || h.stage == models.HostStageDone }) {
			f.status, f.since = "finalizing", time.Now()
		}
	case "finalizing":
		if time.Since(f.since) > 5*time.Hour {
			f.status = "error"
			return
		}
		if f.completion != nil && f.completion.Success && all(func(h *fakeHost) bool { return h.status == "installed" || h.status == "error" }) {
			f.status = "installed"
		}
	}
}

func (f *fakeService) instruct(w http.ResponseWriter, h *fakeHost) {
	h.polls++
	next := models.Steps{NextInstructionSeconds: 60, PostStepAction: new("continue")}
	add := func(kind models.StepType, arg string) {
		next.Instructions = append(next.Instructions, &models.Step{StepType: kind, StepID: fmt.Sprintf("%s-%d", kind, h.polls), Args: []string{arg}})
	}
	role := h.role
	if h.bootstrap {
		role = "bootstrap"
	}
	switch {
	case f.day2 && h.stage == "" && len(h.replies[models.StepTypeInventory]) > 0:
		add(models.StepTypeInstall, fmt.Sprintf(`{"role":"worker","cluster_id":%q,"host_id":%q,"infra_env_id":%q,"control_plane_count":0}`,
			fakeCluster, h.id, fakeInfraEnv))
	case f.day2 && h.stage == "":
		add(models.StepTypeInventory, h.id)
	case h.action != "":
		next.PostStepAction, h.action = new(h.action), ""
	case f.status == "cancelled" || h.status == "error":
		next.NextInstructionSeconds = 120
		add(models.StepTypeLogsGather, fmt.Sprintf(`{"cluster_id":%q,"host_id":%q,"infra_env_id":%q}`, fakeCluster, h.id, fakeInfraEnv))
		add(models.StepTypeStopInstallation, "")
	case strings.HasPrefix(h.status, "installing-"):
	case f.status == "insufficient" && h.status == "discovering":
		add(models.StepTypeInventory, h.id)
		if len(h.replies[models.StepTypeInventory]) > 0 {
			h.status = "known"
		}
	case f.status == "insufficient":
		add(models.StepTypeInventory, h.id)
		add(models.StepTypeConnectivityCheck, `[]`)
		add(models.StepTypeFreeNetworkAddresses, `["192.168.127.0/24"]`)
		add(models.StepTypeNtpSynchronizer, `{"ntp_source":""}`)
		add(models.StepTypeDomainResolution, `{"domains":[{"domain_name":"api.x.example.com"},{"domain_name":"validateNoWildcardDNS.x.example.com."}]}`)
	case f.status == "preparing-for-installation":
		if len(h.replies[models.StepTypeInstallationDiskSpeedCheck]) == 0 {
			add(models.StepTypeInstallationDiskSpeedCheck, `{"path":"/dev/sda"}`)
		}
		if len(h.replies[models.StepTypeContainerImageAvailability]) == 0 {
			add(models.StepTypeContainerImageAvailability, `{"images":["quay.io/a/release:1","quay.io/b/installer:latest"],"timeout":960}`)
		}
	case f.status == "installing" && h.stage == "":
		add(models.StepTypeInstall, fmt.Sprintf(`{"role":%q,"cluster_id":%q,"host_id":%q,"infra_env_id":%q,"control_plane_count":%d}`,
			role, fakeCluster, h.id, fakeInfraEnv, f.count))
	}
	next.Instructions = append(next.Instructions, h.extra...)
	answerJSON(w, 200, next)
}

func (f *fakeService) progress(w http.ResponseWriter, h *fakeHost, body []byte) {
	var p models.HostProgress
	f.decode(body, &p)
	if p.CurrentStage == models.HostStageFailed {
		h.status, h.failure = "error", p.ProgressInfo
		w.WriteHeader(200)
		return
	}
	role := h.role
	if h.bootstrap {
		role = "bootstrap"
	}
	stages := fakeStages(role, f.count)
	now, next := slices.Index(stages, h.stage), slices.Index(stages, p.CurrentStage)
	if next < 0 || next < now {
		f.t.Errorf("host %s (%s) reports %q after %q", h.id, role, p.CurrentStage, h.stage)
		answerJSON(w, 409, map[string]any{"code": "409", "reason": "Can't assign lower stage"})
		return
	}
	h.status = "installing-in-progress"
	if p.CurrentStage == models.HostStageWritingImageToDisk && p.ProgressInfo != "" {
		h.percents++
	} else {
		h.told = append(h.told, strings.TrimSpace(string(p.CurrentStage)+" "+p.ProgressInfo))
	}
	if h.stage != p.CurrentStage {
		h.stages = append(h.stages, p.CurrentStage)
	}
	h.stage = p.CurrentStage
	if f.day2 && p.CurrentStage == models.HostStageRebooting {
		h.status = "added-to-existing-cluster"
		if f.late {
			h.status = "installing-pending-user-action"
		}
	}
	if p.CurrentStage == models.HostStageDone {
		h.status = "installed"
	}
	w.WriteHeader(200)
}

// Serve runs a service on pipes until ctx or what it returns ends it, and returns a client for it.
func Serve(ctx context.Context, handler http.Handler) (*http.Client, func()) {
	server := pipes.Serve(ctx, handler)
	transport := &http.Transport{DialContext: server.Dial, MaxIdleConnsPerHost: 64}
	return &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	}
}

// inBubble runs do in a bubble where time passes at once, with the config of a fleet that a service is there for. The
// context ends after the limit.
func inBubble(t *testing.T, service http.Handler, limit time.Duration, do func(ctx context.Context, t *testing.T, cfg Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, stop := Serve(t.Context(), service)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		do(ctx, t, Config{ServiceURL: serviceAddress, HTTPClient: client, Clock: clock.Real(), Seed: 1})
	})
}
