package service

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// parameter is one parameter of an operation. The framework checks all of them
// before the service sees the call, in the order of their names, and answers with
// the first problem.
type parameter struct {
	name  string
	check func(*call) error
}

var pathIDs = regexp.MustCompile(`\{((?:cluster|infra_env|host)_id)\}`)

// parametersOf adds the ids in an operation's path to its other parameters.
func parametersOf(path string, others []parameter) []parameter {
	all := slices.Clone(others)
	for _, m := range pathIDs.FindAllStringSubmatch(path, -1) {
		all = append(all, pathID(m[1]))
	}
	slices.SortFunc(all, func(a, b parameter) int { return cmp.Compare(a.name, b.name) })
	return all
}

func (c *call) checkParameters(all []parameter) error {
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

func pathID(name string) parameter {
	return parameter{name, func(c *call) error {
		if id := c.PathValue(name); !isUUID(id) {
			return malformed("%s in path must be of type uuid: %q", name, id)
		}
		return nil
	}}
}

// queryID is an id in the query, which may be left out.
func queryID(name string) parameter {
	return parameter{name, func(c *call) error {
		if id := c.URL.Query().Get(name); id != "" && !isUUID(id) {
			return malformed("%s in query must be of type uuid: %q", name, id)
		}
		return nil
	}}
}

// required is a parameter in the query that has to be there, and, where values
// are given, to be one of them.
func required(name string, allowed ...string) parameter {
	return parameter{name, func(c *call) error {
		value := c.URL.Query().Get(name)
		if value == "" {
			return malformed("%s in query is required", name)
		}
		return oneOfQuery(name, value, allowed)
	}}
}

// choice is a parameter in the query that may be left out.
func choice(name string, allowed ...string) parameter {
	return parameter{name, func(c *call) error {
		value := c.URL.Query().Get(name)
		if value == "" {
			return nil
		}
		return oneOfQuery(name, value, allowed)
	}}
}

func oneOfQuery(name, value string, allowed []string) error {
	if len(allowed) > 0 && !slices.Contains(allowed, value) {
		return malformed("%s in query should be one of %s", name, allowed)
	}
	return nil
}

// body is an operation's JSON body, by the name that the API's description gives
// it. The handler gets it by taken.
func body[T any](name string) parameter {
	words := strings.Split(name, "-")
	for i, w := range words {
		if first := w[:1]; i > 0 {
			words[i] = strings.ToUpper(first) + w[1:]
		} else {
			words[i] = strings.ToLower(first) + w[1:]
		}
	}
	said := strings.Join(words, "")
	return parameter{name, func(c *call) error {
		v := new(T)
		if err := decode(c.body, said, v); err != nil {
			return err
		}
		c.taken = v
		return nil
	}}
}

// taken is the body that the operation's parameters name.
func taken[T any](c *call) T {
	v, _ := c.taken.(*T)
	if v == nil { // the operation's parameters name no such body
		return *new(T)
	}
	return *v
}

// form refuses a body that is not a form.
func form() parameter {
	return parameter{"", func(c *call) error {
		kind, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
		if len(c.body) > 0 && kind != "multipart/form-data" {
			return &frameError{http.StatusUnsupportedMediaType, fmt.Sprintf("unsupported media type %q, only [multipart/form-data] are allowed", kind)}
		}
		return nil
	}}
}
