// Package metricsauth lets a client read metrics if the API server lets it: the API server identifies the client by its
// token (TokenReview), and decides by its rules for paths (SubjectAccessReview).
//
// It is what controller-runtime's own filter does, without the libraries of the API server that this one
// brings along.
package metricsauth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Filter has requests pass whose tokens the API server knows, from users that may get the path.
func Filter(c clock.Clock) func(*rest.Config, *http.Client) (server.Filter, error) {
	return func(config *rest.Config, client *http.Client) (server.Filter, error) {
		kube, err := kubernetes.NewForConfigAndClient(config, client)
		if err != nil {
			return nil, err
		}
		return func(log logr.Logger, next http.Handler) (http.Handler, error) {
			return &guard{kube: kube, clock: c, log: log, next: next, known: map[question]answer{}}, nil
		}, nil
	}
}

const (
	// holds is how long an answer of the API server holds: metrics are read often by the same few.
	holds = 10 * time.Second
	// mostKnown bounds how many answers are kept.
	mostKnown = 1000
	// patience is how long the API server may take to answer.
	patience = 10 * time.Second
)

// question is what the API server is asked; tokens are not kept.
type question struct {
	token        [sha256.Size]byte
	path, method string
}

type answer struct {
	status int
	until  time.Time
}

type guard struct {
	kube  kubernetes.Interface
	clock clock.Clock
	log   logr.Logger
	next  http.Handler

	mu    sync.Mutex
	known map[question]answer
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	if status := g.status(r.Context(), question{sha256.Sum256([]byte(token)), r.URL.Path, strings.ToLower(r.Method)},
		token); status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	g.next.ServeHTTP(w, r)
}

// status is StatusOK for a client that may pass.
func (g *guard) status(ctx context.Context, q question, token string) int {
	now := g.clock.Now()
	g.mu.Lock()
	have, known := g.known[q]
	g.mu.Unlock()
	if known && now.Before(have.until) {
		return have.status
	}
	ctx, cancel := context.WithTimeout(ctx, g.clock.Wall(patience))
	defer cancel()
	status, err := g.ask(ctx, q, token)
	if err != nil {
		g.log.Error(err, "cannot tell who may read metrics")
		return http.StatusInternalServerError
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= mostKnown {
		clear(g.known)
	}
	g.known[q] = answer{status, now.Add(holds)}
	return status
}

func (g *guard) ask(ctx context.Context, q question, token string) (int, error) {
	review, err := g.kube.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review a token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := review.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	access, err := g.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: q.path, Verb: q.method},
		}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review access to %s: %w", q.path, err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
