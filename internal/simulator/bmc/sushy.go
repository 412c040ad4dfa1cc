package bmc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// Where sushy-tools (its fake driver) is not Redfish: recorded, with and without an auth file.

const emulatorRealm = `Basic realm="Baremetal API"`

// ownDisk is the boot target of the emulator before a client sets one.
const ownDisk = "Hdd"

func fault(w http.ResponseWriter, status int, format string, args ...any) {
	writeJSON(w, status, object{"error": object{
		"code": "Base.1.0.GeneralError", "message": fmt.Sprintf(format, args...),
		"@Message.ExtendedInfo": []object{{"@odata.type": "/redfish/v1/$metadata#Message.1.0.0.Message", "MessageId": "Base.1.0.GeneralError"}},
	}})
}

// say answers with a text, which the emulator calls JSON all the same.
func say(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client is gone if this fails
}

// emulatorRoutes are those that the emulator has otherwise or beside the others.
func (c *controller) emulatorRoutes(
	system func(func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc,
	media func(func(http.ResponseWriter, *http.Request, *System)) http.HandlerFunc,
) {
	at, drive := root+"/Systems/{id}", root+"/Systems/{id}/VirtualMedia/{slot}"
	c.mux.HandleFunc("PATCH "+at, system(c.overrideBoot))
	c.mux.HandleFunc("POST "+at+"/Actions/ComputerSystem.Reset", system(c.switchLater))
	c.mux.HandleFunc("PATCH "+drive, media(c.refusePatch))
	c.mux.HandleFunc("POST "+drive+"/Actions/VirtualMedia.InsertMedia", media(c.download))
	c.mux.HandleFunc("POST "+drive+"/Actions/VirtualMedia.EjectMedia", media(c.ejectMedia))
	c.mux.HandleFunc("GET "+at+"/Storage", system(func(w http.ResponseWriter, _ *http.Request, s *System) {
		fault(w, http.StatusInternalServerError, "Error finding storage collection by UUID %q", s.id)
	}))
	c.mux.HandleFunc("GET "+at+"/SimpleStorage", system(func(w http.ResponseWriter, _ *http.Request, _ *System) {
		fault(w, http.StatusNotImplemented, "Not implemented")
	}))
	for _, empty := range []string{"/Chassis", "/TaskService", "/UpdateService", "/Registries"} { // which no install needs
		c.mux.HandleFunc("GET "+root+empty, c.requireAuth(bare))
	}
	for _, empty := range []string{"/EthernetInterfaces", "/SecureBoot"} {
		c.mux.HandleFunc("GET "+at+empty, system(func(w http.ResponseWriter, r *http.Request, _ *System) { bare(w, r) }))
	}
	for _, at := range []string{root + "/Systems", at, root + "/Managers"} {
		c.mux.HandleFunc(at, c.requireAuth(func(w http.ResponseWriter, _ *http.Request) {
			fault(w, http.StatusMethodNotAllowed, "405 Method Not Allowed: The method is not allowed for the requested URL.")
		}))
	}
	c.mux.HandleFunc("/redfish", func(w http.ResponseWriter, r *http.Request) { c.missing(w, r) })
	c.mux.HandleFunc("/", c.requireAuth(c.missing)) // sessions too: it has none
}

// bare is a resource of which only the path is known here.
func bare(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, object{"@odata.id": r.URL.Path, "Name": path.Base(r.URL.Path)})
}

func (c *controller) missing(w http.ResponseWriter, r *http.Request) {
	if !c.dialect.Emulator {
		notFound(w, r)
		return
	}
	fault(w, http.StatusNotFound,
		"404 Not Found: The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.")
}

// noSystem answers a request for a system or manager that does not exist.
func (c *controller) noSystem(w http.ResponseWriter, r *http.Request) {
	said := "Fake system %s was not found"
	switch {
	case !c.dialect.Emulator:
		notFound(w, r)
		return
	case strings.HasPrefix(r.URL.Path, root+"/Managers/"):
		said = "Manager with UUID %s was not found"
	}
	fault(w, http.StatusNotFound, said, r.PathValue("id"))
}

// named redirects requests that have the name of a system in place of its id.
func (c *controller) named(w http.ResponseWriter, r *http.Request) (found bool) {
	for _, s := range c.systems {
		if c.dialect.Emulator && s.machine.Name == r.PathValue("id") && s.machine.Name != s.id {
			http.Redirect(w, r, strings.Replace(r.URL.Path, "/Systems/"+s.machine.Name, "/Systems/"+s.id, 1), http.StatusTemporaryRedirect)
			return true
		}
	}
	return false
}

// overrideBoot takes any target. BootSourceOverrideEnabled always reads Continuous afterwards.
func (c *controller) overrideBoot(w http.ResponseWriter, r *http.Request, s *System) {
	var asked struct{ Boot map[string]any }
	if !c.body(w, r, &asked) {
		return
	}
	if len(asked.Boot) == 0 {
		say(w, http.StatusBadRequest, "PATCH only works for Boot and IndicatorLED elements")
		return
	}
	target, _ := asked.Boot["BootSourceOverrideTarget"].(string)
	mode, _ := asked.Boot["BootSourceOverrideMode"].(string)
	if target == "" && mode == "" {
		say(w, http.StatusBadRequest, "Missing the BootSourceOverrideTarget and/or BootSourceOverrideMode and/or HttpBootUri element")
		return
	}
	boot := s.settings()
	s.set(override{Target: cmp.Or(target, boot.Target), Enabled: continuous, Mode: cmp.Or(mode, boot.Mode)})
	writeJSON(w, http.StatusNoContent, nil)
}

