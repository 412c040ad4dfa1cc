package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Parameter is one parameter of an operation. The framework checks all of them
// before the service sees the call, in the order of their names, and answers with
// the first problem.
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

// Required is a parameter in the query that has to be there, and, where values
// are given, to be one of them.
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

// Body is an operation's JSON body, by the name that the API's description gives
// it. The handler gets it by taken.
func Body[T any](name string) Parameter {
	words := strings.Split(name, "-")
	for i, w := range words {
		if first := w[:1]; i > 0 {
			words[i] = strings.ToUpper(first) + w[1:]
		} else {
			words[i] = strings.ToLower(first) + w[1:]
		}
	}
	said := strings.Join(words, "")
	return Parameter{name, func(c *Call) error {
		v := new(T)
		if err := decode(c.Content, said, v); err != nil {
			return err
		}
		c.taken = v
		return nil
	}}
}

// Taken is the body that the operation's parameters name.
func Taken[T any](c *Call) T {
	v, _ := c.taken.(*T)
	if v == nil { // the operation's parameters name no such body
		return *new(T)
	}
	return *v
}

// Form refuses a body that is not a form.
func Form() Parameter {
	return Parameter{"", func(c *Call) error {
		kind, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
		if len(c.Content) > 0 && kind != "multipart/form-data" {
			return &FrameError{http.StatusUnsupportedMediaType, fmt.Sprintf("unsupported media type %q, only [multipart/form-data] are allowed", kind)}
		}
		return nil
	}}
}

// BodyEnum refuses a value in the body that is none of those.
func BodyEnum(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Malformed("%s in body should be one of [%s]", name, strings.Join(allowed, " "))
}
