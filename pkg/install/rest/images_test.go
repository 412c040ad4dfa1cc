package rest

import (
	"net/http"
	"testing"
	"time"
)

// An InfraEnv's updated_at moves with every fresh URL of the image. That the
// image itself changed stands in the event log, which is asked once for each
// change, and only where a host registered before.
func TestWhenImagesWereMade(t *testing.T) {
	const registered, made, touched = "2030-05-01T11:59:40.000Z", "2030-05-01T11:59:50.000Z", "2030-05-01T11:59:55.123456Z"
	event := func(name, at string) string {
		return `[{"name":"` + name + `","event_time":"` + at + `","infra_env_id":"` + infraEnvID + `","severity":"info","message":"Updated image information (Image type is \"full-iso\")"}]`
	}
	for name, test := range map[string]struct {
		registered, updated, answer, want string
		status, asked                     int
	}{
		"never touched":         {registered: registered, updated: "2030-05-01T11:59:30.004Z", status: 200, answer: "[]", want: "2030-05-01T11:59:30.004Z"},
		"fresh URL only":        {registered: registered, updated: touched, status: 200, answer: event(imageUpdated, "2030-05-01T11:59:30.000Z"), asked: 1, want: "2030-05-01T11:59:30.000Z"},
		"new image":             {registered: registered, updated: touched, status: 200, answer: event(imageUpdated, made), asked: 1, want: made},
		"no such event":         {registered: registered, updated: touched, status: 200, answer: "[]", asked: 1},
		"another event":         {registered: registered, updated: touched, status: 200, answer: event("other", made), asked: 1},
		"log may not be read":   {registered: registered, updated: touched, status: 400, answer: "{}", asked: 1},
		"event after the touch": {registered: registered, updated: touched, status: 200, answer: event(imageUpdated, "2030-05-01T11:59:59.000Z"), asked: 1, want: touched},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.hosts[0]["registered_at"] = test.registered
			w.infraEnv[0]["updated_at"] = test.updated
			asked := 0
			w.on("GET /v2/events", func(out http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("infra_env_id") == "" {
					w.listEvents(out, r)
					return
				}
				asked++
				if got := r.URL.Query(); got.Get("limit") != "1" || got.Get("order") != "descending" || got.Get("message") != imageUpdatedText {
					t.Errorf("asked for %v", got)
				}
				reply(out, test.status, test.answer)
			})
			p := w.plane(t)
			var want time.Time
			if test.want != "" {
				want, _ = time.Parse(time.RFC3339Nano, test.want)
			}
			for range 3 {
				if got := observe(t, p, lab()).InfraEnvs[0].Image.Created; !got.Equal(want) {
					t.Errorf("made %v, want %v", got, want)
				}
				_ = w.clock.Sleep(t.Context(), 20*time.Second)
			}
			if asked != test.asked {
				t.Errorf("the log was asked %d times, want %d", asked, test.asked)
			}
			w.change("infra_env_updated", -1, func() { w.infraEnv[0]["updated_at"] = "2030-05-01T12:00:30Z" })
			_ = w.clock.Sleep(t.Context(), 20*time.Second)
			observe(t, p, lab())
			if asked != test.asked+1 {
				t.Errorf("after a further change the log was asked %d times in all", asked)
			}
		})
	}
}
