package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // operations.yaml
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Identity is who makes a request.
type Identity struct {
	// Scheme is the way that the caller identified itself; empty under None.
	Scheme Scheme
	// Username owns what the caller creates; "admin" where the mode has no users, as in the real service.
	Username string
}

type identityKey struct{}

// From is who makes the request of a context that Wrap passed on. Without one it is the administrator.
func From(ctx context.Context) Identity {
	if identity, ok := ctx.Value(identityKey{}).(Identity); ok {
		return identity
	}
	return Identity{Username: adminUsername}
}

// Wrap lets through to next the requests whose callers may make them, with
// their Identity in the context, and answers the others with 401, 403 or 404.
// Requests outside the API pass untouched.
func (s *Service) Wrap(next http.Handler) http.Handler {
	if s.config.Mode == None {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed, ok := s.schemes(r.Method, r.URL.Path)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		identity, err := s.identify(r, allowed)
		if err != nil {
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, identity)))
	})
}

type refusal struct {
	code    int
	message string
}

func (e *refusal) Error() string { return e.message }

func unauthorized(format string, args ...any) error {
	return &refusal{code: http.StatusUnauthorized, message: fmt.Sprintf(format, args...)}
}

// refuse writes an error in the shape of the service's framework, whose code is a number.
func refuse(w http.ResponseWriter, err error) {
	answer := &refusal{code: http.StatusUnauthorized, message: err.Error()}
	errors.As(err, &answer)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.code)
	// It fails only if the client is gone.
	_ = json.NewEncoder(w).Encode(map[string]any{"code": answer.code, "message": answer.message})
}

// identify tries the allowed schemes that the request has a credential of. The first good one wins.
func (s *Service) identify(r *http.Request, allowed []Scheme) (Identity, error) {
	refused := unauthorized("unauthenticated for invalid credentials")
	for _, scheme := range allowed {
		credential := credentialOf(r, scheme)
		if credential == "" {
			continue
		}
		identity, err := s.check(r, scheme, credential)
		if err == nil {
			return identity, nil
		}
		refused = err
	}
	return Identity{}, refused
}

func credentialOf(r *http.Request, scheme Scheme) string {
	if name, ok := map[Scheme]string{URLAuth: "api_key", ImageURLAuth: "image_token"}[scheme]; ok {
		return r.URL.Query().Get(name)
	}
	return r.Header.Get(map[Scheme]string{
		UserAuth: "Authorization", AgentAuth: "X-Secret-Key", WatcherAuth: "Watcher-Authorization", ImageAuth: "Image-Token",
	}[scheme])
}

func (s *Service) check(r *http.Request, scheme Scheme, credential string) (Identity, error) {
	if s.config.Mode == Local {
		return s.checkBehindHub(r, scheme, credential)
	}
	switch scheme {
	case URLAuth, ImageAuth, ImageURLAuth:
		return s.checkLink(r, scheme, credential)
	}
	if s.config.Mode == AgentInstallerLocal {
		return s.checkLocal(scheme, credential)
	}
	switch scheme {
	case UserAuth:
		return s.checkBearer(credential)
	case AgentAuth:
		return s.checkAgentSecret(credential)
	}
	return Identity{}, unauthorized("%s is not allowed for rhsso auth", scheme)
}

func (s *Service) checkBearer(credential string) (Identity, error) {
	token, ok := strings.CutPrefix(credential, "Bearer ")
	if !ok {
		return Identity{}, unauthorized("Failed to authenticate user: token is not sent as Bearer")
	}
	c, err := s.read(token, s.access)
	if err != nil {
		return Identity{}, unauthorized("Failed to parse token: %v", err)
	}
	if c.Type != "Bearer" || c.Username == "" {
		return Identity{}, unauthorized("Failed to parse token: claims are incorrectly formatted")
	}
	return Identity{Scheme: UserAuth, Username: c.Username}, nil
}

func (s *Service) checkAgentSecret(secret string) (Identity, error) {
	plain, err := base64.StdEncoding.DecodeString(secret)
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok || user == "" || password == "" {
		return Identity{}, unauthorized("Failed to authenticate agent: the secret is not a pull secret's")
	}
	if s.config.AgentSecret != nil && !s.config.AgentSecret(secret) {
		return Identity{}, unauthorized("Failed to authenticate agent: the secret is not known")
	}
	return Identity{Scheme: AgentAuth, Username: defaultUsername}, nil
}

