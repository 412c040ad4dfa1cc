package bmc

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A controller with Tasks in its dialect answers each change with "202 Accepted" and carries
// it out later (DSP0266, "Asynchronous operations"). The answer links to a monitor, which
// answers 202 until the Task has ended and then as the request would have been answered.

const (
	taskServicePath = root + "/TaskService"
	tasksPath       = taskServicePath + "/Tasks"
	monitorsPath    = taskServicePath + "/TaskMonitors"
)

// taskTime is how long a Task takes, beside what it does.
const taskTime = 5 * time.Second

type tasks struct {
	mu  sync.Mutex
	all []*task
}

// task is a request and, once it has ended, its answer.
type task struct {
	id           string
	method, path string
	body         []byte
	answer       *kept // nil while it runs
}

// kept is an answer that no client has asked for yet.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(status int)      { k.status = status }
func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) }

func (c *controller) asTask(handle func(http.ResponseWriter, *http.Request, *System)) func(http.ResponseWriter, *http.Request, *System) {
	if !c.dialect.Tasks {
		return handle
	}
	return func(w http.ResponseWriter, r *http.Request, s *System) {
		const most = 64 << 10
		body, err := io.ReadAll(io.LimitReader(r.Body, most))
		if err != nil {
			refuse(w, http.StatusBadRequest, "MalformedJSON", "The request body could not be read.")
			return
		}
		t := c.tasks.begin(r.Method, r.URL.Path, body)
		ctx, stop := untilServerEnds(r.Context())
		later := r.Clone(ctx)
		later.Body = io.NopCloser(bytes.NewReader(body))
		go func() {
			defer stop()
			if s.clock.Sleep(ctx, taskTime) != nil {
				return
			}
			answer := &kept{header: http.Header{}, status: http.StatusOK}
			handle(answer, later, s)
			c.tasks.end(t, answer)
		}()
		c.accepted(w, t)
	}
}

func (t *tasks) begin(method, path string, body []byte) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	begun := &task{id: strconv.Itoa(len(t.all) + 1), method: method, path: path, body: body}
	t.all = append(t.all, begun)
	return begun
}

func (t *tasks) end(ended *task, answer *kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended.answer = answer
}

// find is the Task of a request's path, and its answer if it has ended.
func (t *tasks) find(id string) (found *task, answer *kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, err := strconv.Atoi(id); err == nil && n > 0 && n <= len(t.all) {
		return t.all[n-1], t.all[n-1].answer
	}
	return nil, nil
}

func (t *tasks) paths() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	paths := make([]string, 0, len(t.all))
	for _, one := range t.all {
		paths = append(paths, tasksPath+"/"+one.id)
	}
	return paths
}

func (c *controller) taskRoutes() {
	if !c.dialect.Tasks {
		return
	}
	c.mux.HandleFunc("GET "+taskServicePath, c.requireAuth(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(
			w, http.StatusOK,
			object{"@odata.id": taskServicePath, "Id": "TaskService", "Name": "Task Service", "ServiceEnabled": true, "Tasks": ref(tasksPath)},
		)
	}))
	c.mux.HandleFunc("GET "+tasksPath, c.requireAuth(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, collection("Task", tasksPath, "Tasks", c.tasks.paths(), func(path string) string { return path }))
	}))
	c.mux.HandleFunc("GET "+tasksPath+"/{task}", c.requireAuth(func(w http.ResponseWriter, r *http.Request) {
		t, done := c.tasks.find(r.PathValue("task"))
		if t == nil {
			notFound(w, r)
			return
		}
		writeJSON(w, http.StatusOK, t.object(done))
	}))
	c.mux.HandleFunc("GET "+monitorsPath+"/{task}", c.requireAuth(func(w http.ResponseWriter, r *http.Request) {
		switch t, done := c.tasks.find(r.PathValue("task")); {
		case t == nil:
			notFound(w, r)
		case done == nil:
			c.accepted(w, t)
		default:
			w.Header().Set(contentType, done.header.Get(contentType))
			w.WriteHeader(done.status)
			_, _ = w.Write(done.body.Bytes()) // the client is gone if this fails
		}
	}))
}

func (c *controller) accepted(w http.ResponseWriter, t *task) {
	w.Header().Set("Location", monitorsPath+"/"+t.id)
	writeJSON(w, http.StatusAccepted, t.object(nil))
}

func (t *task) object(done *kept) object {
	out := object{
		"@odata.type": "#Task.v1_4_3.Task", "@odata.id": tasksPath + "/" + t.id, "Id": t.id, "Name": "Task " + t.id,
		"TaskMonitor": monitorsPath + "/" + t.id,
		"TaskState":   "Running", "PercentComplete": 10, "Messages": []object{},
		"Payload": object{"HttpOperation": t.method, "TargetUri": t.path, "JsonBody": string(t.body)},
	}
	if done == nil {
		return out
	}
	out["TaskState"], out["TaskStatus"], out["PercentComplete"] = "Completed", "OK", 100
	if done.status >= http.StatusBadRequest {
		var said struct {
			Error struct {
				Info []object `json:"@Message.ExtendedInfo"`
			}
		}
		_ = json.Unmarshal(done.body.Bytes(), &said) // what refuse has written
		out["TaskState"], out["TaskStatus"], out["Messages"] = "Exception", "Critical", said.Error.Info
	}
	return out
}
