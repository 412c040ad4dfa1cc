package catalogue

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
	File    string // that describes the cluster
}

// placeholders are the commands in advice that leave a name open.
var placeholders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(oaictl (?:[a-z]+ )+)NAME\b`)
})

// Fill puts names into the commands of a piece of advice, such as an entry's Remedy,
// so that they can be typed as they stand. Of several hosts that are to be looked at
// the first is named.
func Fill(advice string, names Names) string {
	advice = placeholders().ReplaceAllStringFunc(advice, func(text string) string {
		command := strings.TrimSuffix(text, "NAME")
		name := names.Cluster
		switch {
		case strings.HasSuffix(command, " stage "):
			name = ""
			if names.Stage != "" {
				name = `"` + names.Stage + `"`
			}
		case !strings.HasSuffix(command, " host "):
		case len(names.Hosts) == 0:
			name = ""
		case len(names.Hosts) > 1 && command == "oaictl delete host ":
			name = names.Hosts[0] + " (or another of them)"
		default:
			name = names.Hosts[0]
		}
		if name == "" {
			return text
		}
		return command + name
	})
	if names.File != "" {
		advice = strings.ReplaceAll(advice, " -f FILE", " -f "+names.File)
	}
	return advice
}
