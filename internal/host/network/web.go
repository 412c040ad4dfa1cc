//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// webTime is the longest that a server may take for one answer.
	webTime = time.Minute
	// redirects is how often a server may send a request on.
	redirects = 10
)

// checkURL refuses what is no address of a web server, and one with a password, which would be sent back in the answer.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("the URL cannot be read") // the cause has the whole URL
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return fmt.Errorf("the URL has the scheme %q, and only http and https are allowed", parsed.Scheme)
	case parsed.Hostname() == "":
		return errors.New("the URL names no server")
	case parsed.User != nil:
		return errors.New("the URL has a user name or a password")
	}
	return nil
}

// webClient makes requests by a transport.
func webClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) >= redirects {
			return fmt.Errorf("the server sends the request on more than %d times", redirects)
		}
		return checkURL(next.URL.String())
	}}
}

// get asks a server for a document of at most limit bytes. The document of an answer with another status than 2xx is part of
// it, too.
func get(ctx context.Context, client *http.Client, address string, header http.Header, limit int64) (body []byte, status int, err error) {
	if err := checkURL(address); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, webTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, response.StatusCode, fmt.Errorf("read the answer of %s after %d bytes: %w", request.URL.Host, len(body), err)
	}
	if int64(len(body)) > limit {
		return nil, response.StatusCode, fmt.Errorf("the answer of %s has more than %d bytes", request.URL.Host, limit)
	}
	return body, response.StatusCode, nil
}

// success reports whether a status of HTTP is one of success.
func success(status int) bool { return status >= http.StatusOK && status < http.StatusMultipleChoices }

// shown is how many bytes of an answer that is wrong are shown to the user: they may tell which server answered.
const shown = 512

func beginning(body []byte) []byte { return body[:min(len(body), shown)] }
