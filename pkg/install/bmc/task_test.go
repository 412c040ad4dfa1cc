package bmc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// tasker is a shelf that answers each change with a Task.
type tasker struct {
	*shelf
	mu    sync.Mutex
	tasks []map[string]any
	told  map[string]int // how often each path was asked for a change
}

const tasksAt = "/redfish/v1/TaskService/Tasks"

func newTasker() *tasker {
	s := newShelf("", map[string]map[string]any{"Cd": {
		"MediaTypes": []string{"CD"}, "Actions": map[string]any{"#VirtualMedia.InsertMedia": map[string]any{"target": drives + "Cd/Insert"}},
	}})
	s.docs["/redfish/v1"]["Tasks"] = link("/redfish/v1/TaskService")
	s.docs["/redfish/v1/TaskService"] = map[string]any{"Tasks": link(tasksAt)}
	s.docs["/redfish/v1/Registries"] = map[string]any{"Members@odata.count": 1, "Members": []any{link("/redfish/v1/Registries/Acme.1.2.0")}}
	s.docs["/redfish/v1/Registries/Acme.1.2.0"] = map[string]any{"Location": []any{map[string]any{"Language": "en", "Uri": "/registries/acme.json"}}}
	s.docs["/registries/acme.json"] = map[string]any{"Messages": map[string]any{"NotLicensed": map[string]any{"Message": "The feature %1 needs the license %2."}}}
	return &tasker{shelf: s, told: map[string]int{}}
}

func (k *tasker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, found := strings.CutPrefix(r.URL.Path, tasksAt+"/"); found {
		var n int
		_, _ = fmt.Sscan(id, &n)
		_ = json.NewEncoder(w).Encode(k.tasks[n-1])
		return
	}
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "Sessions") {
		k.shelf.ServeHTTP(w, r)
		return
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	data, _ := json.Marshal(body)
	at := fmt.Sprintf("%s/%d", tasksAt, len(k.tasks)+1)
	k.tasks = append(k.tasks, map[string]any{"@odata.id": at, "TaskState": "Running", "Payload": map[string]any{"TargetUri": r.URL.Path, "JsonBody": string(data)}})
	k.told[r.URL.Path]++
	var members []any
	for n := range k.tasks {
		members = append(members, link(fmt.Sprintf("%s/%d", tasksAt, n+1)))
	}
	k.shelf.mu.Lock()
	k.docs[tasksAt] = map[string]any{"Members@odata.count": len(members), "Members": members}
	k.shelf.mu.Unlock()
	w.Header().Set("Location", at)
	w.WriteHeader(http.StatusAccepted)
}

// ends ends the last Task.
func (k *tasker) ends(state string, messages ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.tasks[len(k.tasks)-1]
	last["TaskState"], last["Messages"] = state, messages
}

func (k *tasker) times(path string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told[path]
}

// acts makes the plane act, and lets its network's time pass until it returns.
func acts(t *testing.T, l *lab, network *hand, kind model.Kind) error {
	t.Helper()
	asleep := 1 // the caller that follows the Task
	if kind == model.InsertMedia {
		asleep = 3 // and the action, and the caller that watches the download
	}
	acted := make(chan error, 1)
	go func() { acted <- l.Act(t.Context(), l.desired, nil, model.Action{Kind: kind, Name: "a"}) }()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case err := <-acted:
			return err
		default:
			network.pass(asleep, time.Second)
		}
	}
	t.Fatal("the action does not return")
	return nil
}

// sees looks at the machine, with the network's time passing, until it is as wanted.
func sees(t *testing.T, l *lab, network *hand, what string, want func(model.MachineState) bool) model.MachineState {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; network.pass(2, time.Second) {
		got := l.see(t, "a")
		if want(got) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v", what, got)
		}
	}
}

