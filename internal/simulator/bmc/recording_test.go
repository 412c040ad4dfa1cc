package bmc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded is one line of a recording of Redfish: an exchange, or a note.
type recorded struct {
	Method string            `json:"m"`
	Path   string            `json:"p"`
	Status int               `json:"s"`
	Asked  json.RawMessage   `json:"req"`
	Header map[string]string `json:"reqhdr"`
	Said   map[string]string `json:"resphdr"`
	Answer any               `json:"resp"`
	Note   string            `json:"note"`
}

// redfishRecordings are those that the folder in OAICTL_RECORDINGS holds.
func redfishRecordings(t *testing.T) (files []string) {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		return nil // none is committed: there is nothing to hold the emulator against
	}
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, "redfish-sushy") && strings.HasSuffix(name, ".jsonl") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Errorf("%s holds no recording of the emulator", folder)
	}
	return files
}

// TestEmulatorAnswersAsRecorded asks the flavour of sushy-tools what the emulator
// itself was asked, and wants the same statuses, and the same of what matters to
// who boots a machine: drives, boot override, where things are, and how to log in.
func TestEmulatorAnswersAsRecorded(t *testing.T) {
	for _, file := range redfishRecordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	content, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	var b *bench
	exchanges := 0
	lines := bufio.NewScanner(content)
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); exchanges++ {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(r.Note, "no auth"):
			b = emulator(t, "", "")
		case strings.Contains(r.Note, "with an auth file"):
			b = emulator(t, "admin", "password")
		}
		if r.Method != "" {
			b.holds(r)
		}
	}
	if exchanges < 100 {
		t.Errorf("%d exchanges", exchanges)
	}
}

// emulator are the two systems of the recording.
func emulator(t *testing.T, user, password string) *bench {
	var machines []Machine
	for i := range 2 {
		m := machineOf(Sushy, at)
		m.Name, m.Index, m.UUID, m.User, m.Password = fmt.Sprintf("cp-%d", i), i, fmt.Sprintf("00000000-0000-0000-0000-%012d", i), user, password
		machines = append(machines, m)
	}
	return newBench(t, "", machines...)
}

// holds wants an exchange to be as it was recorded.
func (b *bench) holds(r recorded) {
	b.t.Helper()
	const source = "http://127.0.0.1:8699"
	asked := strings.ReplaceAll(string(r.Asked), source, b.media.URL)
	request, err := http.NewRequestWithContext(b.t.Context(), r.Method, at+r.Path, strings.NewReader(asked))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	var answer any
	if json.Unmarshal(text, &answer) != nil && len(text) > 0 {
		answer = string(text) // some are no JSON, and recorded as they are
	}
	what := fmt.Sprintf("%s %s %s", r.Method, r.Path, r.Asked)
	if response.StatusCode != r.Status {
		b.t.Errorf("%s: HTTP %d, recorded %d", what, response.StatusCode, r.Status)
		return
	}
	if got, want := response.Header.Get("Www-Authenticate"), r.Said["WWW-Authenticate"]; got != want {
		b.t.Errorf("%s asks for %q, recorded %q", what, got, want)
	}
	if _, isHTML := r.Answer.(string); isHTML && r.Said["Content-Type"] != "application/json" || answersBare(r.Path) {
		return
	}
	if diff := cmp.Diff(telling(r.Answer, source), telling(answer, b.media.URL)); diff != "" {
		b.t.Errorf("%s (-recorded +answered):\n%s", what, diff)
	}
	b.clock.move(12 * time.Second) // the longest that power takes to show
}

// answersBare says whether a path leads to what no install needs.
func answersBare(path string) bool {
	return slices.ContainsFunc([]string{"/Chassis", "/TaskService", "/UpdateService", "/Registries", "/EthernetInterfaces", "/SecureBoot"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// telling is what of an answer matters: how long power takes is chance.
func telling(answer any, source string) any {
	whole, isObject := answer.(map[string]any)
	if !isObject {
		return answer
	}
	out := map[string]any{}
	for _, key := range []string{
		"Id", "UUID", "Manufacturer", "Members", "VirtualMedia", "Systems", "Managers", "SessionService", "Inserted", "WriteProtected", "ConnectedVia",
		"Image", "ImageName", "MediaTypes",
	} {
		value, has := whole[key]
		if text, isText := value.(string); isText {
			value = strings.ReplaceAll(text, source, "")
		}
		if has {
			out[key] = value
		}
	}
	if refused, ok := whole["error"].(map[string]any); ok {
		out["message"] = refused["message"]
		if text, _ := refused["message"].(string); strings.HasPrefix(text, "Failed fetching image from URL") {
			out["message"], _, _ = strings.Cut(text, ": ") // what follows are words of its HTTP client
		}
	}
	if whole["Systems"] != nil { // the service root, whose ids are made up
		delete(out, "Id")
		delete(out, "UUID")
		out["Links"] = whole["Links"]
	}
	if boot, ok := whole["Boot"].(map[string]any); ok {
		for _, unsaid := range []string{"Model", "HostName", "SerialNumber", "SystemType", "@odata.etag"} {
			if value, says := whole[unsaid]; says {
				out[unsaid] = value
			}
		}
		for _, key := range []string{"BootSourceOverrideEnabled", "BootSourceOverrideTarget", "BootSourceOverrideTarget@Redfish.AllowableValues", "BootSourceOverrideMode"} {
			out[key] = boot[key]
		}
	}
	if actions, ok := whole["Actions"].(map[string]any); ok {
		delete(actions, "Oem")
		if len(actions) > 0 {
			out["Actions"] = actions
		}
	}
	return out
}
