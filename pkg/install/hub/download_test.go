package hub

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The discovery Ignition is asked for with the hosts' networks in it, by an address
// that keeps what signs it.
func TestDiscoveryIgnitionHasTheNetworks(t *testing.T) {
	p, at := filledPlane(t, "lab")
	put(t, at, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv", "metadata": map[string]any{"name": "lab", "namespace": "lab"},
		"status": map[string]any{"bootArtifacts": map[string]any{"discoveryIgnitionURL": "https://hub.example.com/v2/infra-envs/1/downloads/files?api_key=signed&file_name=discovery.ign"}},
	}})
	var asked string
	p.http = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	})}
	var got bytes.Buffer
	if err := p.DownloadInfraEnvFile(t.Context(), "lab/lab", "discovery.ign", &got); err != nil {
		t.Fatal(err)
	}
	if want := "https://hub.example.com/v2/infra-envs/1/downloads/files?api_key=signed&discovery_iso_type=full-iso&file_name=discovery.ign"; asked != want || got.String() != "{}" {
		t.Errorf("asked for %s, got %s", asked, &got)
	}
}

// roundTrip is a server.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slow sends a byte each pause, and nothing more after the last.
type slow struct {
	ctx   context.Context
	pause time.Duration
	bytes int
	ends  bool
}

func (s *slow) Read(data []byte) (int, error) {
	if s.bytes == 0 && s.ends {
		return 0, io.EOF
	}
	pause := s.pause
	if s.bytes == 0 {
		pause = 24 * time.Hour
	}
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(pause):
	}
	s.bytes--
	return copy(data, "x"), nil
}

// A server that falls silent is given up, with its answer or in the midst of it;
// one that is merely slow, and a reader that takes its time, are not.
func TestSilentServerIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		mute  bool // there is no answer at all
		bytes int
		ends  bool
	}{
		"no answer":        {mute: true},
		"silent at once":   {},
		"silent after all": {bytes: 10},
		"slow":             {bytes: 10, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &Plane{http: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					if test.mute {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					body := &slow{ctx: r.Context(), pause: kube.RequestTimeout - time.Second, bytes: test.bytes, ends: test.ends}
					return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(body)}, nil
				})}}
				var got bytes.Buffer
				began := time.Now()
				err := p.download(t.Context(), "download logs of", "lab/lab", "https://hub.example.com/logs?token=secret", &got, math.MaxInt64)
				if test.ends != (err == nil) || err != nil && (!strings.Contains(err.Error(), "sent nothing for 30s") || model.FaultOf(err).Code != model.CodeFailure) {
					t.Errorf("got %v", err)
				}
				moved := time.Duration(test.bytes) * (kube.RequestTimeout - time.Second)
				if took := time.Since(began); got.Len() != test.bytes || took > moved+kube.RequestTimeout {
					t.Errorf("%d bytes in %s", got.Len(), took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := &Plane{http: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ContentLength: 2, Body: io.NopCloser(&slow{ctx: r.Context(), bytes: 2, ends: true})}, nil
		})}}
		image, _, err := p.OpenISO(t.Context(), "https://hub.example.com/full.iso", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer image.Close()
		time.Sleep(time.Hour) // its reader is busy
		if data, err := io.ReadAll(image); err != nil || len(data) != 2 {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	})
}

// A small file is given up that is still being sent after a minute, however often a byte of it comes: what needs it waits
// for all of it.
func TestSmallFilesAreThereWithinAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		pause time.Duration
		bytes int
		there bool
	}{
		"slow":        {pause: kube.RequestTimeout - time.Second, bytes: 100},
		"fast enough": {pause: kube.RequestTimeout - time.Second, bytes: 2, there: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &Plane{http: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					body := &slow{ctx: r.Context(), pause: test.pause, bytes: test.bytes, ends: true}
					return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(body)}, nil
				})}}
				var got bytes.Buffer
				began := time.Now()
				err := p.download(t.Context(), "download discovery.ign of InfraEnv", "lab/lab", "https://hub.example.com/files", &got, largestFile)
				if test.there != (err == nil) || err != nil && (!strings.Contains(err.Error(), "is not there after 1m0s") || model.FaultOf(err).Code != model.CodeFailure) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("%d bytes in %s", got.Len(), took)
				}
			})
		})
	}
}