// TestInsertionTask follows the Task of an insertion, also after a restart: the BMC is
// asked once, and the reason of a failure is the Task's, in the words of the BMC's registry.
func TestInsertionTask(t *testing.T) {
	const insert = drives + "Cd/Insert"
	k, network := newTasker(), newHand()
	l := k.behind(t, k.ServeHTTP)
	start := func() {
		l.Plane = bmc.New(bmc.Config{Media: l.media, Clock: l.clock, Network: network})
		t.Cleanup(l.Plane.Close)
	}
	start()
	for range 2 {
		must.Do(t, acts(t, l, network, model.InsertMedia))
	}
	if got := l.see(t, "a"); !got.Inserting || got.Failed != "" || k.times(insert) != 1 {
		t.Errorf("while the Task runs: %+v; asked %d times", got, k.times(insert))
	}
	l.Plane.Close()
	start()
	if got := l.see(t, "a"); !got.Inserting {
		t.Errorf("after a restart, while the Task runs: %+v", got)
	}
	if err := acts(t, l, network, model.InsertMedia); err != nil || k.times(insert) != 1 {
		t.Errorf("after a restart: %v; asked %d times", err, k.times(insert))
	}
	k.ends("Exception", map[string]any{"MessageId": "Acme.1.2.NotLicensed", "MessageArgs": []string{"virtual media", "Enterprise"}})
	const reason = "The feature virtual media needs the license Enterprise. (Task 1: Exception)"
	failed := func(s model.MachineState) bool { return s.Failed == model.InsertMedia }
	got := sees(t, l, network, "the failure is not seen", failed)
	if !strings.HasSuffix(got.Cause, reason) || !strings.Contains(got.Next.String(), "licence with virtual media") {
		t.Errorf("%q; next: %s", got.Cause, got.Next)
	}
	l.Plane.Close()
	start()
	if got := l.see(t, "a"); !failed(got) || !strings.HasSuffix(got.Cause, reason) {
		t.Errorf("a single look: %+v", got)
	}
	if err := acts(t, l, network, model.InsertMedia); err != nil || k.times(insert) != 2 {
		t.Errorf("a second attempt: %v; asked %d times", err, k.times(insert))
	}
	if got := l.see(t, "a"); !got.Inserting || !failed(got) {
		t.Errorf("the reason is gone while it is tried again: %+v", got)
	}
	k.shelf.mu.Lock()
	k.docs[drives+"Cd"]["Image"], _ = l.media.URL("a")
	k.shelf.mu.Unlock()
	k.ends("Completed")
	sees(t, l, network, "it was inserted", func(s model.MachineState) bool { return s.OurMedia && s.Failed == "" && !s.Inserting })
}

// TestOtherTasks follows the Tasks of a boot override and of a switch: while they run the
// BMC is busy, and how they fail is seen.
func TestOtherTasks(t *testing.T) {
	for kind, phrase := range map[model.Kind]string{model.PowerOn: "switch on", model.SetBootOnce: "set one boot"} {
		t.Run(string(kind), func(t *testing.T) {
			k, network := newTasker(), newHand()
			l := k.behind(t, k.ServeHTTP)
			l.Plane = bmc.New(bmc.Config{Media: l.media, Clock: l.clock, Network: network})
			must.Do(t, acts(t, l, network, kind))
			if got := l.see(t, "a"); got.TroubleKind != model.TroubleBusy || !strings.Contains(got.Trouble, phrase) {
				t.Errorf("while the Task runs: %+v", got)
			}
			k.ends("Exception", map[string]any{"Message": "The power supply is missing."})
			if got := l.see(t, "a"); got.Trouble != "" || got.Failed != kind || !strings.Contains(got.Cause, "The power supply is missing.") {
				t.Errorf("the Task failed: %+v", got)
			}
		})
	}
}

// TestRefusalReasons shows no path of the image, in whichever form a BMC repeats it, and
// gives the advice that fits what the BMC says.
func TestRefusalReasons(t *testing.T) {
	const secret = "/i/0123456789abcdef0123/a.iso"
	for said, next := range map[string]string{
		"SWC0242: A required license is missing or expired.":                                                  "a licence with virtual media",
		"Failed fetching image: HTTPSConnectionPool: Max retries exceeded with url: " + secret + " (refused)": "give an address with http://",
		"certificate verify failed: unable to get local issuer certificate":                                   "trust the certificate",
		"Could not resolve host: media.example.com":                                                           "give an IP address",
		"RAC0720: Unable to locate the image file at 0123456789abcdef0123/a.iso":                              "can reach that address",
	} {
		s := newShelf("", map[string]map[string]any{"Cd": {"Actions": map[string]any{"#VirtualMedia.InsertMedia": map[string]any{"target": drives + "Cd/Insert"}}}})
		l := s.behind(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/Insert") {
				s.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": said}})
		})
		l.Plane = bmc.New(bmc.Config{Media: secretMedia{l.media, secret}, Clock: l.clock})
		err := l.Act(t.Context(), l.desired, nil, model.Action{Kind: model.InsertMedia, Name: "a"})
		if err == nil || strings.Contains(err.Error(), "0123456789abcdef") || !strings.Contains(model.FaultOf(err).Next.String(), next) {
			t.Errorf("%s: %v; next: %s", said, err, model.FaultOf(err).Next)
		}
	}
}

// secretMedia are found at a path that is hard to guess.
type secretMedia struct {
	media
	path string
}

func (m secretMedia) URL(string) (string, error) { return m.Server.URL + m.path, nil }
