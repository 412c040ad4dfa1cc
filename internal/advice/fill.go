package advice

import (
	"regexp"
	"strings"
	"sync"
)

// Names are what the placeholders of advice stand for. What is empty stays a
// placeholder.
type Names struct {
	Cluster string
	Hosts   []string // those that the advice is about
	Stage   string
}

// placeholders are the commands in advice that leave a name open.
var placeholders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{((?:[a-z]+\s)+)NAME\b([^}]*)\}`)
})

// Fill puts names into the commands of a piece of advice, such as an entry's Remedy,
// so that they can be typed as they stand. Of several hosts that are to be looked at
// the first is named.
func (t Text) Fill(names Names) Text {
	return Text(placeholders().ReplaceAllStringFunc(string(t), func(text string) string {
		parts := placeholders().FindStringSubmatch(text)
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
			return text
		}
		return "{" + command + name + parts[2] + "}" + others
	}))
}
