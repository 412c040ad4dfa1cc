package base

import (
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/names"
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
			words = append(words, "--"+name, names.Quoted(flag.Value.String()))
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

// LookAround is what to type where the service that a hint is about was
// simulated, and is gone.
const LookAround = "simulate it with `oaictl simulator serve` and `oaictl simulator hosts` to look around"

// commands finds whatever is to be typed in a hint, with or without a service.
var commands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(^|`|[:;] |\\bthen |\\brun |, or |\n  )oaictl( [a-z-])")
})

// Hint completes what to type next, so that it works as it stands: by the name that
// the program was called by, which says what it speaks to; with the connection that
// was typed, and without a service that has ended.
func (a *App) Hint(text string) string {
	if a.Globals.file != "" {
		text = strings.ReplaceAll(text, " -f FILE", " -f "+names.Quoted(a.Globals.file))
	}
	text = a.connected(text)
	switch a.Identity.Name {
	case programName:
		return text
	case MediaName:
		return a.inMediaWords(text)
	}
	return commands().ReplaceAllString(text, "${1}"+a.Identity.Name+"${2}")
}

// inMediaWords calls the steps what the units of media call them. Whatever else is
// to be typed only the program itself has, under its own name.
func (a *App) inMediaWords(text string) string {
	typed := strings.Join(append([]string{""}, a.Globals.typed...), " ")
	for _, step := range mediaSteps {
		text = strings.ReplaceAll(text, programName+typed+" agent "+step[0], MediaName+typed+" "+step[1])
	}
	return text
}

func (a *App) connected(text string) string {
	switch {
	case a.Globals.typed == nil && a.Globals.MediaURL == "" && !a.Globals.Simulated, strings.HasPrefix(text, a.CommandLine()):
		return text // this very command line has its flags
	case !serviceCommands().MatchString(text):
		return text
	case a.Globals.Simulated:
		return withoutService(text)
	}
	return serviceCommands().ReplaceAllStringFunc(text, func(command string) string {
		words := append([]string{programName}, a.Globals.typed...)
		if a.Globals.MediaURL != "" && !strings.HasSuffix(command, " agent") {
			words = append(words, "--service-url", names.Quoted(a.Globals.MediaURL))
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
	return strings.Join(append(kept, LookAround), "; ")
}

// Hinted completes the hints of a plan.
func (a *App) Hinted(plan install.Plan) install.Plan {
	plan.Next = a.Hint(plan.Next)
	plan.Blockers = a.remedies(plan.Blockers)
	plan.Warnings, plan.Checks = a.advice(plan.Warnings), a.advice(plan.Checks)
	waits := make([]install.Wait, 0, len(plan.Waits))
	for _, w := range plan.Waits {
		w.Next = a.Hint(w.Next)
		waits = append(waits, w)
	}
	plan.Waits = waits
	return plan
}

func (a *App) advice(warnings []install.Warning) []install.Warning {
	out := make([]install.Warning, 0, len(warnings))
	for _, w := range warnings {
		w.Next = a.Hint(w.Next)
		out = append(out, w)
	}
	return out
}

func (a *App) remedies(blockers []install.Blocker) []install.Blocker {
	out := make([]install.Blocker, 0, len(blockers))
	for _, b := range blockers {
		b.Remedy, b.Check = a.Hint(b.Remedy), a.Hint(b.Check)
		out = append(out, b)
	}
	return out
}

// HintedSink completes the hints of what is shown. How to look around later is
// said once, at the end, and not at each step of a simulation.
type HintedSink struct {
	progress.Sink
	Hint func(string) string
}

// Event completes the hint of an event.
func (s HintedSink) Event(e install.Event) {
	if e.Next = s.Hint(e.Next); e.ExitCode == nil {
		e.Next = strings.TrimSuffix(strings.TrimSuffix(e.Next, LookAround), "; ")
	}
	s.Sink.Event(e)
}
