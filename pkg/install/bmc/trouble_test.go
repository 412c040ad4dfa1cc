package bmc_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	simbmc "github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestTrouble checks the errors for BMCs that do not do what they should: each is about one machine, in words, and
// without the password.
func TestTrouble(t *testing.T) {
	all := func(do string) string { return "  - {at: {after: 0s}, do: " + do + "}\n" }
	wrong := func(b *spec.BMC) { b.Credentials = spec.CredentialsOf("root", spec.NewSecret("hunter2")) }
	for _, test := range []struct {
		name, scenario string
		change         func(*spec.BMC)
		kind           model.TroubleKind
		text           string
	}{
		{"unreachable", all("bmc-unreachable"), nil, model.TroubleUnreachable, "cannot be reached"},
		{"refuses the password", all("bmc-wrong-credentials"), nil, model.TroubleCredentials, "refuses the user and the password"},
		{"wrong password", "", wrong, model.TroubleCredentials, "refuses the user and the password"},
		{"no virtual media", all("bmc-no-virtual-media"), nil, model.TroubleNoVirtualMedia, "no virtual CD drive"},
		{"no such system", "", func(b *spec.BMC) { b.System = "blade-9" }, model.TroubleOther, `no system "blade-9"`},
		{"no address", "", func(b *spec.BMC) { b.Address = "https://" }, model.TroubleOther, "not the address of a BMC"},
		{"no certificate", "", func(b *spec.BMC) { b.CA = &spec.PublicSource{Inline: "nothing"} }, model.TroubleOther, "bmc.ca holds no certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, test.scenario, test.change)
			for _, flavour := range simbmc.Flavours() {
				got := l.see(t, string(flavour))
				if got.TroubleKind != test.kind || !strings.Contains(got.Trouble, test.text) {
					t.Errorf("%s: %s %q", flavour, got.TroubleKind, got.Trouble)
				}
				if strings.Contains(got.Trouble, password) || strings.Contains(got.Trouble, "hunter2") {
					t.Errorf("%s: the password is told: %s", flavour, got.Trouble)
				}
			}
		})
	}
}

// TestUntrusted refuses a certificate that the file does not say to trust, and
// takes it where it says not to look.
func TestUntrusted(t *testing.T) {
	strict := newLab(t, "", func(b *spec.BMC) { b.CA = nil })
	if got := strict.see(t, "sushy"); got.TroubleKind != model.TroubleOther || !strings.Contains(got.Trouble, "not trusted") {
		t.Errorf("%s %q", got.TroubleKind, got.Trouble)
	}
	loose := newLab(t, "", func(b *spec.BMC) { b.CA, b.Insecure = nil, true })
	if got := loose.see(t, "sushy"); got.Trouble != "" {
		t.Errorf("insecure: %q", got.Trouble)
	}
}

// TestSessionsTaken goes on without a session where the BMC allows it, and says
// so where it does not.
func TestSessionsTaken(t *testing.T) {
	l := newLab(t, "  - {at: {after: 0s}, do: bmc-session-limit}\n", nil)
	for _, flavour := range simbmc.Flavours() {
		got := l.see(t, string(flavour))
		if flavour == simbmc.Sushy { // which has no sessions
			check.Equal(t, got.Trouble, "", "sushy")
			continue
		}
		if got.TroubleKind != model.TroubleBusy || !strings.Contains(got.Trouble, "sessions") {
			t.Errorf("%s: %s %q", flavour, got.TroubleKind, got.Trouble)
		}
	}
}

// TestSessionsClosed looks far more often than a BMC has sessions.
func TestSessionsClosed(t *testing.T) {
	l := newLab(t, "", nil)
	for range 20 {
		if got := l.see(t, "idrac"); got.Trouble != "" {
			t.Fatal(got.Trouble)
		}
	}
}

