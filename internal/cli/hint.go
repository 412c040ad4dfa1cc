package cli

import (
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/pkg/install"
)

// typedConnection is the flags of this command line that the next one needs as
// well, to reach the same service. What the environment or the configuration
// says holds there by itself.
func typedConnection(command *cobra.Command) []string {
	var words []string
	for _, name := range []string{"backend", "service-url", "token-file", "offline-token-file", "ca-file", "insecure", "kubeconfig", "context", "namespace", "all-namespaces"} {
		flag := command.Flags().Lookup(name)
		switch {
		case flag == nil || !flag.Changed:
		case flag.Value.Type() == "bool" && flag.Value.String() == "true":
			words = append(words, "--"+name)
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name+"="+flag.Value.String())
		default:
			words = append(words, "--"+name, quoted(flag.Value.String()))
		}
	}
	return words
}

// serviceCommands finds the commands in a hint that speak to a service: at its
// beginning, quoted, or after the words that lead to what is to be typed. What
// stands elsewhere is prose about a command.
var serviceCommands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(^|`|\\(|[:;.,] |\\bthen |\\brun |\\bor )(oaictl)( (?:agent|create|add-node|plan|wait|why|get|describe|logs|download|cancel|reset|delete|iso)\\b)")
})

// lookAround is what to type where the service that a hint is about was
// simulated, and is gone.
const lookAround = "simulate it with `oaictl simulator serve` and `oaictl simulator hosts` to look around"

// commands finds whatever is to be typed in a hint, with or without a service.
var commands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(^|`|[:;] |\\bthen |\\brun |, or |\n  )oaictl( [a-z-])")
})

// hint completes what to type next, so that it works as it stands: by the name that
// the program was called by, which says what it speaks to; with the connection that
// was typed, and without a service that has ended.
func (a *app) hint(text string) string {
	if a.globals.file != "" {
		text = strings.ReplaceAll(text, " -f FILE", " -f "+quoted(a.globals.file))
	}
	text = a.connected(text)
	switch a.identity.name {
	case programName:
		return text
	case mediaName:
		return a.inMediaWords(text)
	}
	return commands().ReplaceAllString(text, "${1}"+a.identity.name+"${2}")
}

// inMediaWords calls the steps what the units of media call them. Whatever else is
// to be typed only the program itself has, under its own name.
func (a *app) inMediaWords(text string) string {
	typed := strings.Join(append([]string{""}, a.globals.typed...), " ")
	for _, step := range mediaSteps {
		text = strings.ReplaceAll(text, programName+typed+" agent "+step[0], mediaName+typed+" "+step[1])
	}
	return text
}

func (a *app) connected(text string) string {
	switch {
	case a.globals.typed == nil && a.globals.mediaURL == "" && !a.globals.vanishes, strings.HasPrefix(text, a.commandLine()):
		return text // this very command line has its flags
	case !serviceCommands().MatchString(text):
		return text
	case a.globals.vanishes:
		return withoutService(text)
	}
	return serviceCommands().ReplaceAllStringFunc(text, func(command string) string {
		words := append([]string{programName}, a.globals.typed...)
		if a.globals.mediaURL != "" && !strings.HasSuffix(command, " agent") {
			words = append(words, "--service-url", quoted(a.globals.mediaURL))
		}
		return strings.Replace(command, programName, strings.Join(words, " "), 1)
	})
}

// asides finds the commands that a hint names by the way.
var asides = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` \(oaictl [^)]*\)`) })

// withoutService keeps the parts of a hint that need no service.
func withoutService(text string) string {
	const or = ", or "
	if text = asides().ReplaceAllString(text, ""); !serviceCommands().MatchString(text) {
		return text
	}
	var kept []string
	for _, part := range strings.Split(strings.ReplaceAll(text, or, "; "), "; ") {
		if !serviceCommands().MatchString(part) {
			kept = append(kept, part)
		}
	}
	return strings.Join(append(kept, lookAround), "; ")
}

// hinted completes the hints of a plan.
func (a *app) hinted(plan install.Plan) install.Plan {
	plan.Next = a.hint(plan.Next)
	plan.Blockers = a.remedies(plan.Blockers)
	plan.Warnings, plan.Checks = a.advice(plan.Warnings), a.advice(plan.Checks)
	waits := make([]install.Wait, 0, len(plan.Waits))
	for _, w := range plan.Waits {
		w.Next = a.hint(w.Next)
		waits = append(waits, w)
	}
	plan.Waits = waits
	return plan
}

func (a *app) advice(warnings []install.Warning) []install.Warning {
	out := make([]install.Warning, 0, len(warnings))
	for _, w := range warnings {
		w.Next = a.hint(w.Next)
		out = append(out, w)
	}
	return out
}

func (a *app) remedies(blockers []install.Blocker) []install.Blocker {
	out := make([]install.Blocker, 0, len(blockers))
	for _, b := range blockers {
		b.Remedy, b.Check = a.hint(b.Remedy), a.hint(b.Check)
		out = append(out, b)
	}
	return out
}

// hintedSink completes the hints of what is shown. How to look around later is
// said once, at the end, and not at each step of a simulation.
type hintedSink struct {
	progress.Sink
	hint func(string) string
}

func (s hintedSink) Event(e install.Event) {
	if e.Next = s.hint(e.Next); e.ExitCode == nil {
		e.Next = strings.TrimSuffix(strings.TrimSuffix(e.Next, lookAround), "; ")
	}
	s.Sink.Event(e)
}
