package capi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/pkg/install"
)

// TestReconcilersAreGivenAll: no reconciler lacks what it needs, or what the options say.
func TestReconcilersAreGivenAll(t *testing.T) {
	answers := map[string]string{ // of an API server that has Secrets and ConfigMaps, and nothing else
		"/api":  `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`,
		"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "secrets", "namespaced": true, "kind": "Secret", "verbs": ["get"]},
			{"name": "configmaps", "namespaced": true, "kind": "ConfigMap", "verbs": ["get"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	defer server.Close()
	for only, service := range map[string]install.Backend{"OnHub": nil, "Keys": struct{ install.Backend }{}} { // what the other has not
		m, err := newManager(&rest.Config{Host: server.URL}, &Options{WatchFilter: "ours", MediaURL: "http://media.example.com", Service: service})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []any{m.controlPlane(), m.bootstrap()} {
			value := reflect.ValueOf(r).Elem()
			for i := range value.NumField() {
				field := value.Type().Field(i)
				other := field.Name != only && (field.Name == "OnHub" || field.Name == "Keys")
				if field.IsExported() && value.Field(i).IsZero() != other {
					t.Errorf("%T: that %s is missing is %v", r, field.Name, !other)
				}
			}
			if filter := value.FieldByName("WatchFilter").String(); filter != "ours" {
				t.Errorf("%T takes what has the label %q", r, filter)
			}
		}
	}
}
