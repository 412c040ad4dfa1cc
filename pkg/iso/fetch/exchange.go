package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// exchange makes one request for what is missing, and stores what comes.
func (d *download) exchange(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d.done > 0 && !d.resumable() {
		if err := d.restart(); err != nil {
			return err
		}
	}
	resp, err := d.ask(ctx)
	if err != nil {
		return broken(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotModified:
		if d.stale != nil {
			return errSame
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if d.done > 0 && d.done == d.said.Total {
			return nil // all of it was there
		}
		if d.done > 0 {
			return cmp.Or(d.restart(), broken(errors.New("the server has less data than was already downloaded")))
		}
	case http.StatusPartialContent:
		if d.done == 0 {
			break // no part was requested
		}
		if err := d.continues(resp.Header); err != nil {
			return cmp.Or(d.restart(), broken(err))
		}
		return d.store(ctx, cancel, resp.Body)
	case http.StatusOK:
		if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
			return fmt.Errorf("the server sends it with the encoding %s, which was not requested", coding)
		}
		if err := d.starts(ctx, resp); err != nil {
			return err
		}
		return d.store(ctx, cancel, resp.Body)
	}
	return &StatusError{Code: resp.StatusCode, Status: resp.Status}
}

// ask requests the rest of a download, or all of the content if it has changed.
func (d *download) ask(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.from.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	switch {
	case d.done > 0:
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.done))
		if condition := d.said.ifRange(); condition != "" {
			req.Header.Set("If-Range", condition)
		}
	case d.stale != nil && d.old.URL == Redact(d.from.url.String()): // another server's word says nothing of this one's
		d.old.condition(req.Header)
	}
	return d.cache.config.Client.Do(req)
}

// continues checks that an answer goes on where the part ends.
func (d *download) continues(h http.Header) error {
	said := h.Get("Content-Range")
	first, total, ok := parseContentRange(said)
	if !ok || first != d.done {
		return fmt.Errorf("the request was for the data after %d bytes, but the server sends Content-Range %q", d.done, said)
	}
	if etag := h.Get("ETag"); etag != "" && d.said.ETag != "" && etag != d.said.ETag {
		return errors.New("the content has changed since the download started")
	}
	switch {
	case total < 0 && d.said.Total < 0: // the end of the part would pass for the end of the content
		return errors.New("the server does not send the size of the content")
	case d.said.Total < 0:
		d.said.Total = total
	case total >= 0 && total != d.said.Total:
		return fmt.Errorf("the content had %d bytes, but now it has %d", d.said.Total, total)
	}
	return nil
}

// parseContentRange reads a Content-Range field (RFC 9110, 14.4): the first byte,
// and the number of all bytes, -1 where it is not said.
func parseContentRange(said string) (first, total int64, ok bool) {
	rest, isBytes := strings.CutPrefix(said, "bytes ")
	span, all, hasAll := strings.Cut(rest, "/")
	from, to, hasTo := strings.Cut(span, "-")
	if !isBytes || !hasAll || !hasTo {
		return 0, 0, false
	}
	begin, err := strconv.ParseUint(from, 10, 63)
	end, err2 := strconv.ParseUint(to, 10, 63)
	if err != nil || err2 != nil || end < begin {
		return 0, 0, false
	}
	if all == "*" {
		return int64(begin), -1, true
	}
	size, err := strconv.ParseUint(all, 10, 63)
	return int64(begin), int64(size), err == nil && size > end
}

func (d *download) starts(ctx context.Context, resp *http.Response) error {
	if err := d.restart(); err != nil {
		return err
	}
	d.said = begun{
		validators: validators{ETag: resp.Header.Get("ETag"), LastModified: resp.Header.Get("Last-Modified")},
		URL:        Redact(d.from.url.String()), Total: resp.ContentLength, Owner: d.from.owner,
	}
	if d.said.Total > 0 {
		if err := d.cache.makeRoom(ctx, d.from.key, d.said.Total); err != nil {
			return err
		}
		d.room = d.said.Total
	}
	if !d.resumable() {
		return nil
	}
	return writeJSON(d.cache.path(d.from.key, ".part.json"), d.said)
}

