package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

type explainOptions struct {
	*app.App
	Kind string // "field" or one of the catalogue's
	Name string // "" for a list of the kind
	Of   string // the kind of file that a field is of, "" for whichever has it
}

const kindField = "field"

// NewExplain is `explain`.
func NewExplain(a *app.App) *cobra.Command {
	o := &explainOptions{App: a}
	command := &cobra.Command{
		Use:   "explain FIELD | validation|state|stage|event [NAME]",
		Short: "Explain a field of cluster.yaml, a state that oaictl shows, or a word of the service",
		Args:  somethingToExplain,
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			return explainable(given), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(command *cobra.Command, given []string) error {
			o.Kind, o.Name = kindField, given[0]
			if kind := strings.TrimSuffix(strings.ToLower(given[0]), "s"); slices.Contains(explain.Kinds(), explain.Kind(kind)) {
				o.Kind, o.Name = kind, strings.Join(given[1:], " ")
			} else if len(given) > 1 {
				return app.Usagef("%q cannot be explained: use one of %s, or a field of cluster.yaml such as spec.hosts", given[0],
					kindList())
			}
			switch {
			case o.Of != "" && o.Kind != kindField:
				return app.Usagef("--kind is only for a field, not for a %s of the service", o.Kind)
			case o.Kind == kindField:
				return o.field()
			case o.Name == "":
				return o.list()
			}
			return o.word()
		},
	}
	command.Flags().StringVar(&o.Of, "kind", "", "`KIND` of file that the field is of, where both have it: "+
		strings.Join(DocumentKinds(), " or "))
	return command
}

func somethingToExplain(_ *cobra.Command, given []string) error {
	if len(given) == 0 {
		return app.Usagef("explain what? a field of cluster.yaml such as spec.hosts, or one of %s", kindList())
	}
	return nil
}

func kindNames() []string {
	return output.Each(explain.Kinds(), func(kind explain.Kind) string { return string(kind) })
}

func kindList() string {
	return strings.Join(kindNames(), ", ")
}

func explainable(given []string) []string {
	if len(given) == 0 {
		return append([]string{"spec", "metadata"}, kindNames()...)
	}
	return explain.NamesOf(explain.Kind(given[0]))
}

func (o *explainOptions) field() error {
	kind := ""
	if o.Of != "" {
		var err error
		if kind, err = documentKind(o.Of); err != nil {
			return err
		}
	}
	doc, err := schema.Explain(kind, o.Name)
	if found := o.words(); err != nil && o.Of == "" && len(found) > 0 {
		return o.explainAll(found)
	}
	if err != nil {
		return &model.Fault{Code: model.CodeNotFound, Err: err, Next: "{explain spec}"}
	}
	return o.Print(printer.Result{Data: doc, Names: output.Each(doc.Fields, func(f schema.Doc) string { return f.Path }),
		Text: func() string { return fieldText(doc) }})
}

func fieldText(doc schema.Doc) string {
	var text strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&text, "%-9s %s\n", name+":", value)
		}
	}
	path := doc.Path
	if path == "" {
		path = "cluster.yaml"
	}
	line("FIELD", path)
	line("TYPE", doc.Type)
	if doc.Required {
		line("REQUIRED", "yes")
	}
	line("DEFAULT", doc.Default)
	line("VALUES", strings.Join(doc.Enum, ", "))
	if doc.Description != "" {
		text.WriteString("\n" + wrapped(doc.Description, "  ") + "\n")
	}
	if len(doc.Fields) > 0 {
		text.WriteString("\nFIELDS:\n")
	}
	for _, field := range doc.Fields {
		name := field.Path[strings.LastIndexByte(field.Path, '.')+1:]
		note := field.Type
		if field.Required {
			note += ", required"
		}
		fmt.Fprintf(&text, "  %s <%s>\n", name, note)
		if field.Description != "" {
			text.WriteString(wrapped(field.Description, "    ") + "\n")
		}
	}
	return text.String()
}

