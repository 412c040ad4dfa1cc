package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	// ssoPath is where, under Red Hat's single sign-on, tokens are exchanged.
	ssoPath = "/auth/realms/redhat-external/protocol/openid-connect/token"
	// ssoURL is where console.redhat.com's offline tokens are exchanged.
	ssoURL    = "https://sso.redhat.com" + ssoPath
	ssoClient = "cloud-services" // the OAuth client that they are issued to
	// offlinePage is where a person gets a new one.
	offlinePage  = "https://console.redhat.com/openshift/token"
	refreshAhead = 2 * time.Minute // how long before its end a token is replaced, half its life at most
	unsaid       = 5 * time.Minute // the life of an access token whose answer does not say it
)

// Exchanger is what exchanging tokens needs.
type Exchanger struct {
	// Client verifies certificates: what is sent is worth more than the service.
	// http.DefaultClient if nil. Its redirect policy is replaced: a token goes to
	// no other origin.
	Client *http.Client
	Clock  clock.Clock // the machine's own if nil
	CAFile string      // the file that Client trusts, for errors
}

// exchanged is a source of access tokens that are exchanged for something.
type exchanged struct {
	Exchanger
	url  string
	form func() url.Values
	hide func(string) string // takes out of an answer what was sent
	next string

	slot    chan struct{} // the holder may exchange tokens and may observe
	value   string
	renewAt time.Time
	mu      sync.Mutex
	refused string // the value that the service did not take
}

func (e Exchanger) source(address, secret string, form func() url.Values, next string) *exchanged {
	if address == "" {
		address = ssoURL
	}
	if e.Client == nil {
		e.Client = http.DefaultClient
	}
	if e.Clock == nil {
		e.Clock = clock.Real()
	}
	own := *e.Client
	own.CheckRedirect = toSameOrigin
	e.Client = &own
	return &exchanged{Exchanger: e, url: tokenURL(address), form: form, hide: redact.NewReplacer(secret), next: next,
		slot: make(chan struct{}, 1)}
}

// tokenURL is where tokens are exchanged, for the address that the user gave:
// that itself, or only the server, which has them where Red Hat's has them.
func tokenURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return address
	}
	u.Path = ssoPath
	return u.String()
}

func (e Exchanger) offline(address, token, client string) *exchanged {
	secret := spec.NewSecret(token)
	return e.source(address, token, func() url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {secret.Reveal()}}
	}, "get a new offline token at "+offlinePage+" and give it with --offline-token-file")
}

func (e Exchanger) account(address, id, text string) *exchanged {
	secret := spec.NewSecret(text)
	return e.source(address, text, func() url.Values {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret.Reveal()}}
	}, "check the service account's client id and secret")
}

// Header is a bearer token that is good for a while. Callers that come while a
// token is being exchanged wait for that one.
func (e *exchanged) Header(ctx context.Context) (string, string, error) {
	select {
	case e.slot <- struct{}{}:
		defer func() { <-e.slot }()
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
	e.mu.Lock()
	stale := e.value == "" || e.value == e.refused || !e.Clock.Now().Before(e.renewAt)
	e.mu.Unlock()
	if stale {
		if err := e.renew(ctx); err != nil {
			return "", "", err
		}
	}
	return userHeader, e.value, nil
}

// Refused has the token exchanged again, once for each token that was refused.
func (e *exchanged) Refused(value string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = value
	return true
}

func (e *exchanged) Next() string { return e.next }

// String keeps the tokens out of logs.
func (e *exchanged) String() string { return "[redacted]" }

// GoString keeps the tokens out of logs, for %#v.
func (e *exchanged) GoString() string { return "[redacted]" }

// renew exchanges, a few times if the other side cannot answer.
func (e *exchanged) renew(ctx context.Context) error {
	backoff := firstBackoff
	for number := 1; ; number++ {
		began := e.Clock.Now()
		token, life, fault := e.exchange(ctx)
		if fault == nil {
			e.value = "Bearer " + token
			e.renewAt = began.Add(life - min(refreshAhead, life/2))
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if fault.Permanent || number >= tries {
			return fault
		}
		if err := e.Clock.Sleep(ctx, backoff); err != nil {
			return err
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

func (e *exchanged) exchange(ctx context.Context) (token string, life time.Duration, fault *model.Fault) {
	fail := func(permanent bool, code model.Code, status int, err error) (string, time.Duration, *model.Fault) {
		f := &model.Fault{Code: code, Op: "exchange token at", On: hostOf(e.url), Status: status, Permanent: permanent, Err: err}
		switch {
		case code == model.CodeAuth:
			f.Next = model.Advice(e.next)
		case permanent:
			f.Next = "check --sso-url"
		case status == 0:
			f.Next = model.Advice("check that " + hostOf(e.url) + " can be reached, and --sso-url")
		default:
			f.Next = "run the same command again in a while, or check --sso-url"
		}
		return "", 0, f
	}
	ctx, cancel := context.WithTimeout(ctx, max(e.Clock.Wall(answerTime), leastAnswerTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(e.form().Encode()))
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "https" && req.URL.Scheme != "http" {
		return fail(true, model.CodeUsage, 0, errors.New("its URL is not https://HOST[:PORT][/PATH]"))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := e.Client.Do(req)
	if err != nil {
		var elsewhere *redirectError
		if errors.As(err, &elsewhere) {
			return fail(true, model.CodeFailure, 0, elsewhere)
		}
		reason := errors.New(short(redact.Error(err)))
		if text, next := distrust(err, hostOf(e.url), e.CAFile); next != "" {
			_, _, fault := fail(true, model.CodeFailure, 0, fmt.Errorf("%s: %w", text, reason))
			fault.Next = model.Advice(next)
			return "", 0, fault
		}
		return fail(false, model.CodeFailure, 0, reason)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fail(false, model.CodeFailure, resp.StatusCode, fmt.Errorf("read the answer: %w", err))
	}
	var answer struct {
		AccessToken string          `json:"access_token"`
		ExpiresIn   json.RawMessage `json:"expires_in"`
		Error       string          `json:"error"`
		Description string          `json:"error_description"`
	}
	decodeErr := json.Unmarshal(body, &answer)
	said := func(text string) error {
		return fmt.Errorf("%s (%d)", short(redact.Text(e.hide(text))), resp.StatusCode)
	}
	page := Title([]byte(e.hide(string(body))))
	switch {
	case answer.Error == "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed ||
		speaksTLS(readError(resp, body, e.Clock.Now(), e.hide))):
		return fail(true, model.CodeFailure, resp.StatusCode, fmt.Errorf("no tokens are exchanged there: %w", said(page)))
	case resp.StatusCode >= 400 && resp.StatusCode < 500 && !passing(resp.StatusCode):
		text := strings.Trim(answer.Error+": "+answer.Description, ": ")
		if text == "" {
			text = page
		}
		return fail(true, model.CodeAuth, resp.StatusCode, said(text))
	case resp.StatusCode != http.StatusOK:
		return fail(false, model.CodeFailure, resp.StatusCode, said(page))
	case decodeErr != nil || answer.AccessToken == "":
		return fail(false, model.CodeFailure, resp.StatusCode, errors.New("the answer holds no access token"))
	}
	life = unsaid
	if seconds, err := time.ParseDuration(strings.Trim(string(answer.ExpiresIn), `"`) + "s"); err == nil && seconds > 0 {
		life = seconds
	}
	return answer.AccessToken, life, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the token service"
	}
	return u.Host
}
