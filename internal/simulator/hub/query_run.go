package hub

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

func identity(v any) ([]any, error) { return []any{v}, nil }

func constant(v any) query { return func(any) ([]any, error) { return []any{v}, nil } }

// mostResults bounds what a query can make of an inventory, and the length of a
// list; longestText bounds a text, in bytes.
const (
	mostResults = 10_000
	longestText = 1 << 20
)

// huge tells what a query has blown up.
func huge(v any) bool {
	switch v := v.(type) {
	case string:
		return len(v) > longestText
	case []any:
		return len(v) > mostResults
	}
	return false
}

// then applies a filter to everything that another one gives.
func then(first, second query) query {
	return func(v any) ([]any, error) {
		found, err := first(v)
		if err != nil {
			return nil, err
		}
		var all []any
		for _, f := range found {
			out, err := second(f)
			if err != nil {
				return nil, err
			}
			if all = append(all, out...); len(all) > mostResults || slices.ContainsFunc(out, huge) {
				return nil, fmt.Errorf("the query has too many results")
			}
		}
		return all, nil
	}
}

// single turns a function of a value into a filter.
func single(f func(any) (any, error)) query {
	return func(v any) ([]any, error) {
		out, err := f(v)
		if err != nil {
			return nil, err
		}
		return []any{out}, nil
	}
}

func keyed(name string) query {
	return single(func(v any) (any, error) {
		switch m := v.(type) {
		case nil:
			return nil, nil
		case map[string]any:
			return m[name], nil
		}
		return nil, fmt.Errorf("expected an object but got: %s", typeOf(v))
	})
}

func each(v any) ([]any, error) {
	switch list := v.(type) {
	case []any:
		return list, nil
	case map[string]any:
		var all []any
		for _, name := range slices.Sorted(maps.Keys(list)) {
			all = append(all, list[name])
		}
		return all, nil
	}
	return nil, fmt.Errorf("cannot iterate over: %s", typeOf(v))
}

func forgiving(q query) query {
	return func(v any) ([]any, error) {
		if out, err := q(v); err == nil {
			return out, nil
		}
		return nil, nil
	}
}

func collect(q query) query {
	return single(func(v any) (any, error) {
		out, err := q(v)
		if out == nil {
			out = []any{}
		}
		return out, err
	})
}

// indexed gives the members of a value that another filter names.
func indexed(of, at query) query {
	return func(v any) ([]any, error) {
		names, err := at(v)
		if err != nil {
			return nil, err
		}
		var all []any
		for _, name := range names {
			out, err := then(of, single(func(from any) (any, error) { return member(from, name) }))(v)
			if err != nil {
				return nil, err
			}
			all = append(all, out...)
		}
		return all, nil
	}
}

func member(from, name any) (any, error) {
	if text, ok := name.(string); ok {
		out, err := keyed(text)(from)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	number, ok := number(name)
	list, isList := from.([]any)
	if !ok || !isList && from != nil {
		return nil, fmt.Errorf("cannot index %s with %s", typeOf(from), typeOf(name))
	}
	at := int(number)
	if at < 0 {
		at += len(list)
	}
	if at < 0 || at >= len(list) {
		return nil, nil
	}
	return list[at], nil
}

// operation combines two filters.
func operation(operator string, left, right query) query {
	switch operator {
	case "|":
		return then(left, right)
	case ",":
		return func(v any) ([]any, error) {
			a, err := left(v)
			if err != nil {
				return nil, err
			}
			b, err := right(v)
			return append(slices.Clone(a), b...), err
		}
	case "//":
		return func(v any) ([]any, error) {
			a, _ := left(v)
			if a = slices.DeleteFunc(slices.Clone(a), func(x any) bool { return !truth(x) }); len(a) > 0 {
				return a, nil
			}
			return right(v)
		}
	}
	return func(v any) ([]any, error) {
		b, err := right(v)
		if err != nil {
			return nil, err
		}
		return then(left, func(x any) ([]any, error) {
			var all []any
			for _, y := range b {
				out, err := combine(operator, x, y)
				if err != nil {
					return nil, err
				}
				all = append(all, out)
			}
			return all, nil
		})(v)
	}
}

func combine(operator string, x, y any) (any, error) {
	switch operator {
	case "and":
		return truth(x) && truth(y), nil
	case "or":
		return truth(x) || truth(y), nil
	case "==":
		return order(x, y) == 0, nil
	case "!=":
		return order(x, y) != 0, nil
	case "<":
		return order(x, y) < 0, nil
	case "<=":
		return order(x, y) <= 0, nil
	case ">":
		return order(x, y) > 0, nil
	case ">=":
		return order(x, y) >= 0, nil
	}
	return calculate(operator, x, y)
}

func calculate(operator string, x, y any) (any, error) {
	if operator == "+" {
		switch a := x.(type) {
		case nil:
			return y, nil
		case string:
			if b, ok := y.(string); ok {
				return a + b, nil
			}
		case []any:
			if b, ok := y.([]any); ok {
				return append(slices.Clone(a), b...), nil
			}
		}
		if y == nil {
			return x, nil
		}
	}
	a, okA := number(x)
	b, okB := number(y)
	if !okA || !okB {
		return nil, fmt.Errorf("cannot calculate %s %s %s", typeOf(x), operator, typeOf(y))
	}
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 || operator == "%" && int64(b) == 0 {
		return nil, fmt.Errorf("cannot divide by zero")
	}
	if operator == "%" {
		return float64(int64(a) % int64(b)), nil
	}
	return a / b, nil
}

func truth(v any) bool { return v != nil && v != false }

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// order compares two values as jq does: by kind, and within one by value.
func order(x, y any) int {
	kinds := []string{"null", "boolean", "number", "string", "array", "object"}
	if c := cmp.Compare(slices.Index(kinds, typeOf(x)), slices.Index(kinds, typeOf(y))); c != 0 {
		return c
	}
	switch a := x.(type) {
	case nil:
		return 0
	case bool:
		return cmp.Compare(strconv.FormatBool(a), strconv.FormatBool(y.(bool)))
	case string:
		return cmp.Compare(a, y.(string))
	case []any:
		return slices.CompareFunc(a, y.([]any), order)
	case map[string]any:
		if reflect.DeepEqual(x, y) {
			return 0
		}
		return cmp.Compare(toJSON(x), toJSON(y))
	}
	a, _ := number(x)
	b, _ := number(y)
	return cmp.Compare(a, b)
}
