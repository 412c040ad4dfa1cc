package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// TestSupportedPlatforms are none but none, without hosts and for a single node.
func TestSupportedPlatforms(t *testing.T) {
	for name, tc := range map[string]struct {
		asked fields
		hosts int
		want  string
	}{
		"no hosts":      {fields{}, 0, `["none"]`},
		"hosts":         {fields{}, 1, `["baremetal","none","external"]`},
		"a single node": {fields{"control_plane_count": 1}, 1, `["none"]`},
	} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, tc.asked)
			for range tc.hosts {
				b.boot()
			}
			if got := strings.TrimSpace(b.must("GET", "/clusters/"+b.cluster+"/supported-platforms", nil).text); got != tc.want {
				t.Errorf("%s", got)
			}
		})
	}
}

// oldBench is a bench with a service of an older release.
func oldBench(t *testing.T, release versions.ServiceRelease) *bench {
	t.Helper()
	clock := &handClock{at: time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)}
	return &bench{t: t, clock: clock, s: New(Config{Clock: clock, Seed: 7, Release: release})}
}

// What a release does not know yet is refused as any unknown field is, taken from
// the release on that has it, and shown from then on.
func TestFieldsOfReleases(t *testing.T) {
	for _, test := range []struct {
		field   string
		since   versions.ServiceRelease
		method  string
		path    string
		params  string
		body    fields
		refusal string // "" for the usual one
	}{
		{field: "control_plane_count", since: "2.13", method: "POST", path: "/clusters", params: "newClusterParams", body: fields{"control_plane_count": 3}},
		{field: "load_balancer", since: "2.13", method: "POST", path: "/clusters", params: "newClusterParams", body: fields{"load_balancer": fields{"type": "cluster-managed"}}},
		{field: "load_balancer", since: "2.13", method: "PATCH", path: "C", params: "clusterUpdateParams", body: fields{"load_balancer": fields{"type": "cluster-managed"}}},
		{field: "network_discovery_delay_seconds", since: "2.17", method: "PATCH", path: "E", params: "infraEnvUpdateParams", body: fields{"network_discovery_delay_seconds": 5}},
		{field: "fencing_credentials", since: "2.15", method: "PATCH", path: "H", params: "hostUpdateParams", body: fields{"fencing_credentials": fields{"address": "https://b", "username": "u", "password": "p"}}},
		{field: "hyperthreading", since: "2.14", method: "PATCH", path: "C", body: fields{"hyperthreading": "masters,workers"}, refusal: "hyperthreading in body should be one of [masters workers none all]"},
		{field: "host_role", since: "2.14", method: "PATCH", path: "H", body: fields{"host_role": "arbiter"}, refusal: "host_role in body should be one of [auto-assign master worker]"},
	} {
		refusal := test.refusal
		if refusal == "" {
			refusal = "parsing " + test.params + ` body from "" failed, because json: unknown field "` + test.field + `"`
		}
		for _, release := range []versions.ServiceRelease{"2.11", "2.13", "2.15", "2.17", ""} {
			b := oldBench(t, release)
			b.make(nil)
			m := b.boot()
			m.poll()
			body := fields{}
			if test.path == "/clusters" {
				body = fields{"name": "d", "openshift_version": "4.21", "pull_secret": pullSecret}
			}
			for k, v := range test.body {
				body[k] = v
			}
			path := map[string]string{"/clusters": "/clusters", "C": "/clusters/" + b.cluster, "E": "/infra-envs/" + b.infraEnv, "H": m.path()}[test.path]
			a := b.call(test.method, path, body)
			if known := a.status < 300; known != release.Has(string(test.since)) || !known && a.reason() != refusal {
				t.Errorf("%s of release %q: %d %s", test.field, release, a.status, a.text)
			}
		}
	}
}

// The answers of an older release lack what it does not know, the parts of the API
// that it has not are not found, and its machines have its stages.
func TestAnswersOfReleases(t *testing.T) {
	for _, release := range []versions.ServiceRelease{"2.11", "2.13", "2.15", ""} {
		b := oldBench(t, release)
		b.compact(3)
		b.until(model.ClusterReady)
		cluster := b.get()
		for field, since := range map[string]string{"control_plane_count": "2.13", "load_balancer": "2.13", "operator_bundles": "2.18"} {
			if _, shown := cluster[field]; shown != release.Has(since) {
				t.Errorf("release %q shows %s: %v", release, field, shown)
			}
		}
		for path, since := range map[string]string{"/operators/bundles": "2.13", "/support-levels/features/detailed?openshift_version=4.18": "2.15"} {
			if got := b.call("GET", path, nil).status; got != map[bool]int{true: 200, false: 404}[release.Has(since)] {
				t.Errorf("release %q: %s is %d", release, path, got)
			}
		}
		levels := b.must("GET", "/support-levels/features?openshift_version=4.18", nil).object()["features"].(map[string]any)
		if _, known := levels["TNF"]; known != release.Has("2.15") {
			t.Errorf("release %q knows TNF: %v", release, known)
		}
		checks := outcomes(t, b.machines[0].get())
		if _, made := checks["mtu-valid"]; made != release.Has("2.13") {
			t.Errorf("release %q checks the MTU: %v", release, made)
		}
		b.install()
		stages := b.machines[0].get()["progress_stages"].([]any)
		if copies := slices.Contains(stages, any(model.StageCopying)); copies != release.Has("2.16") {
			t.Errorf("release %q: stages %v", release, stages)
		}
	}
}
