package bmc_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	simbmc "github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const password = "correct horse battery staple"

// media serves the same bytes for every host.
type media struct{ *httptest.Server }

func (m media) URL(host string) (string, error)       { return m.Server.URL + "/i/" + host + "x7.iso", nil }
func (m media) Prepare(context.Context, string) error { return nil }

func (m media) Fetched(string) model.Fetched {
	return model.Fetched{Requests: 3, Bytes: 10, Size: 20}
}

func newMedia(t *testing.T) media {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "image.iso", time.Time{}, strings.NewReader("an image"))
	}))
	t.Cleanup(server.Close)
	return media{server}
}

// stopped is a clock that a test moves.
type stopped struct{ at atomic.Int64 }

func (s *stopped) Now() time.Time                             { return time.Unix(s.at.Load(), 0) }
func (s *stopped) Sleep(context.Context, time.Duration) error { return nil }
func (s *stopped) Wall(d time.Duration) time.Duration         { return d }
func (s *stopped) pass(d time.Duration)                       { s.at.Add(int64(d / time.Second)) }

// lab is one BMC of each flavour, behind a proxy.
type lab struct {
	*bmc.Plane
	bmcs    *simbmc.Server
	proxy   *url.URL
	clock   *stopped
	media   media
	desired *model.Desired
}

var _ clock.Clock = &stopped{}

