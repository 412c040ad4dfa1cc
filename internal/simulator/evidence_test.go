package simulator_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEvidence holds EVIDENCE.md against the simulator's own source: everything that the
// simulator can say or do has one row, which says where that is known from.
func TestEvidence(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("EVIDENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	table, problems := readEvidence(string(text))
	for _, problem := range problems {
		t.Error(problem)
	}
	guesses, read := 0, sources{}
	for _, area := range evidenceAreas() {
		have := area.behaviours(t, read)
		rows := table[area.title]
		for _, behaviour := range have {
			if _, ok := rows[behaviour]; !ok {
				t.Errorf("EVIDENCE.md, %s: no row for `%s`", area.title, behaviour)
			}
		}
		for _, behaviour := range slices.Sorted(maps.Keys(rows)) {
			if !slices.Contains(have, behaviour) {
				t.Errorf("EVIDENCE.md, %s: the simulator no longer has `%s`", area.title, behaviour)
			}
			if strings.HasPrefix(rows[behaviour], "guess") {
				guesses++
			}
		}
		t.Logf("%-32s %4d behaviours", area.title, len(have))
		delete(table, area.title)
	}
	for _, title := range slices.Sorted(maps.Keys(table)) {
		t.Errorf("EVIDENCE.md: nothing in the source belongs to the section %q", title)
	}
	t.Logf("%d of them are guesses", guesses)
}

// evidenceRow is one line of a table: a behaviour, and where it is known from.
var evidenceRow = regexp.MustCompile("^\\| `(.*)` \\| (.*) \\|$")

// evidenceKind is what may stand in the second column.
var evidenceKind = regexp.MustCompile(`^(recorded: \S.*|source: \S.*|documented: \S.*|guess(: \S.*)?|ours: \S.*)$`)

// readEvidence gives the rows of each section.
func readEvidence(text string) (table map[string]map[string]string, problems []string) {
	table = map[string]map[string]string{}
	section := ""
	for i, line := range strings.Split(text, "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
			continue
		}
		row := evidenceRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		if table[section] == nil {
			table[section] = map[string]string{}
		}
		behaviour := strings.ReplaceAll(row[1], `\|`, "|")
		if _, twice := table[section][behaviour]; twice {
			problems = append(problems, fmt.Sprintf("EVIDENCE.md:%d: `%s` stands twice", i+1, behaviour))
		}
		if !evidenceKind.MatchString(row[2]) {
			problems = append(problems, fmt.Sprintf("EVIDENCE.md:%d: %q is no evidence: want recorded: SUBJECT, source: FILE, documented: WHERE, guess, or ours: WHY", i+1, row[2]))
		}
		table[section][behaviour] = row[2]
	}
	return table, problems
}

// evidenceArea is a section of EVIDENCE.md and how its behaviours are found in
// the files that match the patterns; without find they are the keys of a YAML file.
type evidenceArea struct {
	title string
	files []string
	find  func(*sourceFile) []string
}

func evidenceAreas() []evidenceArea {
	service := func(files string) []string { return []string{"service/" + files, "service/*/" + files} }
	return []evidenceArea{
		{"Operations of the service", service("*.go"), called(0, "handle")},
		{"States, steps, stages and their texts", service("*.go"), constants("cluster", "host", "info", "step", "stage", "finalizing")},
		{"Moves of clusters and hosts", service("*.go"), moves},
		{"Events of the service", service("*.go"), both(called(1, "addEvent", "addHostEvent", "addInfraEnvEvent"), called(3, "addEvent", "addHostEvent", "addInfraEnvEvent"))},
		{"Refusals of the service", service("*.go"), both(refusals("badRequest", "conflict", "notFound", "malformed"), refusals("refuse"))},
		{"Checks and their texts", []string{"service/validate/cluster*.go", "service/validate/host*.go", "service/validate/operators.go", "service/validate/rules.yaml"}, literals(regexp.MustCompile(`^[a-z][a-z0-9]+(-[a-z0-9]+)+$|[A-Za-z]+ [A-Za-z%]+`))},
		{"Conditions on a hub", []string{"hub/condition/*.go", "hub/condition/conditions.yaml"}, literals(regexp.MustCompile(`^[A-Z][A-Za-z]{3,}$|[A-Za-z]+ [A-Za-z%]+`))},
		{"Webhooks on a hub", []string{"hub/admission*.go", "hub/webhook/*.go"}, literals(regexp.MustCompile(`[A-Za-z]+ [A-Za-z%]+`))},
		{"Habits of BMCs", []string{"bmc/flavours.yaml"}, nil},
	}
}

