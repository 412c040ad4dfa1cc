package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// apiError is the service's own refusal: {kind, id, href, code, reason}, the code a string.
type apiError struct {
	status int
	reason string
}

func (e *apiError) Error() string { return e.reason }

// Refuse is a refusal of the service with a status.
func Refuse(status int, format string, args ...any) error {
	return &apiError{status: status, reason: fmt.Sprintf(format, args...)}
}

// BadRequest is a refusal of what was asked for.
func BadRequest(format string, args ...any) error {
	return Refuse(http.StatusBadRequest, format, args...)
}

// Conflict is a refusal because of the state that something is in.
func Conflict(format string, args ...any) error { return Refuse(http.StatusConflict, format, args...) }

// NotFound is the answer to a question for something that is not there.
func NotFound(format string, args ...any) error { return Refuse(http.StatusNotFound, format, args...) }

// FrameError is the framework's refusal, before the service: {code, message}, the code a number.
type FrameError struct {
	Status  int
	Message string
}

func (e *FrameError) Error() string { return e.Message }

// Malformed is the framework's refusal of a request.
func Malformed(format string, args ...any) error {
	return &FrameError{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// Reply is what a handler answers. A nil body sends no content; a []byte body is sent as it is.
type Reply struct {
	Status  int
	Body    any
	Header  map[string]string
	RawType string
}

// OK answers with a body.
func OK(body any) (Reply, error) { return Reply{Status: http.StatusOK, Body: body}, nil }

// Created answers with what was made.
func Created(body any) (Reply, error) { return Reply{Status: http.StatusCreated, Body: body}, nil }

// Accepted answers with what has begun.
func Accepted(body any) (Reply, error) { return Reply{Status: http.StatusAccepted, Body: body}, nil }

// NoContent answers without a body.
func NoContent() (Reply, error) { return Reply{Status: http.StatusNoContent}, nil }

// File answers with a download.
func File(name string, content []byte) (Reply, error) {
	return Reply{
		Status: http.StatusOK, Body: content, RawType: "application/octet-stream",
		Header: map[string]string{"Content-Disposition": fmt.Sprintf("attachment; filename=%q", name)},
	}, nil
}

// ErrorReply puts an error into the shape that it has on the wire.
func ErrorReply(err error) Reply {
	var frame *FrameError
	if errors.As(err, &frame) {
		return Reply{Status: frame.Status, Body: struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}{frame.Status, frame.Message}}
	}
	var api *apiError
	if !errors.As(err, &api) {
		api = &apiError{status: http.StatusInternalServerError, reason: err.Error()}
	}
	return Reply{Status: api.status, Body: struct {
		Code   string `json:"code"`
		Href   string `json:"href"`
		ID     int    `json:"id"`
		Kind   string `json:"kind"`
		Reason string `json:"reason"`
	}{strconv.Itoa(api.status), "", api.status, "Error", api.reason}}
}

// Send writes the reply. The Date header is the service's own time, which clients take as "now".
func (r Reply) Send(w http.ResponseWriter, date string) {
	h := w.Header()
	h.Set("Date", date)
	for k, v := range r.Header {
		h.Set(k, v)
	}
	switch body := r.Body.(type) {
	case nil:
		w.WriteHeader(r.Status)
	case []byte:
		h.Set("Content-Type", r.RawType)
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(r.Status)
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
		w.WriteHeader(r.Status)
		_, _ = w.Write(append(data, '\n'))
	}
}

// Problems is how the service says several problems at once.
func Problems(problems ...string) string {
	noun := "errors"
	if len(problems) == 1 {
		noun = "error"
	}
	return fmt.Sprintf("%d %s occurred:\n\t* %s\n\n", len(problems), noun, strings.Join(problems, "\n\t* "))
}

// FirstLine is the first line of a text.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
