package test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// habit is a use of the standard library that belongs at the project's edges.
type habit struct {
	name  string
	pkg   string   // import path
	uses  []string // names in it
	edges []string // packages that may
	mains bool     // programs may too
	// within are the packages that the habit is about; nil if it is about all.
	within []string
}

func habits() []habit {
	return []habit{
		{"contexts are handed down", "context", []string{"Background", "TODO"}, []string{"cmd/..."}, true, nil},
		// time.AfterFunc may end an exchange that takes too long: what a network
		// may take is real time on any clock (clock.Wall).
		{
			"time comes from a clock", "time",
			[]string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker"},
			[]string{"internal/shared/clock"}, false, nil,
		},
		{"only the edge ends the process", "os", []string{"Exit"}, []string{"cmd/...", "internal/cli/..."}, true, nil},
		{
			"only the edge ends the process", "log",
			[]string{"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Print", "Printf", "Println"}, nil, false, nil,
		},
		{"output goes to a writer", "fmt", []string{"Print", "Printf", "Println"}, nil, false, nil},
		// spec.OSEnv is the machine as cluster.yaml may refer to it: variables,
		// commands and standard input.
		{
			"streams are handed down", "os", []string{"Stdin", "Stdout", "Stderr"},
			[]string{"cmd/...", "internal/cli/...", "pkg/install/spec"}, true, nil,
		},
		{
			"the environment is handed down", "os", []string{"Getenv", "LookupEnv", "Environ"},
			[]string{"cmd/...", "internal/cli/...", "pkg/install/spec"}, true, nil,
		},
		{"clients are handed down", "net/http", []string{"Get", "Post", "PostForm", "Head"}, nil, false, nil},
		// The machine's side changes disks, the boot order, the power and files in these packages alone.
		{
			"files of the machine are written by hostfile, disks by blockdevice", "os",
			[]string{
				"Chmod", "Chown", "Create", "CreateTemp", "CopyFS", "Link", "Mkdir", "MkdirAll", "MkdirTemp", "NewFile", "OpenFile", "OpenRoot",
				"Remove", "RemoveAll", "Rename", "StartProcess", "Symlink", "Truncate", "WriteFile",
			},
			[]string{"internal/host/blockdevice", "internal/host/hostfile", "internal/host/machine"}, false, machineSide(),
		},
		{
			"programs are run by machine.Runner", "os/exec", []string{"Command", "CommandContext", "Cmd"},
			[]string{"internal/host/machine"}, false, machineSide(),
		},
		{"system calls that change the machine are in few packages", "syscall", anySyscall(), nil, false, machineSide()},
		{
			"system calls that change the machine are in few packages", "golang.org/x/sys/unix", anySyscall(),
			[]string{"internal/host/blockdevice", "internal/host/machine"}, false, machineSide(),
		},
	}
}

// machineSide are the packages of the program that runs on the machines.
func machineSide() []string { return []string{"cmd/oaictl-host", "internal/host/..."} }

// anySyscall are the system calls that open, run, mount, remove or reboot.
func anySyscall() []string {
	return []string{
		"Creat", "Exec", "Fallocate", "ForkExec", "Ftruncate", "IoctlSetInt", "IoctlSetPointerInt", "Kexec", "Mknod", "Mknodat", "Mount", "MoveMount",
		"Open", "OpenByHandleAt", "Openat", "Openat2", "PivotRoot", "Pwrite", "RawSyscall", "RawSyscall6", "Reboot", "Renameat2", "Rmdir",
		"Syscall", "Syscall6", "Truncate", "Unlink", "Unlinkat", "Unmount", "Write",
	}
}

func TestHabits(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, h := range habits() {
			if withinAny(h.edges, s.pkg) || h.mains && s.main || h.within != nil && !withinAny(h.within, s.pkg) {
				continue
			}
			for _, use := range uses(s, h) {
				t.Errorf("%s uses %s.%s: %s", s.at(use.Pos()), path.Base(h.pkg), use.Sel.Name, h.name)
			}
		}
	}
}

// uses finds where a file selects one of a habit's names from its package.
func uses(s source, h habit) []*ast.SelectorExpr {
	name := localName(s.file, h.pkg)
	if name == "" {
		return nil
	}
	var found []*ast.SelectorExpr
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// A package's name is resolved to no object of the file's own.
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && x.Obj == nil && slices.Contains(h.uses, sel.Sel.Name) {
			found = append(found, sel)
		}
		return true
	})
	return found
}

// localName is what a file calls a package, "" if it does not import it.
func localName(file *ast.File, pkg string) string {
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err != nil || imported != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// TestNoInit allows no work before main.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function", s.at(f.Pos()))
			}
		}
	}
}

// TestNoPackageState allows package-level variables that are constants in all
// but name: errors, patterns, embedded files, compile-time checks, and
// unexported tables; and nothing may write to any of them.
func TestNoPackageState(t *testing.T) {
	byPackage := map[string][]source{}
	for _, s := range sources(t) {
		if !s.test {
			byPackage[s.pkg] = append(byPackage[s.pkg], s)
		}
	}
	for _, files := range byPackage {
		for _, complaint := range packageState(files) {
			t.Error(complaint)
		}
	}
}

