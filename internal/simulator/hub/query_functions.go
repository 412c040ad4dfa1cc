package hub

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// function finds a function of jq.
func function(name string, args []query) (query, error) {
	switch {
	case name == "select" && len(args) == 1:
		return func(v any) ([]any, error) {
			return then(args[0], func(good any) ([]any, error) {
				if truth(good) {
					return []any{v}, nil
				}
				return nil, nil
			})(v)
		}, nil
	case name == "map" && len(args) == 1:
		return collect(then(each, args[0])), nil
	case (name == "any" || name == "all") && len(args) < 3:
		return quantified(name == "any", args), nil
	case name == "empty" && len(args) == 0:
		return func(any) ([]any, error) { return nil, nil }, nil
	case len(args) == 0:
		if f := plainFunction(name); f != nil {
			return single(f), nil
		}
	case len(args) == 1:
		if f := textFunction(name); f != nil {
			return func(v any) ([]any, error) {
				return then(args[0], single(func(arg any) (any, error) { return f(v, arg) }))(v)
			}, nil
		}
	}
	return nil, fmt.Errorf("function not defined: %s/%d", name, len(args))
}

// quantified is any or all, of a list or of what a filter gives.
func quantified(some bool, args []query) query {
	from, good := query(each), query(identity)
	switch len(args) {
	case 1:
		good = args[0]
	case 2:
		from, good = args[0], args[1]
	}
	return single(func(v any) (any, error) {
		verdicts, err := then(from, good)(v)
		if err != nil {
			return nil, err
		}
		return slices.ContainsFunc(verdicts, func(x any) bool { return truth(x) == some }) == some, nil
	})
}

func plainFunction(name string) func(any) (any, error) {
	switch name {
	case "not":
		return func(v any) (any, error) { return !truth(v), nil }
	case "length":
		return length
	case "type":
		return func(v any) (any, error) { return typeOf(v), nil }
	case "tostring":
		return func(v any) (any, error) {
			if text, ok := v.(string); ok {
				return text, nil
			}
			return toJSON(v), nil
		}
	case "tonumber":
		return func(v any) (any, error) {
			if text, ok := v.(string); ok {
				return strconv.ParseFloat(text, 64)
			}
			return v, nil
		}
	case "ascii_downcase":
		return func(v any) (any, error) {
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("cannot lower the case of: %s", typeOf(v))
			}
			return strings.ToLower(text), nil
		}
	case "add", "min", "max", "first", "last":
		return func(v any) (any, error) { return fold(name, v) }
	case "floor":
		return func(v any) (any, error) {
			n, ok := number(v)
			if !ok {
				return nil, fmt.Errorf("cannot round: %s", typeOf(v))
			}
			return math.Floor(n), nil
		}
	}
	return nil
}

func length(v any) (any, error) {
	switch x := v.(type) {
	case nil:
		return 0.0, nil
	case string:
		return float64(len([]rune(x))), nil
	case []any:
		return float64(len(x)), nil
	case map[string]any:
		return float64(len(x)), nil
	}
	n, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("%s has no length", typeOf(v))
	}
	return math.Abs(n), nil
}

// fold makes one value of a list.
func fold(name string, v any) (any, error) {
	list, err := each(v)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	switch name {
	case "first":
		return list[0], nil
	case "last":
		return list[len(list)-1], nil
	case "min":
		return slices.MinFunc(list, order), nil
	case "max":
		return slices.MaxFunc(list, order), nil
	}
	var sum any
	for _, x := range list {
		if sum, err = calculate("+", sum, x); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func textFunction(name string) func(v, arg any) (any, error) {
	texts := func(f func(a, b string) (any, error)) func(v, arg any) (any, error) {
		return func(v, arg any) (any, error) {
			a, okA := v.(string)
			b, okB := arg.(string)
			if !okA || !okB {
				return nil, fmt.Errorf("%s() cannot be applied to: %s, %s", name, typeOf(v), typeOf(arg))
			}
			return f(a, b)
		}
	}
	switch name {
	case "startswith":
		return texts(func(a, b string) (any, error) { return strings.HasPrefix(a, b), nil })
	case "endswith":
		return texts(func(a, b string) (any, error) { return strings.HasSuffix(a, b), nil })
	case "test":
		return texts(func(a, b string) (any, error) {
			expression, err := regexp.Compile(b)
			if err != nil {
				return nil, fmt.Errorf("invalid regular expression %q", b)
			}
			return expression.MatchString(a), nil
		})
	case "contains":
		return func(v, arg any) (any, error) { return contains(v, arg), nil }
	case "has":
		return func(v, arg any) (any, error) {
			m, isMap := v.(map[string]any)
			text, isText := arg.(string)
			if !isMap || !isText {
				return nil, fmt.Errorf("cannot check whether %s has a key", typeOf(v))
			}
			_, there := m[text]
			return there, nil
		}
	}
	return nil
}

// contains tells whether b is part of a: a text of a text, a member of a list.
func contains(a, b any) bool {
	switch part := b.(type) {
	case string:
		whole, ok := a.(string)
		return ok && strings.Contains(whole, part)
	case []any:
		whole, ok := a.([]any)
		return ok && !slices.ContainsFunc(part, func(x any) bool {
			return !slices.ContainsFunc(whole, func(y any) bool { return contains(y, x) })
		})
	case map[string]any:
		whole, ok := a.(map[string]any)
		for name := range part {
			ok = ok && contains(whole[name], part[name])
		}
		return ok
	}
	return order(a, b) == 0
}
