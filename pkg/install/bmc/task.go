package bmc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/common"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// A BMC may answer "202 Accepted" and carry a request out later, as a Task (DSP0266,
// "Asynchronous operations"). The answer links to the Task, or to its monitor, which
// answers 202 until the Task has ended and then as the request itself would have been
// answered.
const (
	taskSoon  = 250 * time.Millisecond // until the second look at a Task, where the BMC does not say when to look
	taskTick  = 2 * time.Second        // between the later ones
	mostTasks = 50                     // of the list of a BMC, the newest: some keep hundreds
)

// task is what a BMC says of a Task. A monitor may answer with something else.
type task struct {
	Path     string `json:"@odata.id"`
	Name     string
	State    string `json:"TaskState"`
	Status   string `json:"TaskStatus"`
	Percent  int    `json:"PercentComplete"`
	Messages []common.ErrExtendedInfo
	Payload  struct {
		Target string `json:"TargetUri"`
		Body   string `json:"JsonBody"`
	}
}

// ended reports whether a Task goes on no more.
func (t *task) ended() bool {
	return t.failed() || slices.Contains([]string{"Completed", "Service"}, t.State)
}

// failed reports whether a Task came to nothing. There are BMCs that call an exception a mere warning, so that the
// state decides before the status.
func (t *task) failed() bool {
	return slices.Contains([]string{"Exception", "Killed", "Cancelled", "Interrupted"}, t.State) || t.State == "Completed" &&
		t.Status == "Critical"
}

// taskFailed is a Task that came to nothing.
type taskFailed struct{ said string }

func (e *taskFailed) Error() string { return e.said }

// unfinished is a Task that goes on.
type unfinished struct{ path string }

func (e *unfinished) Error() string { return "the BMC has not finished " + path.Base(e.path) }

// finish follows the Task that the last request began, if its answer was one. err is what
// the request ended with.
func (c *connection) finish(err error) error {
	at := c.accepted
	c.accepted = ""
	if err != nil || at == "" {
		return err
	}
	patient := c.patient
	c.patient = false // each look is answered at once
	defer func() { c.patient = patient }()
	return c.follow(at, c.within)
}

// follow looks at a Task, or at its monitor, until it ends.
func (c *connection) follow(at string, within time.Duration) error {
	began := c.clock.Now()
	for pause := taskSoon; ; pause = min(2*pause, taskTick) {
		ended, asked, err := c.look(at)
		switch {
		case ended || err != nil:
			return err
		case within > 0 && c.clock.Now().Sub(began) >= within:
			return &unfinished{path: at}
		}
		if err := c.clock.Sleep(c.ctx, cmp.Or(asked, pause)); err != nil {
			return err
		}
	}
}

// look reports whether a Task has ended, with its error, and when the BMC wants to be asked again if not. A Task that
// the BMC shows no more has ended: the machine shows the result.
func (c *connection) look(at string) (ended bool, pause time.Duration, err error) {
	status, header, answer, err := c.send(c.ctx, http.MethodGet, at, nil)
	if err != nil {
		return false, 0, err
	}
	var t task
	_ = json.Unmarshal(answer, &t) // a monitor answers as the request would have been answered
	switch {
	case t.failed():
		return true, 0, c.failureOf(&t)
	case status == http.StatusNotFound || status == http.StatusGone:
		return true, 0, nil
	case status/100 != 2:
		return true, 0, common.ConstructError(status, answer)
	case status != http.StatusAccepted && (t.State == "" || t.ended()):
		return true, 0, nil
	}
	return false, pauseOf(header), nil
}

func (c *connection) failureOf(t *task) error {
	name := "Task"
	if t.Path != "" {
		name = "Task " + path.Base(t.Path)
	}
	return &taskFailed{said: fmt.Sprintf("%s (%s: %s)", cmp.Or(c.saidByAll(t.Messages, ""), "it gives no reason"), name, t.State)}
}

// pauseOf is when to look again, as a BMC says: 0 where it does not.
func pauseOf(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return min(max(time.Duration(seconds)*time.Second, taskTick), insertTick)
}

// accepts records the Task that an answer links to. What is read of the answer is put back.
func (c *connection) accepts(response *http.Response) error {
	c.accepted = ""
	if response.StatusCode != http.StatusAccepted || response.Request.Method == http.MethodGet {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostOfAnswer))
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	response.Body = io.NopCloser(strings.NewReader(string(data)))
	var body struct {
		Path    string `json:"@odata.id"`
		Monitor string `json:"TaskMonitor"`
	}
	_ = json.Unmarshal(data, &body) // a body is not required
	if at, err := url.Parse(cmp.Or(response.Header.Get("Location"), body.Monitor, body.Path)); err == nil && strings.HasPrefix(at.Path, "/") {
		c.accepted = at.RequestURI()
	}
	return nil
}

