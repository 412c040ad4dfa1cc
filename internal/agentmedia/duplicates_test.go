package agentmedia

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// late keeps the first request that makes an object of a kind on its way, and has
// something else happen meanwhile.
type late struct {
	next      http.RoundTripper
	kind      string // /clusters
	meanwhile func()
	held      *http.Request // what is still to arrive; nil where it was passed on
	abandon   bool          // the caller does not wait for the answer any more
	seen      bool
}

func (l *late) RoundTrip(request *http.Request) (*http.Response, error) {
	if l.seen || request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, l.kind) {
		return l.next.RoundTrip(request)
	}
	l.seen = true
	l.meanwhile()
	if !l.abandon {
		return l.next.RoundTrip(request)
	}
	data, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	l.held = request.Clone(context.WithoutCancel(request.Context()))
	l.held.Body = io.NopCloser(bytes.NewReader(data))
	return nil, errors.New("killed")
}

// arrive delivers to the service what was held.
func (l *late) arrive(t *testing.T) {
	t.Helper()
	response, err := l.next.RoundTrip(l.held)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("the late request is answered with %d", response.StatusCode)
	}
}

// TestKilledInFlight has the request of a process that was killed arrive after a
// second process has made the same: the medium goes on with what was there first.
func TestKilledInFlight(t *testing.T) {
	m := newMedium(t, auth.None)
	for _, made := range []struct {
		kind string
		step stepFunc
	}{{"/clusters", (*Client).RegisterCluster}, {"/infra-envs", (*Client).RegisterInfraEnv}} {
		ctx, kill := context.WithCancelCause(t.Context())
		wire := &late{next: http.DefaultTransport, kind: made.kind, abandon: true, meanwhile: func() { kill(errors.New("killed")) }}
		m.wire.next = wire
		if _, err := made.step(m.client(), ctx); err == nil {
			t.Fatal("the killed process ends well")
		}
		first := m.must(made.step, "registered")
		wire.arrive(t)
		if n := len(m.raw(made.kind)); n != 2 {
			t.Fatalf("%d of %s, want the late one, too", n, made.kind)
		}
		m.wire.made()
		if again := m.must(made.step, unchanged); again.ID != first.ID {
			t.Errorf("%s goes on with %s, not with the first, %s", made.kind, again.ID, first.ID)
		}
		if writes := m.wire.made(); len(writes) > 0 {
			t.Errorf("a step that was done already writes %v", writes)
		}
	}
	cluster := m.must((*Client).RegisterCluster, unchanged)
	for _, env := range m.raw("/infra-envs") {
		if env["cluster_id"] != cluster.ID {
			t.Errorf("an InfraEnv is of cluster %v, not of %s", env["cluster_id"], cluster.ID)
		}
	}
	m.boot(host.Day1)
	m.must((*Client).StartInstall, "started")
}

// TestTwoAtOnce runs a step a second time while the request of the first is on its
// way: the run that comes second takes its cluster back.
func TestTwoAtOnce(t *testing.T) {
	m := newMedium(t, auth.None)
	var other Result
	m.wire.next = &late{next: http.DefaultTransport, kind: "/clusters", meanwhile: func() { other = m.must((*Client).RegisterCluster, "registered") }}
	if own := m.must((*Client).RegisterCluster, "registered"); own.ID != other.ID {
		t.Errorf("one run goes on with cluster %s, the other with %s", own.ID, other.ID)
	}
	if clusters := m.raw("/clusters"); len(clusters) != 1 || clusters[0]["id"] != other.ID {
		t.Errorf("there are %d clusters", len(clusters))
	}
	m.wire.next = &late{next: http.DefaultTransport, kind: "/infra-envs", meanwhile: func() { other = m.must((*Client).RegisterInfraEnv, "registered") }}
	if own := m.must((*Client).RegisterInfraEnv, "registered"); own.ID != other.ID {
		t.Errorf("one run goes on with InfraEnv %s, the other with %s", own.ID, other.ID)
	}
}

// TestDuplicates shows which of several is meant, and when none is.
func TestDuplicates(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	cluster := func(id, name string, made int64, owned bool, hosts int) model.Cluster {
		return model.Cluster{ClusterRef: model.ClusterRef{ID: id, Name: name, Created: at(made), Owned: owned, Hosts: hosts}}
	}
	for name, test := range map[string]struct {
		found []model.Cluster
		envs  []model.InfraEnv
		want  string
	}{
		"the eldest":            {[]model.Cluster{cluster("b", "lab", 2, true, 0), cluster("a", "lab", 1, true, 3)}, nil, "a"},
		"of the same moment":    {[]model.Cluster{cluster("b", "lab", 1, true, 0), cluster("a", "lab", 1, true, 0)}, nil, "a"},
		"with an InfraEnv":      {[]model.Cluster{cluster("a", "lab", 1, true, 0), cluster("b", "lab", 2, true, 0)}, []model.InfraEnv{{ID: "e", ClusterID: "a"}}, "a"},
		"a younger with hosts":  {[]model.Cluster{cluster("a", "lab", 1, true, 0), cluster("b", "lab", 2, true, 1)}, nil, ""},
		"a younger that is set": {[]model.Cluster{cluster("a", "lab", 1, true, 0), cluster("b", "lab", 2, true, 0)}, []model.InfraEnv{{ID: "e", ClusterID: "b"}}, ""},
		"another name":          {[]model.Cluster{cluster("a", "lab", 1, true, 0), cluster("b", "other", 2, true, 0)}, nil, ""},
		"somebody else's":       {[]model.Cluster{cluster("a", "lab", 1, true, 0), cluster("b", "lab", 2, false, 0)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := &Client{Service: &shelf{clusters: test.found, envs: test.envs}, Warn: func(string, ...any) {}}
			got, err := client.cluster(t.Context())
			if test.want == "" {
				if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "found multiple clusters") {
					t.Errorf("%+v, %v; want several", got, err)
				}
			} else if err != nil || got.ID != test.want {
				t.Errorf("%+v, %v; want %s", got, err, test.want)
			}
		})
	}
	env := func(id string, made int64) model.InfraEnv {
		return model.InfraEnv{ID: id, Name: "lab", Created: at(made)}
	}
	for _, test := range []struct {
		hosts map[string]int
		want  string
	}{{nil, "a"}, {map[string]int{"b": 2}, "b"}, {map[string]int{"a": 1, "b": 1}, ""}} {
		client := &Client{Service: &shelf{envs: []model.InfraEnv{env("b", 2), env("a", 1)}, hosts: test.hosts}, Warn: func(string, ...any) {}}
		got, err := client.infraEnv(t.Context())
		if (err == nil) != (test.want != "") || got != nil && got.ID != test.want {
			t.Errorf("hosts %v: %+v, %v; want %q", test.hosts, got, err, test.want)
		}
	}
}

// shelf is a service that has what it is given.
type shelf struct {
	Service
	clusters []model.Cluster
	envs     []model.InfraEnv
	hosts    map[string]int // by InfraEnv
}

func (s *shelf) ListClusters(context.Context) ([]model.Cluster, error) { return s.clusters, nil }
func (s *shelf) ListInfraEnvs(context.Context, string) ([]model.InfraEnv, error) {
	return s.envs, nil
}
func (s *shelf) ListHosts(_ context.Context, env string) ([]model.Host, error) {
	return make([]model.Host, s.hosts[env]), nil
}
