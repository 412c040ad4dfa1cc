package app

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// typedConnection is the flags of this command line that the next one needs as
// well, to reach the same service. What the environment or the configuration
// says holds there by itself.
func typedConnection(command *cobra.Command) []string {
	var words []string
	for _, name := range []string{"backend", "service-url", "token-file", "offline-token-file", "ca-file", "insecure", "kubeconfig", "context",
		"namespace", "all-namespaces"} {
		flag := command.Flags().Lookup(name)
		switch {
		case flag == nil || !flag.Changed:
		case flag.Value.Type() == "bool" && flag.Value.String() == "true":
			words = append(words, "--"+name)
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name+"="+flag.Value.String())
		default:
			words = append(words, "--"+name, listtext.Quoted(flag.Value.String()))
		}
	}
	return words
}

// asksService reports whether a command of a piece of advice speaks to a service.
func asksService(command string) bool {
	verb, _, _ := strings.Cut(command, " ")
	return slices.Contains([]string{"agent", "create", "add-node", "plan", "wait", "why", "get", "describe", "logs", "download", "cancel",
		"reset", "delete", "iso", "approve", "import", "kubeconfig", "remove-node", "replace-node", "upgrade"}, verb)
}

// SimulateAdvice is what to type where the service that a hint is about was
// simulated, and is gone.
const SimulateAdvice model.Advice = "to look around in a simulated cluster: {simulator lab -f FILE --without-nodes}"

// Hint is what to type next, so that it works as it stands: by the name that the program was
// called by, which says what it speaks to; with the connection that was typed, and without a
// service that has ended.
func (a *App) Hint(next model.Advice) string {
	if a.Globals.Simulated {
		next = withoutService(next)
	}
	return next.Render(a.completed)
}

// SayNext says what to do about an error that ends nothing, where that is known.
func (a *App) SayNext(err error) {
	if next := a.Hint(model.FaultOf(err).Next); next != "" {
		a.Say("Next: %s", next)
	}
}

// completed is a command of a piece of advice as it is to be typed here.
func (a *App) completed(command string) string {
	if a.Globals.file != "" {
		command = strings.Replace(command, " -f FILE", " -f "+listtext.Quoted(a.Globals.file), 1)
	}
	command = a.Globals.reach.completed(command)
	step, inMedia := strings.CutPrefix(command, "agent ")
	name := a.Identity.Name
	if name == MediaName {
		name = programName // which alone has the other commands
		if known := MediaStep(step); inMedia && known != "" {
			name, command = MediaName, known
		}
	}
	words := []string{name}
	if inMedia || asksService(command) {
		words = append(words, a.Globals.typed...)
		if a.Globals.MediaURL != "" && !inMedia {
			words = append(words, "--service-url", listtext.Quoted(a.Globals.MediaURL))
		}
	}
	return strings.Join(append(words, command), " ")
}

// asides finds the commands that a piece of advice names by the way.
var asides = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` \(\{[^)]*\)`) })

// withoutService keeps the parts of a piece of advice that need no service.
func withoutService(next model.Advice) model.Advice {
	needs := func(part string) bool { return slices.ContainsFunc(model.Advice(part).Commands(), asksService) }
	if !needs(string(next)) {
		return next
	}
	text := asides().ReplaceAllString(string(next), "")
	if !needs(text) {
		return model.Advice(text)
	}
	parts := slices.DeleteFunc(strings.Split(strings.ReplaceAll(text, ", or ", "; "), "; "), needs)
	return model.Advice(strings.Join(append(parts, string(SimulateAdvice)), "; "))
}

// Hinted completes the hints of a plan.
func (a *App) Hinted(plan model.Plan) model.Plan {
	hint := func(next model.Advice) model.Advice { return model.Advicef("%s", a.Hint(next)) }
	plan.Next = hint(plan.Next)
	plan.Blockers, plan.Warnings, plan.Checks, plan.Waits = slices.Clone(plan.Blockers), slices.Clone(plan.Warnings),
		slices.Clone(plan.Checks), slices.Clone(plan.Waits)
	for i, b := range plan.Blockers {
		plan.Blockers[i].Remedy, plan.Blockers[i].Check = hint(b.Remedy), hint(b.Check)
	}
	for _, list := range [][]model.Warning{plan.Warnings, plan.Checks} {
		for i, w := range list {
			list[i].Next = hint(w.Next)
		}
	}
	for i, w := range plan.Waits {
		plan.Waits[i].Next = hint(w.Next)
	}
	return plan
}

