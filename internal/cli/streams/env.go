package streams

import "strings"

// Env is the environment of a run, by name.
type Env map[string]string

// EnvOf reads the NAME=VALUE form of os.Environ. A later entry wins.
func EnvOf(environ []string) Env {
	env := make(Env, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// Lookup is the value of a variable, and whether it is set.
func (e Env) Lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// Get is the value of a variable, "" if it is not set.
func (e Env) Get(name string) string { return e[name] }