// store appends what a server sends to the part, until nothing comes for too long.
func (d *download) store(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) error {
	stall := d.cache.config.Stall
	stalled := fmt.Errorf("the server sent nothing for %s", stall)
	watchdog := time.AfterFunc(stall, func() { cancel(stalled) })
	defer watchdog.Stop()

	buf := make([]byte, 1<<20)
	for {
		n, err := body.Read(buf)
		watchdog.Reset(stall)
		if cause := context.Cause(ctx); cause != nil && err == nil {
			err = cause // what has already arrived could go on for a while
		}
		if err := d.append(ctx, buf[:n]); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF) && d.said.Total >= 0 && d.done < d.said.Total:
			return &brokenError{fmt.Errorf("the connection ended after %d of %d bytes", d.done, d.said.Total)}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return broken(fmt.Errorf("after %d bytes: %w", d.done, err))
		}
	}
}

func (d *download) append(ctx context.Context, p []byte) error {
	if d.said.Total >= 0 && d.done+int64(len(p)) > d.said.Total {
		return fmt.Errorf("the server sends more than the %d bytes that it announced", d.said.Total)
	}
	if end := d.done + int64(len(p)); end > d.room && d.cache.config.Cap > 0 {
		want := max(end, d.said.Total)
		if d.said.Total < 0 {
			want = max(end, min(end+unknownStep, d.cache.config.Cap))
		}
		if err := d.cache.makeRoom(ctx, d.from.key, want); err != nil {
			return err
		}
		d.room = want
	}
	before := d.done
	n, err := d.part.WriteAt(p, d.done)
	d.sum.Write(p[:n])
	d.done += int64(n)
	d.progress(d.done, d.said.Total)
	if err == nil && before < StartSize && d.done >= StartSize {
		err = d.checkStart()
	}
	return err
}

// checkStart ends a download at its beginning that is not of what is wanted.
func (d *download) checkStart() error {
	if d.cache.config.Begins == nil {
		return nil
	}
	start := make([]byte, StartSize)
	if _, err := d.part.ReadAt(start, 0); err != nil {
		return err
	}
	if err := d.cache.config.Begins(start); err != nil {
		return cmp.Or(d.restart(), err)
	}
	return nil
}

func newClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       trust.Clone(),
			TLSHandshakeTimeout:   30 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
			DisableCompression:    true, // ranges and sizes are those of the content itself
		},
	}
}

// noDowngrade follows redirects, but not from https to http: otherwise a third party on the network could change what
// boots a machine. No server gets the URL that redirected: it may hold a token.
func noDowngrade(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return &redirectError{"it redirects more than 10 times"}
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return &redirectError{"it redirects from https to " + Redact(req.URL.String())}
	}
	req.Header.Del("Referer")
	return nil
}

type redirectError struct{ why string }

func (e *redirectError) Error() string { return e.why }

// StatusError is an answer that is not the content.
type StatusError struct {
	Code int
	// Status is the status line's code and text, as in "404 Not Found".
	Status string
}

func (e *StatusError) Error() string { return "the server answers " + e.Status }

// passing reports whether the same request may succeed a little later.
func passing(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code >= 500 && status.Code != http.StatusNotImplemented ||
			status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout
	}
	var broken *brokenError
	return errors.As(err, &broken)
}

// brokenError is a request without an answer, or an answer that broke off.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// broken wraps what went wrong on the way, without an *url.Error, which would repeat
// the URL with all that is secret in it.
func broken(err error) error {
	var redirect *redirectError
	if errors.As(err, &redirect) {
		return redirect
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	return &brokenError{err: err}
}
