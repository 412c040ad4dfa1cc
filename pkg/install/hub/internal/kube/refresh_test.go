package kube

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// plugin sends a token, and another one once the server has not taken it, as
// client-go's transport of credential plug-ins does.
type plugin struct{ token string }

func (p *plugin) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", p.token)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		p.token = "new"
	}
	return response, err
}

// A token that has expired meanwhile is created again, and no run ends over it.
func TestRefresh(t *testing.T) {
	var sent []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.Header.Get("Authorization")+" "+string(body))
		if r.Header.Get("Authorization") != r.URL.Query().Get("valid") {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer web.Close()
	for name, test := range map[string]struct {
		valid  string
		body   io.Reader
		status int
		want   string
	}{
		"taken":            {"old", strings.NewReader("{}"), http.StatusOK, "old {}"},
		"made anew":        {"new", strings.NewReader("{}"), http.StatusOK, "old {}, new {}"},
		"without a body":   {"new", nil, http.StatusOK, "old , new "},
		"refused for good": {"other", strings.NewReader("{}"), http.StatusUnauthorized, "old {}, new {}"},
		"body used up":     {"new", io.NopCloser(strings.NewReader("{}")), http.StatusUnauthorized, "old {}"},
	} {
		sent = nil
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/?valid="+test.valid, test.body))(t)
		response := must.Get((&retryTransport{next: &plugin{token: "old"}}).RoundTrip(request))(t)
		_ = response.Body.Close()
		if got := strings.Join(sent, ", "); got != test.want || response.StatusCode != test.status {
			t.Errorf("%s: status %d after %q", name, response.StatusCode, got)
		}
	}
}

// What stands in the kubeconfig itself would be the same again, and files of tokens
// are read anew in any case.
func TestRenews(t *testing.T) {
	if !renewsCredentials(&rest.Config{ExecProvider: &api.ExecConfig{Command: "oc"}}) || renewsCredentials(&rest.Config{BearerToken: "a"}) || renewsCredentials(&rest.Config{BearerTokenFile: "a"}) {
		t.Error("only plug-ins make credentials anew")
	}
}