// checkLocal knows callers by the scheme that their token names. The token stands raw in its header.
func (s *Service) checkLocal(scheme Scheme, token string) (Identity, error) {
	c, err := s.read(token, s.local)
	if err != nil {
		return Identity{}, unauthorized("Failed to parse token: %v", err)
	}
	switch c.Scheme {
	case "":
		return Identity{}, unauthorized("claims are incorrectly formatted")
	case scheme:
		return Identity{Scheme: scheme, Username: adminUsername}, nil
	}
	return Identity{}, &refusal{code: http.StatusForbidden, message: fmt.Sprintf("a token for %s is not allowed as %s", c.Scheme, scheme)}
}

// checkBehindHub knows an agent by a token of its InfraEnv, or of its cluster, which
// is good for every call of agents, and the bearer of a link by the same. Other ways
// to identify oneself do not exist; the operator's is ours.
func (s *Service) checkBehindHub(r *http.Request, scheme Scheme, token string) (Identity, error) {
	kind := map[Scheme]string{UserAuth: "User", WatcherAuth: "Watcher", ImageAuth: "Image", ImageURLAuth: "Image"}[scheme]
	c, err := s.read(token, s.local)
	switch {
	case scheme == UserAuth && err == nil && c.Scheme == UserAuth:
		return Identity{Scheme: UserAuth, Username: adminUsername}, nil
	case kind != "":
		return Identity{}, unauthorized("%s Authentication not allowed for local auth", kind)
	case err != nil:
		return Identity{}, unauthorized("Failed to parse token: %v", err)
	case scheme == URLAuth:
		return s.checkLink(r, scheme, token)
	case c.InfraEnvID == "" && c.ClusterID == "":
		return Identity{}, unauthorized("claims are incorrectly formatted")
	}
	return Identity{Scheme: scheme, Username: adminUsername}, nil
}

// checkLink knows the bearer of a link by the one object that it opens; no other exists for that bearer.
func (s *Service) checkLink(r *http.Request, scheme Scheme, token string) (Identity, error) {
	c, err := s.read(token, s.local)
	if err != nil {
		return Identity{}, unauthorized("Failed to parse token: %v", err)
	}
	if c.InfraEnvID == "" && c.ClusterID == "" {
		return Identity{}, unauthorized("claims are incorrectly formatted")
	}
	infraEnvID, clusterID := target(r)
	if hosts := hostsOf(r); infraEnvID == "" && len(hosts) > 0 && s.config.HasHosts != nil && s.config.HasHosts(c.InfraEnvID, hosts) {
		infraEnvID = c.InfraEnvID
	}
	if !sameText(c.InfraEnvID, infraEnvID) || !sameText(c.ClusterID, clusterID) {
		return Identity{}, &refusal{code: http.StatusNotFound, message: "Object Not Found"}
	}
	return Identity{Scheme: scheme, Username: adminUsername}, nil
}

// sameText compares secrets of any length without telling by its time where they differ.
func sameText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// basePath is where the API lives (the basePath of the service's description).
const basePath = "/api/assisted-install/v2/"

//go:embed operations.yaml
var operations []byte

// operation is what callers other than users may call: "METHOD path", in which * is any one segment.
type operation struct {
	Schemes []Scheme `json:"schemes"`
	Calls   []string `json:"calls"`
}

// schemes says which callers may make a request; not ok for paths that anyone may ask for, such as /ready.
func (s *Service) schemes(method, path string) (allowed []Scheme, ok bool) {
	rest, ok := strings.CutPrefix(path, basePath)
	if !ok {
		return nil, false
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(method+" "+strings.TrimSuffix(rest, "/"), "/")
	for _, op := range s.operations {
		if slices.ContainsFunc(op.Calls, func(call string) bool { return fits(call, segments) }) {
			return op.Schemes, true
		}
	}
	return []Scheme{UserAuth}, true
}

func fits(pattern string, segments []string) bool {
	want := strings.Split(pattern, "/")
	return slices.EqualFunc(want, segments, func(w, s string) bool { return w == s || w == "*" && s != "" })
}

// target is the object that a request is about, for tokens that open only one.
func target(r *http.Request) (infraEnvID, clusterID string) {
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, basePath), "/")
	if len(segments) > 1 {
		switch segments[0] {
		case "infra-envs", "infra-env":
			return segments[1], ""
		case "clusters":
			return "", segments[1]
		}
	}
	query := r.URL.Query()
	return query.Get("infra_env_id"), query.Get("cluster_id")
}

func hostsOf(r *http.Request) []string {
	if r.URL.Path != basePath+"events" {
		return nil
	}
	query := r.URL.Query()
	ids := strings.Split(query.Get("host_ids"), ",")
	return slices.DeleteFunc(append(ids, query.Get("host_id")), func(id string) bool { return id == "" })
}