// behaviours are those of an area, each once.
func (a evidenceArea) behaviours(t *testing.T, read sources) []string {
	t.Helper()
	var all []string
	for _, pattern := range a.files {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			switch {
			case a.find == nil:
				all = append(all, habits(t, path)...)
			case !strings.HasSuffix(path, "_test.go"):
				all = append(all, a.find(read.file(t, path))...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sourceFile is a parsed file with the string constants that it can name.
type sourceFile struct {
	*ast.File
	constants map[string]string
}

// sources are the parsed files, by their paths.
type sources map[string]*sourceFile

// file is a parsed file. The others of its folder are parsed with it.
func (s sources) file(t *testing.T, path string) *sourceFile {
	t.Helper()
	switch {
	case s[path] != nil:
	case filepath.Ext(path) == ".yaml":
		s[path] = rules(t, path)
	default:
		s.parse(t, filepath.Dir(path))
	}
	return s[path]
}

// rules is a table as a file whose literals are its ids and texts.
func rules(t *testing.T, path string) *sourceFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var table any
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	said := []string{"id", "says", "type", "status", "reason", "message"}
	all := &ast.ValueSpec{}
	var walk func(field string, value any)
	walk = func(field string, value any) {
		switch value := value.(type) {
		case string:
			if slices.Contains(said, field) {
				all.Values = append(all.Values, &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(value)})
			}
		case []any:
			for _, item := range value {
				walk("", item)
			}
		case map[string]any:
			for name, inner := range value {
				walk(name, inner)
			}
		}
	}
	walk("", table)
	return &sourceFile{File: &ast.File{Name: ast.NewIdent("rules"), Decls: []ast.Decl{&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{all}}}}}
}

func (s sources) parse(t *testing.T, folder string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]string{}
	var parsed []*sourceFile
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				maps.Copy(shared, stringConstants(g))
			}
		}
		maps.Copy(shared, s.imported(t, f))
		s[path] = &sourceFile{File: f}
		parsed = append(parsed, s[path])
	}
	for _, f := range parsed {
		f.constants = maps.Clone(shared)
		maps.Copy(f.constants, stringConstants(f.File))
	}
}

// imported are the constants of the simulator's packages that a file imports, as it
// names them.
func (s sources) imported(t *testing.T, f *ast.File) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, spec := range f.Imports {
		folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "github.com/oaictl/oaictl/internal/simulator/")
		if !ours {
			continue
		}
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for name, value := range stringConstants(s.file(t, path).File) {
				found[filepath.Base(folder)+"."+name] = value
			}
		}
	}
	return found
}

// stringConstants are the constants that are declared as literals in a part of a file.
func stringConstants(part ast.Node) map[string]string {
	found := map[string]string{}
	ast.Inspect(part, func(n ast.Node) bool {
		g, ok := n.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			return true
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				if i < len(v.Values) {
					if text, ok := literal(v.Values[i]); ok {
						found[name.Name] = text
					}
				}
			}
		}
		return false
	})
	return found
}

// text is an expression's string, when it is known without running anything.
func (s *sourceFile) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		text, ok := s.constants[e.Name]
		return text, ok
	case *ast.SelectorExpr:
		text, ok := s.constants[fmt.Sprintf("%s.%s", e.X, e.Sel)]
		return text, ok
	case *ast.BinaryExpr:
		left, leftOK := s.text(e.X)
		right, rightOK := s.text(e.Y)
		switch {
		case leftOK && rightOK:
			return left + right, true
		case leftOK:
			return left + "%s", true
		case rightOK:
			return "%s" + right, true
		}
		return "", false
	}
	return literal(e)
}

