package explain

import (
	"regexp"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Names replace the placeholders in the commands of advice. A placeholder whose name is empty stays.
type Names struct {
	Cluster string
	Hosts   []string // the hosts that the advice is about
	Stage   string
}

// placeholders are the commands in advice that leave a name open.
var placeholders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{((?:[a-z]+\s)+)NAME\b([^}]*)\}`)
})

// Fill puts names into the commands of a piece of advice, such as an entry's Remedy, so that they can be typed as they
// stand. If there are several hosts to check, the first is named.
func Fill(text model.Advice, names Names) model.Advice {
	return model.Advice(placeholders().ReplaceAllStringFunc(string(text), func(marked string) string {
		parts := placeholders().FindStringSubmatch(marked)
		command, name, others := parts[1], names.Cluster, ""
		switch fields := strings.Fields(command); {
		case fields[len(fields)-1] == "stage":
			name = ""
			if names.Stage != "" {
				name = `"` + names.Stage + `"`
			}
		case fields[len(fields)-1] != "host":
		case len(names.Hosts) == 0:
			name = ""
		default:
			name = names.Hosts[0]
			if len(names.Hosts) > 1 && fields[0] == "delete" {
				others = " (or another of them)"
			}
		}
		if name == "" {
			return marked
		}
		return "{" + command + string(model.Advicef("%s", name)) + parts[2] + "}" + others
	}))
}