func (o *explainOptions) list() error {
	entries := explain.All(explain.Kind(o.Kind))
	names := output.Each(entries, func(e explain.Entry) string { return e.Name })
	table := printer.Table{Columns: []printer.Column{{Name: "NAME"}, {Name: "OF"}, {Name: "MEANS", Prose: true}},
		Rows: output.Each(entries, func(e explain.Entry) []string {
			return []string{e.Name, string(e.Subject), e.Title}
		})}
	return o.Print(printer.Result{Data: output.List(entries), Names: names, Table: func() printer.Table { return table }})
}

// word is one name of a kind, which may be both a host's and a cluster's.
func (o *explainOptions) word() error {
	kind := explain.Kind(o.Kind)
	found := exact(explain.Find(kind, o.Name), o.Name)
	if len(found) == 0 {
		reason := errors.New("it is not known")
		if near := explain.Suggest(kind, o.Name); len(near) > 0 {
			reason = fmt.Errorf("it is not known; did you mean %s?", strings.Join(near, ", "))
		}
		return &model.Fault{Code: model.CodeNotFound, Op: "explain " + o.Kind, On: o.Name, Err: reason, Next: model.Command("explain", o.Kind)}
	}
	return o.explainAll(found)
}

// words are the entries of all kinds that have the name.
func (o *explainOptions) words() []explain.Entry {
	var found []explain.Entry
	for _, kind := range explain.Kinds() {
		found = append(found, exact(explain.Find(kind, o.Name), o.Name)...)
	}
	return found
}

// exact are the entries with exactly that name, where there are some: Installed is a state of oaictl, and installed a
// status of the service.
func exact(found []explain.Entry, name string) []explain.Entry {
	if _, rest, qualified := strings.Cut(name, "/"); qualified {
		name = rest
	}
	same := slices.DeleteFunc(slices.Clone(found), func(e explain.Entry) bool { return e.Name != name })
	if len(same) > 0 {
		return same
	}
	return found
}

func (o *explainOptions) explainAll(found []explain.Entry) error {
	var names, texts []string
	details := make([]any, 0, len(found))
	for _, entry := range found {
		detail, facts := detailOf(entry)
		names = append(names, entry.Name)
		details = append(details, detail)
		texts = append(texts, entryText(entry, facts))
	}
	return o.Print(printer.Result{Data: output.List(details), Names: names, Text: func() string { return strings.Join(texts, "\n") }})
}

type fact = [2]string

// detailOf is the catalogue's data of an entry, and in words what no explanation has.
func detailOf(entry explain.Entry) (detail any, facts []fact) {
	switch entry.Kind {
	case explain.KindValidation:
		if v, ok := explain.Validation(entry.Subject, entry.Name); ok {
			return v, validationFacts(v)
		}
	case explain.KindState:
		find := explain.HostState
		switch entry.Subject {
		case explain.SubjectCluster:
			find = explain.ClusterState
		case explain.SubjectInfraEnv:
			find = explain.ImageState
		}
		if s, ok := find(entry.Name); ok {
			return s, stateFacts(s)
		}
	case explain.KindStage:
		find := explain.Stage
		if entry.Subject == explain.SubjectCluster {
			find = explain.FinalizingStage
		}
		if s, ok := find(entry.Name); ok {
			return s, stageFacts(s)
		}
	case explain.KindEvent:
		if e, ok := explain.Event(entry.Name); ok {
			return e, []fact{{"SEVERITY", string(e.Severity)}, {"WATCH", e.Watch.String()}}
		}
	}
	return entry, nil
}

func validationFacts(v explain.ValidationEntry) []fact {
	blocks := "no, it only warns"
	if v.Blocking {
		blocks = "yes"
	}
	ignore := "no"
	if v.Ignorable {
		ignore = "yes, with spec.ignoreValidations"
	}
	cure := map[explain.Cure]string{
		explain.CureFile:    "a changed cluster.yaml",
		explain.CureMachine: "work at the machine, its network or the services around it",
		explain.CureWait:    "time: it passes by itself",
	}[v.Cure]
	var after []string
	for _, ref := range v.ConsequenceOf {
		if name := ref.String(); !slices.Contains(after, name) && ref.ID != explain.AnyBlocking {
			after = append(after, name)
		}
	}
	return []fact{
		{"CATEGORY", v.Category}, {"BLOCKS", blocks}, {"CAN BE IGNORED", ignore}, {"CURED BY", cure},
		{"FOLLOWS FROM", strings.Join(after, ", ")},
	}
}

