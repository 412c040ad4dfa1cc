package service

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

func TestEvents(t *testing.T) {
	b := installing(t, 3)
	read := func(query string) ([]event, answer) {
		t.Helper()
		a := b.must("GET", "/events?"+query, nil)
		var raw []struct{ Name, Severity, Message, HostID, ClusterID string }
		if err := json.Unmarshal([]byte(strings.NewReplacer("host_id", "hostid", "cluster_id", "clusterid").Replace(a.text)), &raw); err != nil {
			t.Fatal(err)
		}
		var list []event
		for _, r := range raw {
			list = append(list, event{Name: r.Name, Severity: r.Severity, Message: r.Message, HostID: r.HostID, ClusterID: r.ClusterID})
		}
		return list, a
	}
	scope := "cluster_id=" + b.cluster
	all, a := read(scope)
	seen := map[string]bool{}
	for _, e := range all {
		seen[e.Name] = true
	}
	for _, name := range []string{"cluster_registration_succeeded", "host_registration_succeeded", "cluster_status_updated", "host_status_updated",
		"host_role_updated", "cluster_prepare_installation_started", "host_bootstrap_set", "image_status_updated", "image_info_updated"} {
		if !seen[name] {
			t.Errorf("no event %s", name)
		}
	}
	if got := a.header.Get("Event-Count"); got != model.InString(len(all)) {
		t.Errorf("Event-Count %s of %d", got, len(all))
	}
	page, _ := read(scope + "&offset=2&limit=3")
	if len(page) != 3 || page[0].Message != all[2].Message {
		t.Errorf("page of %d", len(page))
	}
	if last, _ := read(scope + "&order=descending&limit=1"); last[0].Message != all[len(all)-1].Message {
		t.Errorf("last event %q", last[0].Message)
	}
	warnings, _ := read(scope + "&severities=warning&severities=error")
	for _, e := range warnings {
		if e.Severity != severityWarning && e.Severity != severityError {
			t.Errorf("severity %s", e.Severity)
		}
	}
	hosts, _ := read(scope + "&host_id=" + b.machines[0].id)
	for _, e := range hosts {
		if e.HostID != b.machines[0].id {
			t.Errorf("an event of %q", e.HostID)
		}
	}
	if found, _ := read(scope + "&message=" + url.QueryEscape("starting to PREPARE")); len(found) != 1 {
		t.Errorf("%d events with that message", len(found))
	}
	if level, _ := read(scope + "&cluster_level=true"); len(level) == 0 || level[0].HostID != "" {
		t.Errorf("cluster level: %v", level)
	}
	b.answers("a severity that is none", "GET", "/events?severities=loud", nil, 400)
}
