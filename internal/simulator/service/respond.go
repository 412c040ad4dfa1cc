package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// apiError is a refusal in the service's own words: {kind, id, href, code, reason}
// with the code as a string.
type apiError struct {
	status int
	reason string
}

func (e *apiError) Error() string { return e.reason }

func refuse(status int, format string, args ...any) error {
	return &apiError{status: status, reason: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, format, args...)
}

func conflict(format string, args ...any) error {
	return refuse(http.StatusConflict, format, args...)
}

func notFound(format string, args ...any) error {
	return refuse(http.StatusNotFound, format, args...)
}

// frameError is a refusal by the framework, before the service saw the call:
// {code, message} with the code as a number.
type frameError struct {
	status  int
	message string
}

func (e *frameError) Error() string { return e.message }

func malformed(format string, args ...any) error {
	return &frameError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// reply is what a handler answers. A nil body sends no content; a []byte body
// is sent as it is.
type reply struct {
	status  int
	body    any
	header  map[string]string
	rawType string
}

func ok(body any) (reply, error)      { return reply{status: http.StatusOK, body: body}, nil }
func created(body any) (reply, error) { return reply{status: http.StatusCreated, body: body}, nil }
func accepted(body any) (reply, error) {
	return reply{status: http.StatusAccepted, body: body}, nil
}
func noContent() (reply, error) { return reply{status: http.StatusNoContent}, nil }

// file answers with a download.
func file(name string, content []byte) (reply, error) {
	return reply{
		status: http.StatusOK, body: content, rawType: "application/octet-stream",
		header: map[string]string{"Content-Disposition": fmt.Sprintf("attachment; filename=%q", name)},
	}, nil
}

// errorReply puts an error into the shape that it has on the wire.
func errorReply(err error) reply {
	var frame *frameError
	if errors.As(err, &frame) {
		return reply{status: frame.status, body: struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}{frame.status, frame.message}}
	}
	var api *apiError
	if !errors.As(err, &api) {
		api = &apiError{status: http.StatusInternalServerError, reason: err.Error()}
	}
	return reply{status: api.status, body: struct {
		Code   string `json:"code"`
		Href   string `json:"href"`
		ID     int    `json:"id"`
		Kind   string `json:"kind"`
		Reason string `json:"reason"`
	}{strconv.Itoa(api.status), "", api.status, "Error", api.reason}}
}

// send writes the reply. The Date header is the service's own time, which
// clients take as "now".
func (r reply) send(w http.ResponseWriter, date string) {
	h := w.Header()
	h.Set("Date", date)
	for k, v := range r.header {
		h.Set(k, v)
	}
	switch body := r.body.(type) {
	case nil:
		w.WriteHeader(r.status)
	case []byte:
		h.Set("Content-Type", r.rawType)
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(r.status)
		_, _ = w.Write(body) // a client that went away is no trouble of ours
	default:
		data, err := json.Marshal(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", "application/json")
		h.Set("Vary", "Accept-Encoding")
		h.Set("Content-Length", strconv.Itoa(len(data)+1))
		w.WriteHeader(r.status)
		_, _ = w.Write(append(data, '\n'))
	}
}