func stateFacts(s explain.StateEntry) []fact {
	facts := []fact{{"SHOWN AS", s.Neutral}}
	if s.Own() {
		facts = []fact{{"OF THE SERVICE", strings.Join(explain.StatusesOf(s), ", ")}}
	}
	if s.Terminal {
		facts = append(facts, fact{"FINAL", "yes, nothing more happens unless you request it"})
	}
	if s.NeedsUser {
		facts = append(facts, fact{"NEEDS YOU", "yes, a person must act at a machine"})
	}
	return facts
}

func stageFacts(s explain.StageEntry) []fact {
	paths := strings.Join(output.Each(s.Paths, func(path explain.Path) string { return string(path) }), ", ")
	facts := []fact{{"PATHS", paths}}
	if s.Usual > 0 {
		facts = append(facts, fact{"USUALLY TAKES", printer.Age(s.Usual)})
	}
	if s.Budget > 0 {
		text := printer.Age(s.Budget)
		if s.SingleNodeBudget > 0 {
			text += " (single node: " + printer.Age(s.SingleNodeBudget) + ")"
		}
		facts = append(facts, fact{"TIMES OUT AFTER", text})
	}
	if s.Hard > 0 {
		facts = append(facts, fact{"GIVEN UP AFTER", printer.Age(s.Hard)})
	}
	return facts
}

func entryText(entry explain.Entry, facts []fact) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s: %s\n", entry.Subject, entry.Kind, entry.Name, entry.Title)
	for _, f := range facts {
		if f[1] != "" {
			fmt.Fprintf(&text, "  %-16s %s\n", f[0]+":", f[1])
		}
	}
	if entry.Field != "" {
		fmt.Fprintf(&text, "  %-16s %s\n", "FIELD:", entry.Field)
	}
	for _, part := range []fact{{"", entry.Meaning}, {"Usual cause", entry.Cause}, {"Check", entry.Check.String()},
		{"Do", entry.Remedy.String()}} {
		switch {
		case part[1] == "":
		case part[0] == "":
			text.WriteString("\n" + wrapped(part[1], "  ") + "\n")
		default:
			text.WriteString("\n  " + part[0] + ":\n" + wrapped(part[1], "    ") + "\n")
		}
	}
	return text.String()
}

// wrapped breaks a text into lines of at most 78 characters, each indented.
func wrapped(text, indent string) string {
	return indent + strings.Join(progress.Wrap(text, 78-len(indent)), "\n"+indent)
}

// NewSchema is `schema`.
func NewSchema(a *app.App) *cobra.Command {
	var given string
	command := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of cluster.yaml",
		Args:  app.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			kind, err := documentKind(given)
			if err != nil {
				return err
			}
			text := schema.JSON(kind)
			var data any
			if a.Globals.Format.Machine() {
				if err := json.Unmarshal(text, &data); err != nil {
					return err
				}
			}
			return a.Print(printer.Result{Data: data, Names: []string{strings.ToLower(kind)}, Text: func() string { return string(text) }})
		},
	}
	command.Flags().StringVar(&given, "kind", strings.ToLower(spec.Kind), "`KIND` of file: "+strings.Join(DocumentKinds(), " or "))
	return command
}

// schemaKinds are the kinds of files that have a schema.
func schemaKinds() []string { return []string{spec.Kind, spec.KindNodes} }

// DocumentKinds are the kinds of files that have a schema, as --kind takes them.
func DocumentKinds() []string {
	return output.Each(schemaKinds(), strings.ToLower)
}

// documentKind is the kind that --kind names, in any case.
func documentKind(given string) (string, error) {
	for _, kind := range schemaKinds() {
		if strings.EqualFold(given, kind) {
			return kind, nil
		}
	}
	return "", app.Usagef("%q is not a kind of file; use one of %s", given, strings.Join(DocumentKinds(), ", "))
}
