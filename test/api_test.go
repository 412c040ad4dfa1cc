package test

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
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
	out := must.Get(exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "../pkg/install/...").Output())(t, "go list")
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
		p := must.Get(from.Import(path))(t)
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
