package scenario

import (
	"testing"
	"time"
)

func TestMatchCall(t *testing.T) {
	const id = "/api/assisted-install/v2/clusters/1"
	for _, tc := range []struct {
		name                 string
		match                Match
		method, path, client string
		want                 bool
	}{
		{"empty fits all", Match{}, "GET", id, ClientUser, true},
		{"method", Match{Method: "get"}, "GET", id, ClientUser, true},
		{"other method", Match{Method: "POST"}, "GET", id, ClientUser, false},
		{"other client", Match{Client: ClientAgent}, "GET", id, ClientUser, false},
		{"one segment", Match{Path: "/v2/clusters/*"}, "GET", id, ClientUser, true},
		{"without the prefix", Match{Path: "/v2/clusters/*"}, "GET", "/v2/clusters/1", ClientUser, true},
		{"not deeper", Match{Path: "/v2/clusters/*"}, "GET", id + "/hosts", ClientUser, false},
		{"not shallower", Match{Path: "/v2/clusters/*"}, "GET", "/v2/clusters", ClientUser, false},
		{"any depth", Match{Path: "/v2/**"}, "GET", id + "/actions/install", ClientUser, true},
		{"any depth, none", Match{Path: "/v2/clusters/**"}, "GET", "/v2/clusters", ClientUser, true},
		{"in the middle", Match{Path: "/v2/**/install"}, "POST", id + "/actions/install", ClientUser, true},
		{"in the middle, other end", Match{Path: "/v2/**/install"}, "POST", id + "/actions/reset", ClientUser, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.match.Call(tc.method, tc.path, tc.client); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestMatchHost(t *testing.T) {
	number := func(n int) *int { return &n }
	worker := Host{Name: "worker-1", Role: "worker", Index: 4, RoleIndex: 1, MACs: []string{"52:54:00:00:00:01"}}
	for _, tc := range []struct {
		name  string
		match Match
		host  Host
		want  bool
	}{
		{"empty fits all", Match{}, worker, true},
		{"name", Match{Name: "worker-1"}, worker, true},
		{"no prefix", Match{Name: "worker"}, worker, false},
		{"pattern", Match{Name: "worker-*"}, worker, true},
		{"role in the service's words", Match{Role: "control-plane"}, Host{Role: "master"}, true},
		{"the bootstrap is a control plane", Match{Role: "master"}, Host{Role: "bootstrap"}, true},
		{"unknown role", Match{Role: "worker"}, Host{Role: "auto-assign"}, false},
		{"index over all", Match{Index: number(4)}, worker, true},
		{"index in the role", Match{Role: "worker", Index: number(1)}, worker, true},
		{"other index", Match{Role: "worker", Index: number(4)}, worker, false},
		{"mac", Match{MAC: "52:54:00:00:00:01"}, worker, true},
		{"other mac", Match{MAC: "52:54:00:00:00:02"}, worker, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.match.Host(tc.host); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestAtReached(t *testing.T) {
	for _, tc := range []struct {
		name string
		at   StartCondition
		now  Moment
		want bool
	}{
		{"from the beginning", StartCondition{}, Moment{}, true},
		{"too early", StartCondition{After: time.Minute}, Moment{Elapsed: 59 * time.Second}, false},
		{"late", StartCondition{After: time.Minute}, Moment{Elapsed: time.Hour}, true},
		{"in the state", StartCondition{State: "installing"}, Moment{State: "installing"}, true},
		{"past the state", StartCondition{State: "installing"}, Moment{State: "finalizing"}, false},
		{"stage and time", StartCondition{Stage: "Joined", After: time.Minute}, Moment{Stage: "Joined"}, false},
		{"third call", StartCondition{Call: 3}, Moment{Call: 3}, true},
		{"second call", StartCondition{Call: 3}, Moment{Call: 2}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.at.Reached(tc.now); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestVocabulary reads verbs.yaml strictly, and finds the type of every field in it.
func TestVocabulary(t *testing.T) {
	words, err := readVocabulary()
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range []fields{words.Service, words.Hosts, words.Cluster} {
		for verb, args := range half.Verbs {
			for name, kind := range args {
				if _, found := words.Types[kind]; !found {
					t.Errorf("%s: %s has an unknown type %q", verb, name, kind)
				}
			}
		}
	}
}
