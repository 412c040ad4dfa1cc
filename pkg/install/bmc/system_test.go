package bmc_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

const drives = "/redfish/v1/Managers/1/VirtualMedia/"

// TestSupermicroISOConfig uses the drive that older boards have instead of
// virtual media, and leaves nothing set where the mount is refused.
func TestSupermicroISOConfig(t *testing.T) {
	const config = "/redfish/v1/Managers/1/VM1/CfgCD"
	s := newShelf("Supermicro", nil)
	s.docs[config] = map[string]any{"Host": "", "Path": "", "Actions": map[string]any{
		"#IsoConfig.Mount":   map[string]any{"target": config + "/Actions/IsoConfig.Mount"},
		"#IsoConfig.UnMount": map[string]any{"target": config + "/Actions/IsoConfig.UnMount"},
	}}
	l := s.plane(t)
	refuses := true
	s.act = func(_ *shelf, _, path string, _ map[string]any) int {
		if refuses && strings.HasSuffix(path, "IsoConfig.Mount") {
			return http.StatusInternalServerError
		}
		return 0
	}
	insert := model.Action{Kind: model.InsertMedia, Name: "a"}
	if err := l.Act(t.Context(), l.desired, nil, insert); err == nil {
		t.Error("a refused mount is no error")
	}
	if got := l.see(t, "a"); got.Media != "" {
		t.Errorf("after a refused mount: %+v", got)
	}
	refuses = false
	l.do(t, "a", model.InsertMedia)
	if got := l.see(t, "a"); !got.OurMedia {
		t.Errorf("mounted: %+v", got)
	}
	l.do(t, "a", model.EjectMedia)
	if got := l.see(t, "a"); got.Media != "" {
		t.Errorf("unmounted: %+v", got)
	}
	if n := len(s.wrote); !strings.Contains(s.wrote[n-2], "IsoConfig.UnMount") {
		t.Errorf("wrote %v", s.wrote)
	}
}

// TestILONextReset uses iLO's own switch for one boot, and resets it.
func TestILONextReset(t *testing.T) {
	s := newShelf("HPE", map[string]map[string]any{"2": {
		"MediaTypes": []string{"CD", "DVD"}, "Oem": map[string]any{"Hpe": map[string]any{"BootOnNextServerReset": false}},
	}})
	l := s.plane(t)
	l.do(t, "a", model.SetBootOnce)
	if got := l.see(t, "a"); !got.BootOnce || len(s.wrote) != 1 {
		t.Errorf("%+v; wrote %v", got, s.wrote)
	}
	l.do(t, "a", model.RestoreBoot)
	if got := l.see(t, "a"); got.BootOnce || len(s.wrote) != 2 {
		t.Errorf("%+v; wrote %v", got, s.wrote)
	}
}

// TestDriveByPatch inserts and ejects by PATCH where a drive has no actions, and
// reads a drive that does not say whether anything is inserted.
func TestDriveByPatch(t *testing.T) {
	s := newShelf("Lenovo", map[string]map[string]any{"EXT1": {"MediaTypes": []string{"CD"}, "Image": nil}, "RDOC1": {"MediaTypes": []string{"CD"}}})
	l := s.plane(t)
	l.do(t, "a", model.InsertMedia)
	if got := l.see(t, "a"); !got.OurMedia || !strings.Contains(s.wrote[0], "PATCH "+drives+"EXT1 ") {
		t.Errorf("%+v; wrote %v", got, s.wrote)
	}
	l.do(t, "a", model.EjectMedia)
	if got := l.see(t, "a"); got.Media != "" {
		t.Errorf("%+v; wrote %v", got, s.wrote)
	}
}

// TestInsertBodies tries another body where one is not understood, and only then.
func TestInsertBodies(t *testing.T) {
	for _, test := range []struct {
		status int
		writes int
		fine   bool
	}{{http.StatusBadRequest, 3, true}, {http.StatusInternalServerError, 1, false}} {
		s := newShelf("", map[string]map[string]any{"Cd": {
			"MediaTypes": []string{"CD"}, "Actions": map[string]any{"#VirtualMedia.InsertMedia": map[string]any{"target": drives + "Cd/Insert"}},
		}})
		s.act = func(_ *shelf, _, _ string, body map[string]any) int {
			if len(body) > 1 {
				return test.status
			}
			return 0
		}
		l := s.plane(t)
		err := l.Act(t.Context(), l.desired, nil, model.Action{Kind: model.InsertMedia, Name: "a"})
		if (err == nil) != test.fine || len(s.wrote) != test.writes {
			t.Errorf("HTTP %d: %v; wrote %v", test.status, err, s.wrote)
		}
		basic := base64.StdEncoding.EncodeToString([]byte("root:" + password))
		if err != nil && (strings.Contains(err.Error(), password) || strings.Contains(err.Error(), basic) || strings.Contains(err.Error(), ".iso")) {
			t.Errorf("a secret is told: %v", err)
		}
	}
}

// TestOverrideModes adds the boot mode where a BMC refuses the override without.
func TestOverrideModes(t *testing.T) {
	s := newShelf("", map[string]map[string]any{"Cd": {"MediaTypes": []string{"CD"}}})
	s.act = func(_ *shelf, _, _ string, body map[string]any) int {
		if boot, ok := body["Boot"].(map[string]any); ok && boot["BootSourceOverrideMode"] == nil {
			return http.StatusBadRequest
		}
		return 0
	}
	l := s.plane(t)
	l.do(t, "a", model.SetBootOnce)
	if got := l.see(t, "a"); !got.BootOnce {
		t.Errorf("%+v; wrote %v", got, s.wrote)
	}
}

// TestSeveralSystems requires that the file says which system is meant.
func TestSeveralSystems(t *testing.T) {
	s := newShelf("", map[string]map[string]any{"Cd": {}})
	s.docs["/redfish/v1/Systems"] = map[string]any{"Members@odata.count": 2, "Members": []any{link("/redfish/v1/Systems/1"), link("/redfish/v1/Systems/2")}}
	l := s.plane(t)
	if got := l.see(t, "a"); !strings.Contains(got.Trouble, "bmc.system does not choose one: 1, 2") {
		t.Errorf("%+v", got)
	}
	l.desired.Spec.Spec.Hosts[0].BMC.System = "1"
	if got := l.see(t, "a"); got.Trouble != "" {
		t.Errorf("%+v", got)
	}
}

// TestStrangeAnswers reads what no BMC should answer without harm.
func TestStrangeAnswers(t *testing.T) {
	for name, change := range map[string]func(*shelf){
		"no system":         func(s *shelf) { s.docs["/redfish/v1/Systems"] = map[string]any{"Members": []any{}} },
		"a list":            func(s *shelf) { s.docs["/redfish/v1/Systems/1"]["Boot"] = []any{1} },
		"nothing":           func(s *shelf) { s.docs["/redfish/v1"] = map[string]any{}; delete(s.docs, "/redfish/v1/Systems") },
		"a drive as number": func(s *shelf) { s.docs[drives+"Cd"]["MediaTypes"] = 7 },
		"no manager":        func(s *shelf) { delete(s.docs, "/redfish/v1/Managers/1") },
	} {
		s := newShelf("", map[string]map[string]any{"Cd": {}})
		change(s)
		l := s.plane(t)
		if got := l.see(t, "a"); got.Trouble == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
