package metricsauth

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

func TestGuard(t *testing.T) {
	asked := 0
	kube := fake.NewClientset()
	kube.PrependReactor("create", "tokenreviews", func(a kubetesting.Action) (bool, runtime.Object, error) {
		asked++
		review := a.(kubetesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: review.Spec.Token != "unknown", User: authenticationv1.UserInfo{Username: review.Spec.Token, Groups: []string{"readers"}}}
		if review.Spec.Token == "trouble" {
			return true, nil, errors.New("the API server is away")
		}
		return true, review, nil
	})
	kube.PrependReactor("create", "subjectaccessreviews", func(a kubetesting.Action) (bool, runtime.Object, error) {
		review := a.(kubetesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		path := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && review.Spec.Groups[0] == "readers" && path.Path == "/metrics" && path.Verb == "get"
		return true, review, nil
	})
	g := &guard{kube: kube, clock: clock.Real(), log: logr.Discard(), known: map[question]answer{}, next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") })}
	for name, c := range map[string]struct {
		header, path, method string
		want                 int
	}{
		"nobody":                  {"", "/metrics", http.MethodGet, http.StatusUnauthorized},
		"a password":              {"Basic cHJvbWV0aGV1czp4", "/metrics", http.MethodGet, http.StatusUnauthorized},
		"an empty token":          {"Bearer ", "/metrics", http.MethodGet, http.StatusUnauthorized},
		"a token of nobody":       {"Bearer unknown", "/metrics", http.MethodGet, http.StatusUnauthorized},
		"somebody else":           {"Bearer somebody", "/metrics", http.MethodGet, http.StatusForbidden},
		"another path":            {"Bearer prometheus", "/debug/pprof", http.MethodGet, http.StatusForbidden},
		"another verb":            {"Bearer prometheus", "/metrics", http.MethodPost, http.StatusForbidden},
		"who may":                 {"bearer prometheus", "/metrics", http.MethodGet, http.StatusOK},
		"while nobody can answer": {"Bearer trouble", "/metrics", http.MethodGet, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			request, answer := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody), httptest.NewRecorder()
			if c.header != "" {
				request.Header.Set("Authorization", c.header)
			}
			g.ServeHTTP(answer, request)
			if answer.Code != c.want {
				t.Errorf("is answered %d, not %d: %s", answer.Code, c.want, answer.Body)
			}
		})
	}
	before := asked
	request, answer := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody), httptest.NewRecorder()
	request.Header.Set("Authorization", "Bearer prometheus")
	g.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK || asked != before {
		t.Errorf("who was known is answered %d, and was asked about %d times more", answer.Code, asked-before)
	}
}