// HintedSink completes the hints of what is shown. How to look around later is printed once, at the end, and not at
// each step of a simulation.
type HintedSink struct {
	progress.Sink
	Hint func(model.Advice) string
}

// Event completes the hint of an event.
func (s HintedSink) Event(e model.Event) {
	next := s.Hint(e.Next)
	if e.ExitCode == nil {
		next = strings.TrimSuffix(strings.TrimSuffix(next, s.Hint(SimulateAdvice)), "; ")
	}
	e.Next = model.Advicef("%s", next)
	s.Sink.Event(e)
}

// reach is what this command line says of the installed cluster, and the next one needs as well.
type reach struct {
	root    *cobra.Command
	cluster string // by name or id, as it was typed
	file    string
	flags   []*pflag.Flag
}

func typedReach(command *cobra.Command, file string) reach {
	r := reach{root: command.Root(), file: file}
	flags := command.Flags()
	given := flags.Args()
	switch path := command.CommandPath(); {
	case flags.Changed("cluster"):
		r.cluster = flags.Lookup("cluster").Value.String()
	case len(given) > 0 && KindOf(given[0]) != "host" && KindOf(given[0]) != "machine" &&
		(strings.HasSuffix(path, " get nodes") || strings.HasSuffix(path, " why")):
		r.cluster = given[len(given)-1]
	}
	for _, name := range []string{"cluster-kubeconfig", "dir", "allow-address"} {
		if flags.Changed(name) && flags.Lookup("cluster-kubeconfig") != nil {
			r.flags = append(r.flags, flags.Lookup(name))
		}
	}
	return r
}

// completed is a command that reaches the same installed cluster as this one does.
func (r reach) completed(command string) string {
	if r.root == nil {
		return command
	}
	next, _, err := r.root.Find(strings.Fields(command))
	if err != nil || next.Flags().Lookup("cluster-kubeconfig") == nil {
		return command
	}
	words := []string{command}
	says := func(flag string) bool { return strings.Contains(command, " --"+flag+" ") }
	ofNodes := slices.Contains([]string{"approve", "remove-node", "replace-node"}, next.Name())
	switch {
	case !ofNodes || says("cluster") || strings.Contains(command, " -f "):
	case r.cluster != "":
		words = append(words, "--cluster", listtext.Quoted(r.cluster))
	case r.file != "":
		words = append(words, "-f", listtext.Quoted(r.file))
	}
	for _, flag := range r.flags {
		if next.Flags().Lookup(flag.Name) == nil || flag.Name != "allow-address" && says(flag.Name) {
			continue
		}
		for _, value := range valuesOf(flag) {
			words = append(words, "--"+flag.Name, listtext.Quoted(value))
		}
	}
	return strings.Join(words, " ")
}

func valuesOf(flag *pflag.Flag) []string {
	if list, is := flag.Value.(pflag.SliceValue); is {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// Progress is where the events of a run go, as --progress and the terminal say; of is the clock that
// the cluster lives by.
func (a *App) Progress(ctx context.Context, of clock.Clock) progress.Sink {
	return HintedSink{Sink: a.sink(ctx, of), Hint: a.Hint}
}

func (a *App) sink(ctx context.Context, of clock.Clock) progress.Sink {
	kind := a.Globals.Progress
	if kind == ProgressAuto {
		kind = ProgressPlain
		if a.IO.Live(a.Env) && a.Globals.Verbose < 2 {
			kind = ProgressTTY
		}
	}
	switch {
	case kind == ProgressJSON:
		return progress.JSON(a.IO.Out)
	case a.Globals.Quiet:
		return progress.None()
	case kind == ProgressTTY:
		return progress.Once(progress.Live(ctx, progress.Screen{
			W: a.IO.Err, Size: a.IO.Size, Color: a.IO.Color(a.Env), Zone: time.Local, Clock: of, Wall: clock.Real(),
		}))
	default:
		return progress.Once(progress.Plain(a.IO.Err, time.Local, a.Globals.Verbose > 0))
	}
}