// TestMediaRefused names the BMC that does not take the image, and where it
// should have read it.
func TestMediaRefused(t *testing.T) {
	l := newLab(t, "  - {at: {after: 0s}, do: bmc-media-refused}\n", nil)
	for _, flavour := range simbmc.Flavours() {
		err := l.Act(t.Context(), l.desired, nil, model.Action{Kind: model.InsertMedia, Name: string(flavour)})
		check.Says(t, err, "refuses the image from "+l.media.Server.URL+":", flavour)
		if err != nil && strings.Contains(err.Error(), ".iso") {
			t.Errorf("%s: the image's URL is told: %v", flavour, err)
		}
	}
}

// TestEjectNamesHosts holds that one unreachable BMC stops no other.
func TestEjectNamesHosts(t *testing.T) {
	l := newLab(t, "  - {match: {name: ilo}, at: {after: 0s}, do: bmc-unreachable}\n", nil)
	l.do(t, "xcc", model.InsertMedia)
	ejected, err := l.Eject(t.Context(), l.desired, "ilo", "xcc")
	if len(ejected) != 1 || ejected[0] != "xcc" {
		t.Errorf("ejected %q", ejected)
	}
	if err == nil || !strings.Contains(err.Error(), "ilo") || strings.Contains(err.Error(), "xcc") {
		t.Errorf("%v", err)
	}
	if got := l.see(t, "xcc"); got.OurMedia {
		t.Error("the image of xcc was not ejected")
	}
}

// TestRemembered asks a BMC once for looks that follow each other at once, and
// anew after an action.
func TestRemembered(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.Error(w, "{}", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	now := &stopped{}
	p := bmc.New(bmc.Config{Media: media{server}, Clock: now})
	desired := &model.Desired{Spec: &spec.Cluster{}}
	desired.Spec.Spec.Hosts = []spec.Host{{Name: "a", BMC: &spec.BMC{Address: server.URL, Credentials: spec.CredentialsOf("root", spec.NewSecret(password))}}}
	look := func() int32 {
		must.Get(p.Observe(t.Context(), desired, nil, []string{"a"}))(t)
		return requests.Load()
	}
	first := look()
	if again := look(); again != first {
		t.Errorf("asked %d times, not %d", again, first)
	}
	now.pass(time.Minute)
	if later := look(); later == first {
		t.Error("not asked again after a minute")
	}
	before := requests.Load()
	_ = p.Act(t.Context(), desired, nil, model.Action{Kind: model.PowerOn, Name: "a"})
	acted := requests.Load()
	if after := look(); acted == before || after == acted {
		t.Errorf("requests %d, %d, %d", before, acted, after)
	}
}

// TestInterrupted ends a look when the run is left, and leaves no session open.
func TestInterrupted(t *testing.T) {
	var open atomic.Int32
	ctx, stop := context.WithCancelCause(t.Context())
	left := errors.New("left")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimRight(r.URL.Path, "/") == "/redfish/v1" && open.Load() == 0 {
			_, _ = w.Write([]byte(`{"Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}`))
			return
		}
		switch r.Method {
		case http.MethodPost:
			open.Add(1)
			w.Header().Set("X-Auth-Token", "t")
			w.Header().Set("Location", r.URL.Path+"/1")
			w.WriteHeader(http.StatusCreated)
		case http.MethodDelete:
			open.Add(-1)
		default:
			stop(left)
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	p := bmc.New(bmc.Config{Media: media{server}, Clock: &stopped{}})
	desired := &model.Desired{Spec: &spec.Cluster{}}
	desired.Spec.Spec.Hosts = []spec.Host{{Name: "a", BMC: &spec.BMC{Address: server.URL, Credentials: spec.CredentialsOf("root", spec.NewSecret(password))}}}
	if _, err := p.Observe(ctx, desired, nil, []string{"a"}); !errors.Is(err, left) {
		t.Errorf("%v", err)
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d sessions are left open", n)
	}
}