func newLab(t *testing.T, text string, change func(*spec.BMC)) *lab {
	t.Helper()
	l := &lab{clock: &stopped{}, media: newMedia(t), desired: &model.Desired{Spec: &spec.Cluster{}}}
	l.clock.at.Store(time.Now().Unix())
	config := simbmc.Config{Clock: l.clock}
	if text != "" {
		s := must.Get(scenario.Parse("test", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: test}\nspec:\n  hosts:\n"+text)))(t)
		config.Scenario = s
	}
	for i, flavour := range simbmc.Flavours() {
		address := fmt.Sprintf("redfish-virtualmedia+https://192.0.2.%d", i+1)
		if i%2 == 1 {
			address = fmt.Sprintf("http://192.0.2.%d:8000", i+1)
		}
		name := string(flavour)
		config.Machines = append(config.Machines, simbmc.Machine{Name: name, Index: i, UUID: fmt.Sprintf("0000000%d-0000-0000-0000-000000000000", i), Address: address, User: "root", Password: password, Flavour: flavour})
		l.desired.Spec.Spec.Hosts = append(l.desired.Spec.Spec.Hosts, spec.Host{Name: name, BMC: &spec.BMC{Address: address, Credentials: spec.CredentialsOf("root", spec.NewSecret(password))}})
	}
	l.bmcs = must.Get(simbmc.New(config))(t)
	for i := range l.desired.Spec.Spec.Hosts {
		b := l.desired.Spec.Spec.Hosts[i].BMC
		b.CA = &spec.PublicSource{Inline: string(l.bmcs.Certificate())}
		if change != nil {
			change(b)
		}
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.bmcs.Serve(ctx, listener) }()
	t.Cleanup(func() { stop(); <-done })
	l.proxy = &url.URL{Scheme: "http", Host: listener.Addr().String()}
	l.Plane = bmc.New(bmc.Config{Media: l.media, Clock: l.clock, Proxy: l.proxy})
	return l
}

func (l *lab) see(t *testing.T, host string) model.MachineState {
	t.Helper()
	l.clock.pass(time.Minute)
	states := must.Get(l.Observe(t.Context(), l.desired, nil, []string{host}))(t)
	return states[host]
}

func (l *lab) do(t *testing.T, host string, kind model.Kind) {
	t.Helper()
	must.Do(t, l.Act(t.Context(), l.desired, nil, model.Action{Kind: kind, Name: host}), kind)
}

// TestBoot takes a machine of every maker from off to booting our image, and
// back.
func TestBoot(t *testing.T) {
	l := newLab(t, "", nil)
	for _, flavour := range simbmc.Flavours() {
		host := string(flavour)
		t.Run(host, func(t *testing.T) {
			ours, _ := l.media.URL(host)
			stays := flavour == simbmc.Sushy // its boot override is not used up by a boot
			want := func(when string, want model.MachineState) {
				t.Helper()
				want.BootStays = stays && want.BootOnce
				want.Fetch = l.media.Fetched(host)
				if want.OurMedia {
					want.Media = ours
				}
				check.Equal(t, l.see(t, host), want, when)
			}
			want("at first", model.MachineState{Power: model.PowerIsOff})
			l.do(t, host, model.InsertMedia)
			want("with the image", model.MachineState{Power: model.PowerIsOff, OurMedia: true})
			l.do(t, host, model.InsertMedia) // another process was faster: no harm
			l.do(t, host, model.SetBootOnce)
			want("to boot from it", model.MachineState{Power: model.PowerIsOff, OurMedia: true, BootOnce: true})
			l.do(t, host, model.PowerOn)
			if got := l.see(t, host); got.Power != model.PowerIsOn || got.BootOnce == got.BootStays {
				t.Errorf("on: %+v", got)
			}
			l.do(t, host, model.PowerOn)

			if content, _, err := l.bmcs.System(host).Boot(t.Context()); err != nil || content == nil {
				t.Errorf("it boots %v, %v", content, err)
			}
			if got := l.see(t, host); got.BootOnce || got.BootStays != stays {
				t.Errorf("booted: %+v", got)
			}
			l.do(t, host, model.SetBootOnce)
			l.do(t, host, model.EjectMedia)
			if got := l.see(t, host); got.Media != "" || got.BootOnce == got.BootStays {
				t.Errorf("ejected: %+v", got)
			}
			l.do(t, host, model.RestoreBoot)
			want("restored", model.MachineState{Power: model.PowerIsOn})
			l.do(t, host, model.EjectMedia)
			l.do(t, host, model.RestoreBoot)
			l.do(t, host, model.PowerOff)
			want("off", model.MachineState{Power: model.PowerIsOff})
		})
	}
}

// TestForeignMedia replaces an image that another process has left, and does not eject it where only ours is to be
// ejected.
func TestForeignMedia(t *testing.T) {
	l := newLab(t, "", nil)
	for _, flavour := range simbmc.Flavours() {
		host := string(flavour)
		elsewhere := newMedia(t)
		somebody := &lab{clock: l.clock, desired: l.desired}
		somebody.Plane = bmc.New(bmc.Config{Media: renamed{elsewhere}, Clock: l.clock, Proxy: l.proxy})
		somebody.do(t, host, model.InsertMedia)
		if got := l.see(t, host); got.OurMedia || got.Media == "" {
			t.Errorf("%s: somebody else's image is %+v", host, got)
		}
		l.do(t, host, model.EjectMedia)
		if got := l.see(t, host); got.Media == "" {
			t.Errorf("%s: somebody else's image was ejected", host)
		}
		l.do(t, host, model.InsertMedia)
		if got := l.see(t, host); !got.OurMedia {
			t.Errorf("%s: ours is not in the drive: %+v", host, got)
		}
		l.do(t, host, model.SetBootOnce)
		for _, want := range [][]string{{host}, nil} { // the second time there is nothing to do
			if ejected, err := l.Eject(t.Context(), l.desired, host); err != nil || !slices.Equal(ejected, want) {
				t.Errorf("%s: ejected %q, not %q: %v", host, ejected, want, err)
			}
		}
		if got := l.see(t, host); got.Media != "" || got.BootOnce {
			t.Errorf("%s: after Eject %+v", host, got)
		}
	}
}

// renamed gives the images other names.
type renamed struct{ media }

func (r renamed) URL(string) (string, error) { return r.Server.URL + "/other.iso", nil }