// insertions are the Tasks of a BMC that insert our image into a drive, the newest first.
// A BMC that has no list of Tasks has none.
func (s *connectedMachine) insertions() ([]task, error) {
	var root struct{ Tasks common.Link }
	if err := s.read(common.DefaultServiceRoot, &root); err != nil || root.Tasks == "" {
		return nil, s.explain(err)
	}
	var service struct{ Tasks common.Link }
	if err := s.read(root.Tasks.String(), &service); err != nil || service.Tasks == "" {
		return nil, s.unlessMissing(err)
	}
	list, err := common.GetCollection(s, service.Tasks.String())
	if err != nil {
		return nil, s.unlessMissing(err)
	}
	links := list.ItemLinks
	slices.Reverse(links)
	var found []task
	for _, link := range links[:min(len(links), mostTasks)] {
		_, _, answer, err := s.send(s.ctx, http.MethodGet, link, nil) // a failed Task may answer with the status of an error
		if err != nil {
			return nil, s.explain(err)
		}
		var t task
		if json.Unmarshal(answer, &t) == nil && s.inserts(&t) {
			t.Path = cmp.Or(t.Path, link)
			found = append(found, t)
		}
	}
	return found, nil
}

// inserts reports whether a Task is an insertion of our image into the drive. A Task that does not show what was asked
// for is one if it shows where.
func (s *connectedMachine) inserts(t *task) bool {
	var asked struct{ Image string }
	if json.Unmarshal([]byte(t.Payload.Body), &asked) == nil && asked.Image != "" {
		return isOwnImage(asked.Image, s.ownURL)
	}
	return t.Payload.Target != "" && t.Payload.Target == s.drive.Actions.Insert.Target
}

func (c *connection) unlessMissing(err error) error {
	if missing(err) {
		return nil
	}
	return c.explain(err)
}

// saidByAll is what messages say, or otherwise, or the ids of the messages. A message without a text is looked up in
// the registry that its id names.
func (c *connection) saidByAll(messages []common.ErrExtendedInfo, otherwise string) string {
	var texts, ids []string
	for i := range messages {
		switch text := cmp.Or(strings.TrimSpace(messages[i].Message), c.registered(&messages[i])); {
		case text != "":
			texts = append(texts, text)
		case messages[i].MessageID != "":
			ids = append(ids, messages[i].MessageID)
		}
	}
	if len(texts) == 0 && otherwise != "" {
		return otherwise
	}
	return strings.Join(append(texts, ids...), "; ")
}

// registered is the text of a message in the BMC's message registry (DSP0266, "Message
// registry"), "" where there is none.
func (c *connection) registered(m *common.ErrExtendedInfo) string {
	prefix, key := registryOf(m.MessageID)
	if prefix == "" || c.APIClient == nil {
		return ""
	}
	all, err := common.GetCollection(c, "/redfish/v1/Registries")
	if err != nil {
		return ""
	}
	for _, link := range all.ItemLinks {
		name, _, _ := strings.Cut(path.Base(link), ".")
		if !strings.EqualFold(name, prefix) && !strings.EqualFold(name, prefix+"MessageRegistry") {
			continue
		}
		if text := c.textOf(link, key); text != "" {
			for n, arg := range slices.Backward(m.MessageArgs) { // %10 before %1
				text = strings.ReplaceAll(text, "%"+strconv.Itoa(n+1), arg)
			}
			return text
		}
	}
	return ""
}

// registryOf is a registry's prefix and the key in it, of an id like Base.1.12.InternalError.
func registryOf(id string) (prefix, key string) {
	parts := strings.Split(id, ".")
	if len(parts) < 2 {
		return "", ""
	}
	return parts[0], parts[len(parts)-1]
}

func (c *connection) textOf(file, key string) string {
	var at struct {
		Location []struct {
			Language string
			URI      string `json:"Uri"`
		}
	}
	if err := c.read(file, &at); err != nil {
		return ""
	}
	for _, location := range at.Location {
		var registry struct {
			Messages map[string]struct{ Message string }
		}
		english := location.Language == "" || strings.HasPrefix(location.Language, "en") || location.Language == "default"
		if english && strings.HasPrefix(location.URI, "/") && c.read(location.URI, &registry) == nil {
			return registry.Messages[key].Message
		}
	}
	return ""
}

// pending is a request that a BMC goes on with, and the Task that shows how far it is.
type pending struct {
	kind model.Kind
	path string
}
