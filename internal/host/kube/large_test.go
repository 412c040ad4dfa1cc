package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// transport answers in place of a network.
type transport func(*http.Request) any

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(f(r))
	return w.Result(), nil
}

// TestLargeRequests: large requests for certificates do not hide the others, and are not kept whole.
func TestLargeRequests(t *testing.T) {
	type object = map[string]any
	const count, size = 40, 100_000
	asked := 0
	c := must.Get(newClient(&rest.Config{Host: "http://api", Transport: transport(func(r *http.Request) any {
		asked++
		start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit := must.Get(strconv.Atoi(r.URL.Query().Get("limit")))(t)
		items, meta := []any{}, object{}
		for i := start; i < min(start+limit, count); i++ {
			content := bytes.Repeat([]byte("x"), size)
			if i == count-1 {
				content = []byte("small")
			}
			items = append(items, object{
				"kind": "C", "apiVersion": "v1", "metadata": object{"name": fmt.Sprint("r-", i), "labels": object{"a": "b"}}, "spec": object{"request": content},
			})
		}
		if start+limit < count {
			meta["continue"] = fmt.Sprint(start + limit)
		}
		return object{"kind": "CList", "apiVersion": "v1", "metadata": meta, "items": items}
	})}, 1<<20))(t)
	all := must.Get(c.Requests(t.Context()))(t)
	check.Equal(t, len(all), count)
	for i, r := range all {
		check.Equal(t, r.Name, fmt.Sprint("r-", i))
		if len(r.Spec.PEM) > RequestSize || cap(r.Spec.PEM) > 2*RequestSize || r.Labels != nil {
			t.Errorf("%s has %d bytes, %d labels", r.Name, cap(r.Spec.PEM), len(r.Labels))
		}
	}
	check.Equal(t, string(all[count-1].Spec.PEM), "small")
	if asked > 15 {
		t.Errorf("%d requests", asked)
	}
}