// switchLater has the machine switched; what it reads follows seconds later.
func (c *controller) switchLater(w http.ResponseWriter, r *http.Request, s *System) {
	var asked struct{ ResetType *string }
	if !c.body(w, r, &asked) {
		return
	}
	switch {
	case asked.ResetType == nil:
		fault(w, http.StatusInternalServerError, "argument of type 'NoneType' is not iterable")
	case !s.resetLater(*asked.ResetType):
		fault(w, http.StatusNotImplemented, "Power state %s is not supported", *asked.ResetType)
	default:
		writeJSON(w, http.StatusNoContent, nil)
	}
}

// resetLater asks a machine to be switched; what shows already changes nothing. False is an unknown way.
func (s *System) resetLater(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, wanted := s.showsOn(), false
	switch kind {
	case "On", "ForceOn":
		wanted = true
	case "ForceOff", "GracefulShutdown":
	case "ForceRestart", "GracefulRestart":
		shown, wanted = false, true
	default:
		return false
	}
	if shown == wanted {
		return true
	}
	restart := strings.HasSuffix(kind, "Restart")
	if s.on != wanted || restart {
		s.switchLocked(wanted, 0)
	}
	s.shown, s.settles = shown, s.clock.Now().Add(s.powerDelay())
	return true
}

// showsOn is the power that the controller says; mu is held.
func (s *System) showsOn() bool {
	if s.dialect.Emulator && s.clock.Now().Before(s.settles) {
		return s.shown
	}
	return s.on
}

// powerDelay is how long a switched machine reads as before: 1 to 11 seconds.
func (s *System) powerDelay() time.Duration {
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s %d", s.machine.UUID, s.starts)
	return time.Duration(1+sum.Sum32()%11) * time.Second
}

// refusePatch: a drive of the emulator takes nothing but its certificate settings.
func (c *controller) refusePatch(w http.ResponseWriter, r *http.Request, _ *System) {
	var asked struct{ VerifyCertificate *bool }
	switch {
	case !c.body(w, r, &asked):
	case asked.VerifyCertificate != nil:
		writeJSON(w, http.StatusNoContent, nil)
	default:
		fault(w, http.StatusBadRequest, "Empty or malformed patch")
	}
}

// download inserts an image once it has all of it. It goes on when the client hangs up.
func (c *controller) download(w http.ResponseWriter, r *http.Request, s *System) {
	var asked struct{ Image *string }
	if !c.body(w, r, &asked) {
		return
	}
	image := "None"
	if asked.Image != nil {
		image = *asked.Image
	}
	if trouble := c.trouble.of(s.machine, scenario.DoBMCMediaRefused); trouble != nil {
		fault(w, trouble.Args.Int("status", http.StatusInternalServerError), "Failed fetching image from URL %s", image)
		return
	}
	ctx, stop := untilServerEnds(r.Context())
	defer stop()
	copied, err := s.reader.fetchWhole(ctx, image)
	var answered *statusError
	switch {
	case errors.As(err, &answered):
		status := http.StatusBadRequest
		if answered.status >= http.StatusInternalServerError {
			status = http.StatusBadGateway
		}
		fault(w, status, "Cannot download virtual media: got error %d from the server", answered.status)
	case err != nil:
		fault(w, http.StatusInternalServerError, "Failed fetching image from URL %s: %v", image, err)
	default:
		s.keep(r.PathValue("slot"), image, copied)
		writeJSON(w, http.StatusNoContent, nil)
	}
}

func (s *System) keep(slot, url string, copied []byte) {
	s.insert(slot, url)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copies[slot] = copied
}

type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the server answers %d", e.status) }

// fetchWhole reads an image in full, however long that takes. One too large to keep is nil.
func (m *mediaReader) fetchWhole(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "python-requests/2.28.1")
	response, err := (&http.Client{Transport: m.client.Transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusBadRequest {
		return nil, &statusError{response.StatusCode}
	}
	var kept bytes.Buffer
	if _, err := io.Copy(&kept, io.LimitReader(response.Body, mostWhole)); err != nil {
		return nil, err
	}
	rest, err := io.Copy(io.Discard, response.Body)
	if err != nil || rest > 0 {
		return nil, err
	}
	return kept.Bytes(), nil
}

// serverEnds is the key of the context that ends with the server, in those of its requests.
type serverEnds struct{}

func untilServerEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	if server, ok := ctx.Value(serverEnds{}).(context.Context); ok {
		context.AfterFunc(server, stop)
	}
	return own, stop
}

// emulatedDrive changes what a drive shows where the emulator has it otherwise.
func emulatedDrive(out object, url string) {
	out["ConnectedVia"], out["WriteProtected"] = "URI", url != ""
	if out["Image"], out["ImageName"] = "", ""; url != "" {
		out["Image"], out["ImageName"] = url, path.Base(url)
	}
}
