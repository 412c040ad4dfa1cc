package hub

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAgentServiceConfig(t *testing.T) {
	const path = "/apis/agent-install.openshift.io/v1beta1/agentserviceconfigs"
	const list = `{"apiVersion":"agent-install.openshift.io/v1beta1","kind":"AgentServiceConfigList","metadata":{},"items":[`
	for _, tt := range []struct {
		name, answer, want, says string
		status                   int
	}{
		{"a kind that is not known", "404 page not found", "", "", http.StatusNotFound},
		{"none", list + `]}`, "", "", http.StatusOK},
		{"one", list + `{"metadata":{"name":"agent"}}]}`, "agent", "", http.StatusOK},
		{"who may not look", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not you","reason":"Forbidden","code":403}`, "", "not you", http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != path {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer server.Close()
			got, err := AgentServiceConfig(t.Context(), &rest.Config{Host: server.URL})
			if got != tt.want || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v; want %q and %q", got, err, tt.want, tt.says)
			}
		})
	}
}
