package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/openshift/assisted-service/models"
)

// standIn plays a host without its own requests in the recording: it tells what
// the service showed of that host later.
type standIn struct {
	*knownHost
	r     *replay
	there bool
	gone  bool
}

// pollEvery is how often the recorded machines asked.
const pollEvery = 500 * time.Millisecond

func (m *standIn) path() string { return "/v2/infra-envs/" + m.r.rename(m.infraEnv) + "/hosts/" + m.id }

func (m *standIn) call(method, path string, body any) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	var text string
	if body != nil {
		text = model.InString(body)
	}
	m.r.s.ServeHTTP(w, httptest.NewRequest(method, Base+path, strings.NewReader(text)))
	return w
}

// act registers when the recorded host did, and then does what it is told.
func (m *standIn) act() {
	if m.gone || m.r.clock.at.Before(m.registered) {
		return
	}
	if !m.there && !m.registers {
		m.register()
	}
	m.there = true
	w := m.call("GET", m.path()+fmt.Sprintf("/instructions?timestamp=%d", m.r.clock.at.Unix()), nil)
	switch w.Code {
	case http.StatusNotFound, http.StatusForbidden:
		m.gone = !m.registers && m.register() >= 300
		return
	case http.StatusOK:
	default:
		return
	}
	var todo instructions
	if json.Unmarshal(w.Body.Bytes(), &todo) != nil {
		return
	}
	for _, s := range todo.Instructions {
		if m.answers[string(s.StepType)] || s.StepType == steps.StepDiskSpeed && m.r.clock.at.Before(m.spoke) {
			continue // its answer is in the recording, or came after another that is
		}
		if output := m.answer(s); output != "" {
			m.call("POST", m.path()+"/instructions", fields{"step_id": s.StepID, "step_type": s.StepType, "exit_code": 0, "output": output})
		}
	}
	if todo.PostAction == "exit" {
		m.register()
	}
}

func (m *standIn) register() int {
	return m.call("POST", "/v2/infra-envs/"+m.r.rename(m.infraEnv)+"/hosts",
		fields{"host_id": m.id, "discovery_agent_version": "quay.io/edge-infrastructure/assisted-installer-agent:latest"}).Code
}

// known is a field as the next answer that has it shows it, or the last one.
func (m *standIn) known(field string) string {
	var last string
	for _, s := range m.seen {
		text, _ := s.fields[field].(string)
		if text == "" {
			continue
		}
		if last = text; !s.at.Before(m.r.clock.at) {
			return text
		}
	}
	return last
}

// answer is what the recorded host must have answered to a step.
func (m *standIn) answer(s models.Step) string {
	switch s.StepType {
	case steps.StepInventory:
		return m.inventory()
	case steps.StepConnectivity:
		return m.known("connectivity")
	case steps.StepNTP:
		return `{"ntp_sources":` + m.known("ntp_sources") + `}`
	case steps.StepDomains:
		return m.known("domain_name_resolutions")
	case steps.StepFreeAddress:
		return m.known("free_addresses")
	case steps.StepVips:
		return strings.ReplaceAll(s.Args[0], `"}`, `","verification":"succeeded"}`)
	case steps.StepAPIVip:
		return m.known("api_vip_connectivity")
	case steps.StepTang:
		return m.known("tang_connectivity")
	case steps.StepDiskSpeed:
		return m.diskSpeed()
	case steps.StepImages:
		return m.images(s)
	}
	return ""
}

// inventory leaves out the hostname that was chosen for the host.
func (m *standIn) inventory() string { return m.known("inventory") }

func (m *standIn) diskSpeed() string {
	var disks map[string]struct {
		Path  string `json:"path"`
		Speed struct {
			Ms int `json:"speed_ms"`
		} `json:"disk_speed"`
	}
	if json.Unmarshal([]byte(m.known("disks_info")), &disks) == nil {
		for _, d := range disks {
			return model.InString(fields{"path": d.Path, "io_sync_duration": d.Speed.Ms})
		}
	}
	return model.InString(fields{"path": m.known("installation_disk_id"), "io_sync_duration": 5})
}

func (m *standIn) images(s models.Step) string {
	var asked struct{ Images []string }
	if json.Unmarshal([]byte(s.Args[0]), &asked) != nil {
		return ""
	}
	var shown map[string]models.ContainerImageAvailability
	_ = json.Unmarshal([]byte(m.known("images_status")), &shown) // none is shown of a host that never pulled
	var results []models.ContainerImageAvailability
	for _, name := range asked.Images {
		result, ok := shown[name]
		if !ok {
			result = models.ContainerImageAvailability{Name: name, Result: "success", Time: 5, SizeBytes: 1e9, DownloadRate: 60}
		}
		results = append(results, result)
	}
	return model.InString(fields{"images": results})
}