// literal is a string that is written as one literal, or as several that are joined.
func literal(e ast.Expr) (string, bool) {
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		left, leftOK := literal(sum.X)
		right, rightOK := literal(sum.Y)
		return left + right, leftOK && rightOK
	}
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return strings.ReplaceAll(text, "\n", `\n`), err == nil
}

// calls are those of the functions or methods with one of the names.
func (s *sourceFile) calls(names ...string) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(s.File, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			switch f := c.Fun.(type) {
			case *ast.Ident:
				if slices.Contains(names, unexported(f.Name)) {
					found = append(found, c)
				}
			case *ast.SelectorExpr:
				if slices.Contains(names, unexported(f.Sel.Name)) {
					found = append(found, c)
				}
			}
		}
		return true
	})
	return found
}

// unexported is a name as it is within its own package.
func unexported(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// called finds what is given at a place to functions of these names.
func called(place int, names ...string) func(*sourceFile) []string {
	return func(s *sourceFile) []string {
		var found []string
		for _, c := range s.calls(names...) {
			if len(c.Args) > place {
				if text, ok := s.text(c.Args[place]); ok && text != "%s" {
					found = append(found, text)
				}
			}
		}
		return found
	}
}

func both(first, second func(*sourceFile) []string) func(*sourceFile) []string {
	return func(s *sourceFile) []string { return append(first(s), second(s)...) }
}

// refusals finds what a client is refused with: the status and the sentence.
func refusals(names ...string) func(*sourceFile) []string {
	statuses := map[string]string{"badRequest": "400", "conflict": "409", "notFound": "404", "malformed": "400"}
	return func(s *sourceFile) []string {
		var found []string
		for _, name := range names {
			for _, c := range s.calls(name) {
				status, at := statuses[name], 0
				if status == "" && len(c.Args) > 1 {
					status, at = statusOf(c.Args[0]), 1
				}
				if len(c.Args) > at {
					if text, ok := s.text(c.Args[at]); ok && text != "%s" {
						found = append(found, status+" "+text)
					}
				}
			}
		}
		return found
	}
}

// moves are the places where a cluster or a host changes its state: the function,
// and the state that it gives.
func moves(s *sourceFile) []string {
	var found []string
	for _, d := range s.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		body := &sourceFile{File: &ast.File{Name: f.Name, Decls: []ast.Decl{f}}, constants: s.constants}
		for object, setter := range map[string]string{"cluster": "setCluster", "host": "setHost"} {
			for _, state := range called(1, setter)(body) {
				found = append(found, fmt.Sprintf("%s: %s becomes %s", f.Name.Name, object, state))
			}
		}
	}
	return found
}

// statusOf is how a status code is written: a number, or the name that net/http has.
func statusOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return "?"
}

// constants finds the values of constants whose names begin so.
func constants(prefixes ...string) func(*sourceFile) []string {
	return func(s *sourceFile) []string {
		var found []string
		for name, value := range stringConstants(s.File) {
			for _, prefix := range prefixes {
				if rest, ok := strings.CutPrefix(unexported(name), prefix); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
					found = append(found, prefix+": "+value)
				}
			}
		}
		return found
	}
}

// literals finds the strings of a file that look like the pattern.
func literals(pattern *regexp.Regexp) func(*sourceFile) []string {
	return func(s *sourceFile) []string {
		var found []string
		ast.Inspect(s.File, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := literal(e)
			if ok && pattern.MatchString(text) {
				found = append(found, text)
			}
			return !ok
		})
		return found
	}
}

// habits are the fields of each BMC's dialect that are set.
func habits(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var flavours map[string]map[string]any
	if err := yaml.UnmarshalStrict(text, &flavours); err != nil {
		t.Fatal(err)
	}
	var found []string
	for flavour, dialect := range flavours {
		for field := range dialect {
			found = append(found, flavour+": "+field)
		}
	}
	return found
}
