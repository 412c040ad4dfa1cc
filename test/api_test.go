package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestExportedNamesNeedNoInternalType: what an importer of pkg/install and of the packages below it can name, has no type of
// an internal package in its signature, its fields or its methods.
func TestExportedNamesNeedNoInternalType(t *testing.T) {
	public := exported(t)
	if len(public) < 10 {
		t.Fatalf("only %d packages", len(public))
	}
	for _, p := range public {
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				for _, hidden := range internalTypes(object) {
					t.Errorf("%s.%s names %s", p.Path(), name, hidden)
				}
			}
		}
	}
}

// TestInternalTypesAreFound shows that the test above sees what it looks for.
func TestInternalTypesAreFound(t *testing.T) {
	hidden := types.NewTypeName(token.NoPos, types.NewPackage(module+"/internal/secret", "secret"), "Thing", nil)
	thing := types.NewNamed(hidden, types.NewStruct(nil, nil), nil)
	own := types.NewPackage(module+"/pkg/install", "install")
	field := func(name string, of types.Type) types.Type {
		return types.NewStruct([]*types.Var{types.NewField(token.NoPos, own, name, of, false)}, nil)
	}
	for name, test := range map[string]struct {
		of   types.Type
		want int
	}{
		"a field":               {field("Of", types.NewSlice(types.NewPointer(thing))), 1},
		"a field of its own":    {field("of", thing), 0},
		"a text":                {types.Typ[types.String], 0},
		"an alias":              {types.NewAlias(types.NewTypeName(token.NoPos, own, "Alias", nil), thing), 1},
		"an argument":           {types.NewSignatureType(nil, nil, nil, types.NewTuple(types.NewVar(token.NoPos, own, "a", thing)), nil, false), 1},
		"a channel in a result": {types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(types.NewVar(token.NoPos, own, "", types.NewChan(types.SendRecv, thing))), false), 1},
	} {
		object := types.NewTypeName(token.NoPos, own, "X", nil)
		types.NewNamed(object, test.of.Underlying(), nil)
		if name == "an alias" || name == "an argument" || name == "a channel in a result" {
			object = types.NewTypeName(token.NoPos, own, "X", test.of)
		}
		if got := internalTypes(object); len(got) != test.want {
			t.Errorf("%s: found %v", name, got)
		}
	}
}

// exported are the packages of pkg/install that importers may use, as the compiler has them.
func exported(t *testing.T) []*types.Package {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "../pkg/install/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		data, err := os.ReadFile(files[path])
		return io.NopCloser(bytes.NewReader(data)), err
	})
	var public []*types.Package
	for path := range files {
		if !strings.HasPrefix(path, module+"/pkg/install") || strings.Contains(path, "/internal/") {
			continue
		}
		p, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		public = append(public, p)
	}
	slices.SortFunc(public, func(a, b *types.Package) int { return strings.Compare(a.Path(), b.Path()) })
	return public
}

// internalTypes are the types of internal packages that an exported object shows.
func internalTypes(object types.Object) []string {
	s := shown{seen: map[types.Type]bool{}}
	named, isNamed := object.Type().(*types.Named)
	if _, isType := object.(*types.TypeName); isType && isNamed {
		s.visit(named.Underlying())
		for method := range named.Methods() {
			if method.Exported() {
				s.visit(method.Type())
			}
		}
		return s.hidden
	}
	if alias, ok := object.Type().(*types.Alias); ok {
		s.visit(alias.Rhs())
	}
	s.visit(object.Type())
	return s.hidden
}

// shown collects the types of internal packages in what is exported.
type shown struct {
	seen   map[types.Type]bool
	hidden []string
}

func (s *shown) name(object *types.TypeName) {
	if p := object.Pkg(); p != nil && strings.HasPrefix(p.Path(), module) && strings.Contains(p.Path()+"/", "/internal/") {
		s.hidden = append(s.hidden, fmt.Sprint(p.Path(), ".", object.Name()))
	}
}

func (s *shown) visit(t types.Type) {
	if s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		s.name(t.Obj())
		s.visit(t.Rhs())
	case *types.Named:
		s.name(t.Obj())
		for of := range t.TypeArgs().Types() {
			s.visit(of)
		}
	case *types.Map:
		s.visit(t.Key())
		s.visit(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		s.visit(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			s.visit(v.Type())
		}
		for v := range t.Results().Variables() {
			s.visit(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				s.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.visit(m.Type())
		}
	}
}

// mostExported is how many names importers find over pkg/install/...
const mostExported = 320

// TestExportedNamesAreFew counts the names that importers find over pkg/install/..., methods and fields aside. The constants
// of one declaration count as one, by their type.
func TestExportedNamesAreFew(t *testing.T) {
	var names []string
	for _, s := range sources(t) {
		if strings.HasPrefix(s.pkg, "pkg/install") && !strings.Contains(s.pkg+"/", "/internal/") && !s.test {
			for _, d := range s.file.Decls {
				names = append(names, exportedBy(d)...)
			}
		}
	}
	if len(names) < mostExported/2 || len(names) > mostExported {
		t.Errorf("%d names are exported over pkg/install/..., at most %d: %s", len(names), mostExported, strings.Join(names, " "))
	}
}

// exportedBy are the names that a declaration exports.
func exportedBy(d ast.Decl) []string {
	var names []string
	add := func(name *ast.Ident) {
		if name.IsExported() {
			names = append(names, name.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name)
		}
	case *ast.GenDecl:
		before, counted := "", map[string]bool{}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name)
			case *ast.ValueSpec:
				of := fmt.Sprint(s.Type)
				if s.Type == nil && len(s.Values) == 0 {
					of = before // as the constant before it
				}
				before = of
				if d.Tok == token.CONST && counted[of] {
					continue
				}
				for _, name := range s.Names {
					add(name)
				}
				counted[of] = slices.ContainsFunc(s.Names, (*ast.Ident).IsExported)
			}
		}
	}
	return names
}

func TestExportsAreSeen(t *testing.T) {
	const text = `package p
type T int
type t int
func F() {}
func (T) M() {}
func f() {}
var V, w = 1, 2
const One T = 1
const (
	Two T = iota
	Three
	four
	Text = "a"
	More = "b"
)`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		names = append(names, exportedBy(d)...)
	}
	if got := strings.Join(names, " "); got != "T F V One Two Text" {
		t.Errorf("exported are %s", got)
	}
}