// packageState says what is wrong with the variables of one package.
func packageState(files []source) []string {
	var complaints []string
	known := map[string]bool{}
	for _, s := range files {
		for _, v := range variables(s.file) {
			known[v.name.Name] = true
			switch kind := v.kind(); {
			case kind == state:
				complaints = append(complaints, s.at(v.name.Pos())+": "+v.name.Name+" is package-level state")
			case kind == table && v.name.IsExported():
				complaints = append(complaints, s.at(v.name.Pos())+": "+v.name.Name+" is exported, and anybody may write to it")
			}
		}
	}
	for _, s := range files {
		for _, w := range writes(s.file) {
			if known[w.Name] && w.Name != "_" && ofPackage(s.file, w) {
				complaints = append(complaints, s.at(w.Pos())+": the package-level "+w.Name+" is written to")
			}
		}
	}
	return complaints
}

// variable is a package-level one.
type variable struct {
	name     *ast.Ident
	value    ast.Expr // nil if it starts at zero
	embedded bool
}

type variableKind int

const (
	constant variableKind = iota // fine, exported too
	table                        // fine inside its package
	state
)

func (v variable) kind() variableKind {
	if v.name.Name == "_" || v.embedded {
		return constant
	}
	switch value := v.value.(type) {
	case *ast.BasicLit, *ast.CompositeLit:
		return table
	case *ast.CallExpr:
		sel, ok := value.Fun.(*ast.SelectorExpr)
		if !ok {
			return state
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return state
		}
		switch x.Name + "." + sel.Sel.Name {
		case "errors.New", "regexp.MustCompile":
			return constant
		case "sync.OnceValue", "sync.OnceValues", "netip.MustParsePrefix", "netip.MustParseAddr":
			return table
		}
	}
	return state
}

func variables(file *ast.File) []variable {
	var found []variable
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok.String() != "var" {
			continue
		}
		for _, spec := range group.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range v.Names {
				one := variable{name: name, embedded: embeds(group.Doc) || embeds(v.Doc)}
				if i < len(v.Values) {
					one.value = v.Values[i]
				}
				found = append(found, one)
			}
		}
	}
	return found
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	return slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// writes are the variables that a file assigns to, in part or as a whole, or takes the address of.
func writes(file *ast.File) []*ast.Ident {
	var found []*ast.Ident
	note := func(e ast.Expr) {
		if x := root(e); x != nil {
			found = append(found, x)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok.String() != ":=" {
				for _, left := range n.Lhs {
					note(left)
				}
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.UnaryExpr:
			if n.Op.String() == "&" {
				note(n.X)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") {
				note(n.Args[0])
			}
		}
		return true
	})
	return found
}

// root is the variable that an expression such as a.b[c] starts from.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// ofPackage reports whether a name means the package's variable, and not a local
// one that hides it. The parser resolves names within a file; what it leaves
// open stands in another file of the package.
func ofPackage(file *ast.File, x *ast.Ident) bool {
	return x.Obj == nil || file.Scope.Lookup(x.Name) == x.Obj
}

// TestHabitsAreSeen shows that the two tests above can fail.
func TestHabitsAreSeen(t *testing.T) {
	snippet := func(code string) source {
		t.Helper()
		name := filepath.Join(t.TempDir(), "x.go")
		must.Do(t, os.WriteFile(name, []byte("package x\n"+code), 0o600))
		return must.Get(parse("x/x.go", name))(t)
	}
	clock := habit{pkg: "time", uses: []string{"Now"}}
	for code, want := range map[string]int{
		`import "time"; func f() { _ = time.Now() }`:               1,
		`import t "time"; func f() { g(t.Now) }`:                   1,
		`import "time"; func f(time s) { _ = time.Now() }`:         0,
		`import "time"; func f() { _ = time.Unix(0, 0) }`:          0,
		`import time "example.com/x"; func f() { _ = time.Now() }`: 0,
	} {
		if got := len(uses(snippet(code), clock)); got != want {
			t.Errorf("%s: found %d uses of time.Now, want %d", code, got, want)
		}
	}
	for code, want := range map[string]int{
		`var n int`:                    1,
		`var m = make(map[string]int)`: 1,
		`var mu sync.Mutex`:            1,
		`var list = []string{"a"}`:     0,
		`var List = []string{"a"}`:     1,
		`var list = []string{"a"}; func f() { list[0] = "b" }`:            1,
		`var list = []string{"a"}; func f() { list := list; list = nil }`: 0,
		`var table = map[string]int{}; func f() { delete(table, "a") }`:   1,
		`var ErrX = errors.New("x")`:                                      0,
		`var ErrX = errors.New("x"); func f() { ErrX = nil }`:             1,
		`var _ I = (*T)(nil)`:                                             0,
		"//go:embed x.json\nvar x []byte":                                 0,
	} {
		if got := packageState([]source{snippet(code)}); len(got) != want {
			t.Errorf("%s: %d complaints, want %d: %v", code, len(got), want, got)
		}
	}
}
