// Package wire is the frame of the simulated service's API: requests and their
// parameters, replies, and refusals, in the words of the service and in those of
// its framework, which judges a request before the service sees it.
package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	oaerrors "github.com/go-openapi/errors"
	"github.com/go-openapi/strfmt"
	"github.com/go-openapi/swag"
	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/simulator/auth"
)

// Call is a request as a handler sees it.
type Call struct {
	*http.Request
	Content []byte
	// taken is the body as its parameter made it out.
	taken any
}

// Handler answers a call. It runs under the service's lock.
type Handler func(*Call) (Reply, error)

// Owner is who makes what a call makes.
func (c *Call) Owner() string { return auth.From(c.Context()).Username }

// Sees reports whether a list shows the caller what belongs to the owner.
func (c *Call) Sees(owner string) bool {
	id := auth.From(c.Context())
	return id.Scheme != auth.UserAuth || id.Username == owner || id.Username == "admin"
}

// validatable is a parameter object that checks itself as the framework does.
type validatable interface {
	Validate(formats strfmt.Registry) error
}

// decode reads a JSON body strictly, as the real service by default; param is the body's name.
func decode(body []byte, param string, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Malformed("%s in body is required", param)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var mistyped *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("unexpected EOF")
		case errors.As(err, &mistyped):
			mistyped.Field = withoutTypes(mistyped.Field)
		}
		return Malformed("parsing %s body from \"\" failed, because %s", param, err)
	}
	if checked, ok := v.(validatable); ok {
		if err := checked.Validate(strfmt.Default); err != nil {
			return Malformed("%s", firstProblem(err))
		}
	}
	return nil
}

// firstProblem is all that the real framework says of several: it looks no further.
func firstProblem(err error) error {
	var composite *oaerrors.CompositeError
	for errors.As(err, &composite) && len(composite.Errors) > 0 {
		err = composite.Errors[0]
	}
	return err
}

// Parameter is one parameter of an operation. The framework checks all of them, in the order
// of their names, before the service sees the call, and answers with the first problem.
type Parameter struct {
	name  string
	check func(*Call) error
}

var pathIDs = regexp.MustCompile(`\{((?:cluster|infra_env|host)_id)\}`)

// ParametersOf adds the ids in an operation's path to its other parameters.
func ParametersOf(path string, others []Parameter) []Parameter {
	all := slices.Clone(others)
	for _, m := range pathIDs.FindAllStringSubmatch(path, -1) {
		all = append(all, pathID(m[1]))
	}
	slices.SortFunc(all, func(a, b Parameter) int { return cmp.Compare(a.name, b.name) })
	return all
}

// CheckParameters gives the first problem of a call's parameters.
func (c *Call) CheckParameters(all []Parameter) error {
	for _, p := range all {
		if err := p.check(c); err != nil {
			return err
		}
	}
	return nil
}

func isUUID(id string) bool {
	_, err := uuid.Parse(id)
	return err == nil && len(id) == 36
}

func pathID(name string) Parameter {
	return Parameter{name, func(c *Call) error {
		if id := c.PathValue(name); !isUUID(id) {
			return Malformed("%s in path must be of type uuid: %q", name, id)
		}
		return nil
	}}
}

// QueryID is an id in the query, which may be left out.
func QueryID(name string) Parameter {
	return Parameter{name, func(c *Call) error {
		if id := c.URL.Query().Get(name); id != "" && !isUUID(id) {
			return Malformed("%s in query must be of type uuid: %q", name, id)
		}
		return nil
	}}
}

// Required is a query parameter that has to be there and, with values given, be one of them.
func Required(name string, allowed ...string) Parameter {
	return Parameter{name, func(c *Call) error {
		value := c.URL.Query().Get(name)
		if value == "" {
			return Malformed("%s in query is required", name)
		}
		return OneOfQuery(name, value, allowed)
	}}
}

// Choice is a parameter in the query that may be left out.
func Choice(name string, allowed ...string) Parameter {
	return Parameter{name, func(c *Call) error {
		value := c.URL.Query().Get(name)
		if value == "" {
			return nil
		}
		return OneOfQuery(name, value, allowed)
	}}
}

// OneOfQuery refuses a value in the query that is none of those.
func OneOfQuery(name, value string, allowed []string) error {
	if len(allowed) > 0 && !slices.Contains(allowed, value) {
		return Malformed("%s in query should be one of %s", name, allowed)
	}
	return nil
}

// withoutTypes is the path of a field without the embedded types in it, which the service does not have. Only their names
// begin with a capital letter.
func withoutTypes(path string) string {
	isType := func(name string) bool { return name != "" && unicode.IsUpper(rune(name[0])) }
	return strings.Join(slices.DeleteFunc(strings.Split(path, "."), isType), ".")
}

// Body is a JSON body by the name in the API's description. The handler gets it by taken.
func Body[T any](name string) Parameter {
	return Parameter{name, func(c *Call) error {
		v := new(T)
		if err := decode(c.Content, swag.ToJSONName(name), v); err != nil {
			return err
		}
		c.taken = v
		return nil
	}}
}

// TypedBody is the body that the operation's parameters name.
func TypedBody[T any](c *Call) T {
	v, _ := c.taken.(*T)
	if v == nil { // the operation's parameters name no such body
		return *new(T)
	}
	return *v
}

// The types of a body that a form may have: the framework takes JSON everywhere, and finds no form in it.
const (
	formType = "multipart/form-data"
	jsonType = "application/json"
)

// Form refuses a body of a type that is taken nowhere, before all parameters.
func Form() Parameter {
	return Parameter{"", func(c *Call) error {
		if kind := c.bodyType(); len(c.Content) > 0 && kind != formType && kind != jsonType {
			return &FrameError{
				http.StatusUnsupportedMediaType, fmt.Sprintf("unsupported media type %q, only [%s %s] are allowed", kind, formType, jsonType),
			}
		}
		return nil
	}}
}

// FormFile is a file in the form, which may be left out; the form may not.
func FormFile(name string) Parameter {
	return Parameter{name, func(c *Call) error {
		if c.bodyType() != formType {
			return Malformed("reading file %q failed: %v", name, http.ErrNotMultipart)
		}
		return nil
	}}
}

func (c *Call) bodyType() string {
	kind, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
	return kind
}

// BodyEnum refuses a value in the body that is none of those.
func BodyEnum(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Malformed("%s in body should be one of [%s]", name, strings.Join(allowed, " "))
}

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
