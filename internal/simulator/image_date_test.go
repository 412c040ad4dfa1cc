package simulator_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// ticking is a clock that each reading moves on, so that no two things happen
// at once.
type ticking struct {
	clock.Clock
	offset *time.Duration
}

func (c ticking) Now() time.Time { return c.Clock.Now().Add(*c.offset) }

// nextMillisecond returns once the clock shows a later millisecond than now.
func nextMillisecond(t *testing.T) {
	t.Helper()
	real := clock.Real()
	for began := real.Now().Truncate(time.Millisecond); !real.Now().Truncate(time.Millisecond).After(began); {
		if err := real.Sleep(t.Context(), 100*time.Microsecond); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhoRunsAnOldImage is told from what the service gives back: a change of
// the InfraEnv makes hosts old, a fresh URL does not, and registering again
// makes them new.
func TestWhoRunsAnOldImage(t *testing.T) {
	_, address := serve(t, auth.None)
	api := address + "/api/assisted-install/v2"
	cluster := call(t, http.MethodPost, api+"/clusters", map[string]any{
		"name": "lab", "base_dns_domain": "example.com", "openshift_version": "4.20", "pull_secret": pullSecret, "tags": "oaictl",
	})
	env := call(t, http.MethodPost, api+"/infra-envs", map[string]any{"name": "lab", "openshift_version": "4.20", "pull_secret": pullSecret, "cluster_id": cluster["id"]})
	image := api + "/infra-envs/" + env["id"].(string)
	register := func() {
		// The service, which lives by the same clock, tells milliseconds apart.
		nextMillisecond(t)
		call(t, http.MethodPost, image+"/hosts", map[string]any{"host_id": "aaaaaaaa-0000-0000-0000-000000000001"})
		nextMillisecond(t)
	}
	var offset time.Duration
	plane, err := rest.New(rest.Config{URL: address, Clock: ticking{clock.Real(), &offset}})
	if err != nil {
		t.Fatal(err)
	}
	old := func() bool {
		t.Helper()
		offset += 20 * time.Minute // everything is due again
		o, err := plane.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com", Detail: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Hosts) != 1 || len(o.InfraEnvs) != 1 || o.Hosts[0].Registered.IsZero() || o.InfraEnvs[0].Image.Created.IsZero() || !o.InfraEnvs[0].Owned {
			t.Fatalf("observed %+v and %+v", o.Hosts, o.InfraEnvs)
		}
		return o.Hosts[0].Registered.Before(o.InfraEnvs[0].Image.Created)
	}
	register()
	if old() {
		t.Error("the host has just booted the image")
	}
	call(t, http.MethodGet, image+"/downloads/image-url", nil)
	if old() {
		t.Error("a fresh URL makes no new image")
	}
	call(t, http.MethodPatch, image, map[string]any{"kernel_arguments": []map[string]string{{"operation": "append", "value": "console=ttyS0"}}})
	if !old() {
		t.Error("the image has changed since the host booted")
	}
	call(t, http.MethodGet, image+"/downloads/image-url", nil)
	if !old() {
		t.Error("a fresh URL does not undo that")
	}
	register()
	if old() {
		t.Error("the host registered again after the image was changed")
	}
}
