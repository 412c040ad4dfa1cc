package service

import (
	"net/http"
	"strings"
	"testing"
)

// TestHostBeingInstalledKeepsItsSettings: each is refused with a status of its own, and a
// request that sets none since the inventory is not judged anew.
func TestHostBeingInstalledKeepsItsSettings(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	m := b.boot()
	b.install()
	for what, test := range map[string]struct {
		change fields
		status int
	}{
		"host name":                      {fields{"host_name": "other"}, http.StatusConflict},
		"host role":                      {fields{"host_role": "worker"}, http.StatusInternalServerError},
		"installation disk path":         {fields{"disks_selected_config": []fields{}}, http.StatusConflict},
		"host machine config pool":       {fields{"machine_config_pool_name": "infra"}, http.StatusConflict},
		"host ignition endpoint token":   {fields{"ignition_endpoint_token": "token"}, http.StatusConflict},
		"ignition endpoint HTTP headers": {fields{"ignition_endpoint_http_headers": []fields{}}, http.StatusInternalServerError},
		"labels":                         {fields{"node_labels": []fields{}}, http.StatusInternalServerError},
		"fencing credentials":            {fields{"fencing_credentials": fields{"address": "a", "username": "u", "password": "p"}}, http.StatusInternalServerError},
	} {
		a := b.call("PATCH", m.path(), test.change)
		want := ", " + what + " can be set only in one of [discovering known disconnected insufficient pending-for-input] states"
		if a.status != test.status || !strings.HasSuffix(a.reason(), want) {
			t.Errorf("%s: %d %s", what, a.status, a.text)
		}
	}
	if a := b.call("PATCH", m.path(), fields{"ignition_endpoint_token": ""}); a.status != http.StatusConflict || !strings.HasPrefix(a.reason(), "Host is in installing state, host can be updated only in one of ") {
		t.Errorf("none: %d %s", a.status, a.text)
	}
}
