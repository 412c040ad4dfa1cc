package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// scripted serves a service with a scenario over a real connection.
func scripted(t *testing.T, rules string) (*bench, *httptest.Server) {
	t.Helper()
	sc, err := scenario.Parse("test", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: t}\nspec:\n  service:\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, sc)
	server := httptest.NewServer(b.s)
	t.Cleanup(server.Close)
	return b, server
}

func fetch(t *testing.T, url string, patience time.Duration) (int, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+Base+"/v2/clusters", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func TestFaults(t *testing.T) {
	const patience = 5 * time.Second
	t.Run("respond, twice", func(t *testing.T) {
		_, server := scripted(t, `  - {match: {path: "/v2/clusters"}, do: respond, args: {status: 503, times: 2}}`)
		for i, want := range []int{503, 503, 200} {
			if status, _, err := fetch(t, server.URL, patience); err != nil || status != want {
				t.Errorf("call %d: %d %v, want %d", i+1, status, err, want)
			}
		}
	})
	t.Run("garbage, once, from the second call", func(t *testing.T) {
		_, server := scripted(t, `  - {match: {path: "/v2/clusters"}, at: {call: 2}, do: garbage}`)
		for i, valid := range []bool{true, false, true} {
			if status, text, err := fetch(t, server.URL, patience); err != nil || status != 200 || json.Valid([]byte(text)) != valid {
				t.Errorf("call %d: %d %q %v", i+1, status, text, err)
			}
		}
	})
	t.Run("truncate", func(t *testing.T) {
		_, server := scripted(t, `  - {match: {path: "/v2/clusters"}, do: truncate}`)
		if _, text, err := fetch(t, server.URL, patience); !errors.Is(err, io.ErrUnexpectedEOF) || text != "[" {
			t.Errorf("%q %v, want a body that ends early", text, err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		_, server := scripted(t, `  - {match: {path: "/v2/clusters"}, do: reset}`)
		if status, _, err := fetch(t, server.URL, patience); err == nil {
			t.Errorf("%d, want a broken connection", status)
		}
	})
	t.Run("hang", func(t *testing.T) {
		_, server := scripted(t, `  - {match: {path: "/v2/clusters"}, do: hang}`)
		if _, _, err := fetch(t, server.URL, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the client's own deadline", err)
		}
	})
	t.Run("for a while, after a while", func(t *testing.T) {
		b, server := scripted(t, `  - {match: {path: "/v2/clusters"}, at: {after: 1m}, do: respond, args: {for: 2m}}`)
		for _, step := range []struct {
			pass time.Duration
			want int
		}{{0, 200}, {time.Minute, 500}, {time.Minute, 500}, {time.Minute, 200}} {
			b.clock.at = b.clock.at.Add(step.pass)
			if status, _, _ := fetch(t, server.URL, patience); status != step.want {
				t.Errorf("after %s: %d, want %d", b.clock.at.Sub(b.s.started), status, step.want)
			}
		}
	})
	t.Run("in a state, for agents only", func(t *testing.T) {
		b, _ := scripted(t, `  - {match: {client: agent}, at: {state: installing}, do: respond, args: {status: 502, for: 10m}}`)
		b.make(fields{"control_plane_count": 1})
		m := b.boot()
		b.until(model.ClusterReady)
		b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
		b.until(model.ClusterInstalling)
		b.answers("an agent", "GET", m.path()+"/instructions", nil, http.StatusBadGateway)
		b.inState(model.ClusterInstalling)
	})
	t.Run("expired images are somebody else's", func(t *testing.T) {
		b, server := scripted(t, `  - {do: expire-image}`)
		told := ""
		b.s.cfg.OnTrouble = func(kind string) { told = kind }
		if status, _, _ := fetch(t, server.URL, patience); status != 200 || told != "expire-image" {
			t.Errorf("%d, told %q", status, told)
		}
	})
}

func TestDateIsTheServicesTime(t *testing.T) {
	b := newBench(t, nil)
	for _, path := range []string{"/clusters", "/clusters/nope", "/nothing"} {
		if got, want := b.call("GET", path, nil).header.Get("Date"), b.clock.at.Format(http.TimeFormat); got != want {
			t.Errorf("%s: Date %q, want %q", path, got, want)
		}
	}
}
