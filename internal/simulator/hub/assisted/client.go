// Package assisted is a simulated hub's client of the assisted-service behind it.
package assisted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// RestBase is the path below which the service's API is found.
const RestBase = "/api/assisted-install"

// Client speaks to the simulated service.
type Client struct {
	Url    string // without a path
	client *http.Client
	token  string // "" where the service asks for none
}

// New speaks to the service at an address, with a token where callers are asked for one.
func New(service string, callers *auth.Service) (*Client, error) {
	b := &Client{Url: strings.TrimSuffix(strings.TrimSuffix(service, "/"), RestBase), client: &http.Client{Timeout: time.Minute}}
	if callers == nil || callers.Mode() == auth.None {
		return b, nil
	}
	var err error
	b.token, err = callers.Mint(auth.Grant{Scheme: auth.UserAuth})
	return b, err
}

// restError is a refusal of the service.
type restError struct {
	status int
	reason string
}

func (e *restError) Error() string { return e.reason }

// IsGone tells whether the service does not know what was asked for.
func IsGone(err error) bool {
	var refusal *restError
	return errors.As(err, &refusal) && refusal.status == http.StatusNotFound
}

// IsInput tells whether only the user can cure an error: the service refused what it was sent.
func IsInput(err error) bool {
	var input *InputError
	if errors.As(err, &input) {
		return true
	}
	var refusal *restError
	return errors.As(err, &refusal) && refusal.status >= 400 && refusal.status < 500
}

// InputError is a fault of a custom resource that was found before the service was asked.
type InputError struct{ text string }

func (e *InputError) Error() string { return e.text }

// InputFault is a fault of a custom resource that only the user can cure.
func InputFault(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Do sends a request and reads its answer into a value; nil for either is none.
func (b *Client) Do(ctx context.Context, method, path string, send, into any) error {
	data, err := b.Raw(ctx, method, path, send)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the service's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// Raw sends a request and gives the answer as it came.
func (b *Client) Raw(ctx context.Context, method, path string, send any) ([]byte, error) {
	var body io.Reader
	if send != nil {
		data, err := json.Marshal(send)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, b.Url+RestBase+path, body)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", method, path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if b.token != "" {
		request.Header.Set("Authorization", b.token)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	const most = 64 << 20
	data, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, fmt.Errorf("read the service's answer to %s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		return nil, refusal(response.StatusCode, data)
	}
	return data, nil
}

func refusal(status int, data []byte) error {
	var said struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &said) != nil || said.Reason+said.Message == "" {
		said.Reason = fmt.Sprintf("the service answers %d %s", status, http.StatusText(status))
	}
	if said.Reason == "" {
		said.Reason = said.Message
	}
	return &restError{status: status, reason: said.Reason}
}
