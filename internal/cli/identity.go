package cli

import (
	"path/filepath"
	"strings"
)

// identity is what the program was called as. The one binary answers to four
// names: as a plugin of kubectl it speaks to a hub unless told otherwise, as
// kubectl's completion helper it completes, and as a plugin of clusterctl it is
// the same tree.
type identity struct {
	name    string   // how a person calls it: "kubectl oai"
	backend string   // the default of --backend
	args    []string // the arguments, without the name
}

func identify(argv []string) identity {
	if len(argv) == 0 {
		return identity{name: "oaictl", backend: backendREST}
	}
	called := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	id := identity{name: "oaictl", backend: backendREST, args: argv[1:]}
	switch called {
	case "kubectl-oai":
		id.name, id.backend = "kubectl oai", backendHub
	case "kubectl_complete-oai":
		id.name, id.backend = "kubectl oai", backendHub
		id.args = append([]string{"__complete"}, id.args...)
	case "clusterctl-oai":
		id.name = "clusterctl oai"
	}
	return id
}
