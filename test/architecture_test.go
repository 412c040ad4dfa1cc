// Package test holds the tests that look at the project as a whole rather
// than at one package: the walls between its parts, the module that an
// importer would write, the documents.
package test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// wall is a rule about which way imports lean. docs/architecture-walls.md says why
// each of them stands.
type wall struct {
	name string
	// imports are what the wall is about: packages of ours from the module's
	// root, others by their full path.
	imports []string
	// onlyIn are the packages that may import them; nil if never says it.
	onlyIn []string
	// never are the packages that may not.
	never []string
	// except are imports that the wall lets through, from any package.
	except []string
	// tests says that the wall holds for test files too.
	tests bool
	// breach is a package and an import that the wall must stop.
	breach [2]string
}

// testHelpers are what any test may import behind every wall.
func testHelpers() []string { return []string{"internal/shared/check", "internal/shared/must"} }

// stops reports whether a package may not import another.
func (w wall) stops(pkg, imported string) bool {
	imported = strings.TrimPrefix(imported, module+"/")
	if !withinAny(w.imports, imported) || withinAny(w.except, imported) {
		return false
	}
	if w.never != nil {
		return withinAny(w.never, pkg)
	}
	return !withinAny(w.onlyIn, pkg)
}

// planes are the service and machine planes, each under pkg/install.
func planes() []string {
	return []string{"rest", "hub", "bmc", "node"}
}

func walls() []wall {
	const (
		assisted    = "github.com/openshift/assisted-service/"
		convertible = "pkg/install/convert/internal/"
	)
	list := []wall{
		{
			name: "what writes disks is in no other program", tests: true,
			imports: []string{"internal/host/..."}, onlyIn: []string{"cmd/oaictl-host", "internal/host/...", "test/..."},
			breach: [2]string{"internal/cli", "internal/host/blockdevice"},
		},
		{
			name: "nothing imports the command line", tests: true,
			imports: []string{"internal/cli/..."}, onlyIn: []string{"cmd/...", "internal/cli/...", "test/..."},
			breach: [2]string{"pkg/install", "internal/cli"},
		},
		{
			name: "a group of commands knows no other group", tests: true,
			imports: []string{"internal/cli/..."}, onlyIn: []string{"cmd/...", "internal/cli", "internal/cli/manual/...", "test/..."},
			except: []string{
				"internal/cli/app", "internal/cli/output", "internal/cli/liveimage", "internal/cli/manual", "internal/cli/printer", "internal/cli/progress", "internal/cli/runlog", "internal/cli/streams",
			},
			breach: [2]string{"internal/cli/iso", "internal/cli/simulator"},
		},
		{
			name: "only the command line knows a terminal",
			imports: []string{
				"github.com/spf13/cobra/...", "github.com/spf13/pflag/...", "github.com/spf13/viper/...", "github.com/muesli/...",
				"github.com/charmbracelet/...", "github.com/fatih/color/...", "github.com/mattn/...", "golang.org/x/term/...",
			},
			onlyIn: []string{"cmd/...", "internal/cli/..."},
			breach: [2]string{"internal/simulator/service", "github.com/spf13/cobra"},
		},
		{
			name:    "the assisted-service's types stay behind the wire",
			imports: []string{assisted + "client/...", assisted + "models/...", "github.com/go-openapi/..."},
			onlyIn:  []string{"pkg/install/rest/...", "internal/simulator/...", "internal/host/...", "cmd/oaictl-host"},
			breach:  [2]string{"pkg/install", assisted + "models"},
		},
		{
			name:    "only what reads releases speaks to registries",
			imports: []string{"github.com/google/go-containerregistry/..."}, onlyIn: []string{"internal/shared/release"},
			breach: [2]string{"internal/agentmedia", "github.com/google/go-containerregistry/pkg/v1/remote"},
		},
		{
			name:    "client-go stays with what speaks to a cluster",
			imports: []string{"k8s.io/client-go/..."},
			onlyIn: []string{
				"pkg/install/hub/...", "pkg/install/node/...", "pkg/install/upgrade", "internal/shared/kubewatch", "pkg/capi/...", "internal/simulator/hub/...", "internal/simulator/apiobject", "internal/simulator/spoke/...", "internal/simulator/metal3", "internal/simulator/management",
				"internal/kubetest/...", "internal/cli/...", "internal/shared/kubeconfig", "internal/shared/workloadclient",
				"internal/host/...",
			},
			// kubectl's own reader of -o jsonpath; it brings no client along.
			except: []string{"k8s.io/client-go/util/jsonpath"},
			breach: [2]string{"internal/simulator/service", "k8s.io/client-go/kubernetes"},
		},
		{
			name:    "the command line says how a hub is reached, and reaches none",
			imports: []string{"k8s.io/client-go/..."}, never: []string{"internal/cli/...", "internal/shared/kubeconfig"},
			except: []string{"k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd/...", "k8s.io/client-go/util/jsonpath"},
			breach: [2]string{"internal/cli", "k8s.io/client-go/dynamic"},
		},
		{
			name:    "Kubernetes' types stay with what reads or writes its objects",
			imports: []string{"k8s.io/api/...", "k8s.io/apimachinery/..."},
			onlyIn: []string{
				"pkg/install/hub/...", "pkg/install/render/...", "pkg/install/convert/...", "internal/shared/hubobjects/...", "pkg/install/node/...", "pkg/install/upgrade", "internal/shared/kubewatch", "pkg/capi/...",
				"internal/shared/hubapi/...", "internal/simulator/...", "internal/kubetest/...", "internal/agentmedia/...", "internal/cli/...", "internal/shared/kubeconfig", "internal/shared/workloadclient",
				"internal/host/kube",
			},
			breach: [2]string{"pkg/install/rest", "k8s.io/apimachinery/pkg/apis/meta/v1"},
		},
		{
			name:    "controllers stay in pkg/capi and what plays a hub",
			imports: []string{"sigs.k8s.io/controller-runtime/...", "sigs.k8s.io/cluster-api/..."},
			onlyIn:  []string{"pkg/capi/...", "internal/simulator/hub/...", "internal/kubetest/..."},
			breach:  [2]string{"pkg/install/hub", "sigs.k8s.io/controller-runtime/pkg/client"},
		},
		{
			name:    "the command line runs the providers, and knows nothing inside of them",
			imports: []string{"pkg/capi/..."}, onlyIn: []string{"pkg/capi/...", "test/..."},
			except: []string{"pkg/capi", "pkg/capi/manifests/..."},
			breach: [2]string{"internal/cli/controller", "pkg/capi/api/bootstrap/v1beta1"},
		},
		{
			name:    "only the command line and tests run the providers",
			imports: []string{"pkg/capi", "pkg/capi/manifests/..."}, onlyIn: []string{"pkg/capi/...", "internal/cli/controller", "internal/cli/simulator", "test/..."},
			breach: [2]string{"internal/simulator/management", "pkg/capi"},
		},
		{
			name: "what ends tests stays with tests", imports: testHelpers(), onlyIn: []string{"internal/kubetest/...", "internal/host/hosttest", "test/..."},
			breach: [2]string{"pkg/install", "internal/shared/must"},
		},
		{
			name: "a hub's names and objects know nothing of installs", tests: true,
			imports: []string{"pkg/...", "internal/..."}, never: []string{"internal/shared/hubapi/..."},
			except: []string{"internal/shared/hubapi/..."},
			breach: [2]string{"internal/shared/hubapi/hive", "pkg/install"},
		},
		{
			name:    "objects are read and written, and sent by nobody here",
			imports: []string{"pkg/install/rest/...", "pkg/install/hub/...", "pkg/install/bmc/...", "pkg/install/node", "net/http/...", "k8s.io/client-go/..."},
			never:   []string{"pkg/install/render/...", "pkg/install/convert/...", "pkg/install/internal/...", "pkg/install/rest/internal/objects", "internal/shared/hubapi/...", "internal/shared/hubobjects"},
			breach:  [2]string{"internal/shared/hubobjects", "pkg/install/hub"},
		},
		{
			name: "requests are sent by what knows no object", tests: true,
			imports: []string{"pkg/install/rest", "pkg/install/rest/internal/objects", "internal/shared/clustersettings", "github.com/openshift/assisted-service/models"},
			never:   []string{"pkg/install/rest/internal/transport"},
			breach:  [2]string{"pkg/install/rest/internal/transport", "pkg/install/rest/internal/objects"},
		},
		{
			name:    "the vocabulary of installs is a leaf",
			imports: []string{"pkg/...", "internal/...", "test/...", "net/http/..."}, never: []string{"pkg/install/model"}, except: []string{"pkg/install/model", "pkg/install/spec"},
			breach: [2]string{"pkg/install/model", "internal/shared/listtext"},
		},
		{
			name:    "planes and the command line ask the library for decisions",
			imports: []string{"pkg/install/internal/decide", "pkg/install/internal/infraenv", "pkg/install/internal/nodeplan"}, onlyIn: []string{"pkg/install", "pkg/install/internal/decide", "pkg/install/internal/decidetest"},
			breach: [2]string{"pkg/install/hub", "pkg/install/internal/decide"},
		},
		{
			name:    "the world that is decided about is for tests",
			imports: []string{"pkg/install/internal/decidetest"}, onlyIn: []string{},
			breach: [2]string{"pkg/install", "pkg/install/internal/decidetest"},
		},
		{
			name: "the client of a hub's API server decides nothing",
			imports: []string{
				"pkg/install/hub/...", "pkg/install/render/...", "pkg/install/convert/...", "pkg/install/internal/...", "internal/shared/clustersettings", "internal/shared/explain",
			},
			never:  []string{"pkg/install/hub/internal/kube"},
			breach: [2]string{"pkg/install/hub/internal/kube", "pkg/install/hub"},
		},
		{
			name:    "what a watch keeps is known to the planes over API servers alone, and to the cache that fills it",
			imports: []string{"internal/shared/kubewatch"}, onlyIn: []string{"pkg/install/hub/...", "pkg/install/node", "pkg/capi/internal/hubcache"},
			breach: [2]string{"pkg/install/rest", "internal/shared/kubewatch"},
		},
		{
			name:    "a watch knows no install",
			imports: []string{"pkg/...", "internal/...", "test/...", "net/http/..."}, never: []string{"internal/shared/kubewatch"},
			breach: [2]string{"internal/shared/kubewatch", "pkg/install"},
		},
		{
			name:    "deleting a cluster's objects knows no cluster.yaml",
			imports: []string{"pkg/install/hub", "pkg/install/render/...", "pkg/install/convert/...", "pkg/install/spec/...", "internal/shared/hubobjects", "internal/shared/clustersettings"},
			never:   []string{"pkg/install/hub/internal/teardown"},
			breach:  [2]string{"pkg/install/hub/internal/teardown", "pkg/install/hub"},
		},
		{
			name: "a format knows no other format",
			imports: []string{
				convertible + "agent", convertible + "aicli", convertible + "capi", convertible + "clusterinstance",
			},
			onlyIn: []string{"pkg/install/convert"},
			breach: [2]string{convertible + "capi", convertible + "agent"},
		},
		{
			name:    "a hub's objects are read by the formats that they stand beside",
			imports: []string{convertible + "ztp"}, onlyIn: []string{"pkg/install/convert", convertible + "capi", convertible + "clusterinstance"},
			breach: [2]string{convertible + "aicli", convertible + "ztp"},
		},
		{
			name:    "clusters for tests are for tests",
			imports: []string{"test/..."}, onlyIn: []string{"test/..."},
			breach: [2]string{"pkg/install/render", "test/sample"},
		},
		{
			name:    "a hub for tests is for tests",
			imports: []string{"internal/kubetest/..."}, onlyIn: []string{"internal/kubetest/..."},
			breach: [2]string{"internal/simulator/hub", "internal/kubetest"},
		},
		{
			name: "installing does not know Cluster API", tests: true,
			imports: []string{"pkg/capi/..."}, never: []string{"pkg/install/...", "pkg/iso/...", "internal/simulator/..."},
			breach: [2]string{"pkg/install/node", "pkg/capi/bootstrap"},
		},
		{
			name: "media know nothing of installs", tests: true,
			imports: []string{"pkg/install/...", "pkg/capi/..."}, never: []string{"pkg/iso/..."},
			breach: [2]string{"pkg/iso", "pkg/install/spec"},
		},
		{
			name:    "only what boots machines, the controllers and the command line know media",
			imports: []string{"pkg/iso/..."},
			onlyIn: []string{
				"pkg/iso/...", "pkg/install/bmc/...", "pkg/install/boot/...", "pkg/capi/...", "internal/cli/...", "internal/simulator/live",
				"internal/host/...",
			},
			breach: [2]string{"pkg/install", "pkg/iso"},
		},
		{
			name:    "what media are tested with is not what makes them",
			imports: []string{"internal/shared/isowriter"}, onlyIn: []string{"internal/simulator/...", "pkg/iso/internal/isotest/..."},
			breach: [2]string{"pkg/iso", "internal/shared/isowriter"},
		},
		{
			name:    "machines boot the images of any service",
			imports: []string{"pkg/install/rest/...", "pkg/install/hub/...", "pkg/install/node/..."}, never: []string{"pkg/install/boot/..."},
			breach: [2]string{"pkg/install/boot", "pkg/install/rest"},
		},
		{
			name: "certificates are judged by the standard library and the vocabulary alone", tests: true,
			imports: []string{
				"pkg/...", "internal/...", "test/...", "net/http/...", "github.com/...", "k8s.io/...", "sigs.k8s.io/...", "golang.org/...", "gopkg.in/...", "go.yaml.in/...", "google.golang.org/...",
			},
			never: []string{"internal/shared/csr"}, except: []string{"internal/shared/csr", "pkg/install/model"},
			breach: [2]string{"internal/shared/csr", "k8s.io/api/certificates/v1"},
		},
		{
			name:    "the simulator is reached over HTTP",
			imports: []string{"internal/simulator/..."}, onlyIn: []string{"internal/simulator/...", "internal/cli/...", "cmd/..."},
			breach: [2]string{"pkg/install/rest", "internal/simulator/service"},
		},
		{
			name:    "the simulator does not know who speaks to it",
			imports: []string{"pkg/install/rest/...", "pkg/install/hub/...", "pkg/install/bmc/...", "pkg/install/node/..."},
			never:   []string{"internal/simulator/..."},
			breach:  [2]string{"internal/simulator/host", "pkg/install/rest"},
		},
		{
			name:    "simulated hosts know the service by its wire alone",
			imports: []string{"internal/simulator/service/..."}, never: []string{"internal/simulator/host/..."},
			breach: [2]string{"internal/simulator/host", "internal/simulator/service"},
		},
		{
			name:    "the simulated service knows hosts by its wire alone",
			imports: []string{"internal/simulator/host/..."}, never: []string{"internal/simulator/service/..."},
			breach: [2]string{"internal/simulator/service", "internal/simulator/host"},
		},
	}
	for _, plane := range planes() {
		list = append(list, otherPlanes(plane))
	}
	return list
}

// otherPlanes keeps one plane from importing the others.
func otherPlanes(plane string) wall {
	w := wall{name: "the plane " + plane + " knows no other plane", tests: true, never: []string{"pkg/install/" + plane + "/..."}}
	for _, other := range planes() {
		if other != plane {
			w.imports = append(w.imports, "pkg/install/"+other+"/...")
			w.breach = [2]string{"pkg/install/" + plane, "pkg/install/" + other}
		}
	}
	return w
}

func TestWalls(t *testing.T) {
	files := sources(t)
	for _, w := range walls() {
		t.Run(strings.ReplaceAll(w.name, " ", "-"), func(t *testing.T) {
			if !w.stops(w.breach[0], w.breach[1]) {
				t.Fatalf("the wall does not stop %s from importing %s", w.breach[0], w.breach[1])
			}
			for _, named := range slices.Concat(w.imports, w.onlyIn, w.never, w.except) {
				first, _, _ := strings.Cut(named, "/")
				ours := slices.Contains([]string{"cmd", "internal", "pkg", "test"}, first)
				if ours && !slices.ContainsFunc(files, func(s source) bool { return withinAny([]string{named}, s.pkg) }) {
					t.Errorf("the wall names %s, and there is no such package", named)
				}
			}
			for _, s := range files {
				if s.test && !w.tests {
					continue
				}
				for _, imported := range s.imports {
					if s.test && slices.Contains(testHelpers(), strings.TrimPrefix(imported, module+"/")) {
						continue
					}
					if w.stops(s.pkg, imported) {
						t.Errorf("%s imports %s: %s", s.path, imported, w.name)
					}
				}
			}
		})
	}
}

// TestLibraryStaysLight holds pkg/install and what it is made of, through all
// that they import in turn, to the standard library without HTTP and a YAML
// reader.
func TestLibraryStaysLight(t *testing.T) {
	heavy := []string{"net/http/...", "k8s.io/...", "sigs.k8s.io/...", "github.com/...", "golang.org/...", "gopkg.in/...", "go.yaml.in/...", "google.golang.org/..."}
	light := []string{
		"github.com/goccy/go-yaml/...", "sigs.k8s.io/yaml/...", "go.yaml.in/yaml/v2/...",
		module + "/pkg/install", module + "/pkg/install/spec", module + "/pkg/install/spec/internal/...",
		module + "/pkg/install/internal/decide", module + "/pkg/install/internal/nodeplan", module + "/internal/shared/csr", module + "/pkg/install/internal/infraenv", module + "/internal/shared/explain", module + "/pkg/install/internal/diagnose",
		module + "/pkg/install/model", module + "/internal/shared/diskhints", module + "/internal/shared/clustersettings", module + "/internal/shared/statuses", module + "/pkg/install/internal/pemcerts", module + "/pkg/install/internal/ignitionsize", module + "/internal/shared/bytesize", module + "/internal/shared/listtext",
		module + "/internal/shared/quorum",
		module + "/internal/shared/clock", module + "/internal/shared/redact", module + "/internal/shared/spelling", module + "/internal/shared/yamltree", module + "/internal/shared/installcfg",
	}
	for _, imported := range dependencies(t, "../pkg/install", "../pkg/install/spec") {
		if withinAny(heavy, imported) && !withinAny(light, imported) {
			t.Errorf("pkg/install pulls in %s", imported)
		}
	}
}

// TestCertificatesAreJudgedAlone checks that the judge of certificate requests needs only the standard library without
// HTTP, through all that it imports in turn. The vocabulary comes with cluster.yaml and its reader, but the judge calls
// nothing of the reader.
func TestCertificatesAreJudgedAlone(t *testing.T) {
	known := map[string]bool{module + "/internal/shared/csr": true}
	for _, imported := range dependencies(t, "../pkg/install/model") {
		known[imported] = true
	}
	for _, imported := range dependencies(t, "../internal/shared/csr") {
		first, _, _ := strings.Cut(imported, "/")
		if strings.Contains(first, ".") && !known[imported] || imported == "net/http" {
			t.Errorf("internal/shared/csr pulls in %s", imported)
		}
	}
}

// TestStartsLight limits what the program imports, for a fast start. Requests are approved by the typed clients of
// Kubernetes' own kinds, and the providers are made of controller-runtime with Cluster API's utilities. What else those
// offer stays out: the libraries of an API server and of kubectl, tracing, gRPC, CEL, what clusterctl does, and what
// tests are run by. README's first command builds nothing of Cluster API.
func TestStartsLight(t *testing.T) {
	heavy := []string{
		"k8s.io/apiserver/...", "k8s.io/kubernetes/...", "k8s.io/kubectl/...", "k8s.io/cli-runtime/...", "k8s.io/component-base/...", "go.opentelemetry.io/...", "google.golang.org/grpc/...", "google.golang.org/genproto/...", "github.com/google/cel-go/...",
		"sigs.k8s.io/controller-runtime/pkg/envtest/...", "sigs.k8s.io/controller-runtime/pkg/metrics/filters/...", "sigs.k8s.io/controller-runtime/pkg/client/fake/...",
		"sigs.k8s.io/cluster-api/cmd/...", "sigs.k8s.io/cluster-api/controllers/...", "sigs.k8s.io/cluster-api/exp/...", "sigs.k8s.io/cluster-api/core/...",
		"github.com/onsi/ginkgo/...", "testing", "k8s.io/apimachinery/pkg/api/apitesting/...", module + "/internal/kubetest/...",
	}
	except := []string{ // each a few constants or functions
		"k8s.io/apiserver/pkg/storage/names", "k8s.io/component-base/version", "sigs.k8s.io/cluster-api/cmd/clusterctl/api/...", "sigs.k8s.io/cluster-api/controllers/external",
	}
	inProgram := map[string]bool{}
	for _, imported := range dependencies(t, "../cmd/oaictl") {
		inProgram[imported] = true
		if withinAny(heavy, imported) && !withinAny(except, imported) {
			t.Errorf("cmd/oaictl pulls in %s", imported)
		}
	}
	if !inProgram["sigs.k8s.io/controller-runtime"] {
		t.Error("cmd/oaictl has no providers of Cluster API")
	}
	for _, imported := range dependencies(t, "-tags", "trial", "../cmd/oaictl") {
		if withinAny([]string{"sigs.k8s.io/cluster-api/...", "sigs.k8s.io/controller-runtime/...", module + "/pkg/capi/..."}, imported) {
			t.Errorf("cmd/oaictl with the tag trial pulls in %s", imported)
		}
	}
}

// TestHostProgramIsLean limits what the program of the machines imports: a machine loads it into its memory. The typed
// clients of Kubernetes alone are 25 MB.
func TestHostProgramIsLean(t *testing.T) {
	heavy := []string{
		"k8s.io/client-go/kubernetes/...", "k8s.io/client-go/informers/...", "sigs.k8s.io/controller-runtime/...", "sigs.k8s.io/cluster-api/...",
		module + "/internal/simulator/...", module + "/internal/cli/...", module + "/pkg/capi/...", module + "/pkg/install/hub/...", module + "/internal/kubetest/...",
		"github.com/spf13/...", "google.golang.org/grpc/...",
	}
	for _, imported := range dependencies(t, "../cmd/oaictl-host") {
		if withinAny(heavy, imported) {
			t.Errorf("cmd/oaictl-host pulls in %s", imported)
		}
	}
	for _, imported := range dependencies(t, "../cmd/oaictl") {
		if withinAny([]string{module + "/internal/host/..."}, imported) {
			t.Errorf("cmd/oaictl pulls in %s", imported)
		}
	}
}

// TestHostProgramIsSmall bounds the program of the machines, stripped as in a release.
func TestHostProgramIsSmall(t *testing.T) {
	const most = 20_000_000
	program := filepath.Join(t.TempDir(), "oaictl-host")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "../cmd/oaictl-host")
	build.Env = append(build.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%.2000s", err, said)
	}
	if info := must.Get(os.Stat(program))(t); info.Size() > most {
		t.Errorf("it has %d bytes, and %d are the most", info.Size(), most)
	}
}

// TestLinkerDropsMethods: where the program can look a method up by a name or a number that is known only once it runs,
// the linker keeps every exported method of every type. That is a quarter of the program. text/template does so, go-cmp
// and Cluster API's util/patch, which uses it.
func TestLinkerDropsMethods(t *testing.T) {
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w -dumpdep", "-o", filepath.Join(t.TempDir(), "oaictl"), "../cmd/oaictl")
	said, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%.2000s", err, said)
	}
	usedBy := map[string]string{}
	for line := range strings.Lines(string(said)) {
		user, used, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		name := strings.TrimSuffix(used, " <ReflectMethod>")
		if _, known := usedBy[name]; !known {
			usedBy[name] = strings.TrimSuffix(user, " <UsedInIface>")
		}
		if name == used {
			continue
		}
		way := name
		for at := usedBy[name]; at != ""; at = usedBy[at] {
			way = at + " → " + way
			if strings.HasPrefix(at, module) {
				break
			}
		}
		t.Fatalf("methods are looked up: %s", way)
	}
	if len(usedBy) < 10_000 {
		t.Fatalf("the linker tells of %d names only", len(usedBy))
	}
}

// dependencies are the packages that the given ones need, themselves included.
func dependencies(t *testing.T, folders ...string) []string {
	t.Helper()
	out := must.Get(exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, folders...)...).Output())(t, "go list")
	list := strings.Fields(string(out))
	if len(list) < 20 {
		t.Fatalf("go list knows only %d packages: %v", len(list), list)
	}
	return list
}

// TestTrialCompiles: README's first command builds the program with the tag trial, which no other test does.
func TestTrialCompiles(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "vet", "-tags", "trial", "../internal/cli", "../cmd/oaictl").CombinedOutput(); err != nil {
		t.Errorf("go vet -tags trial: %v\n%s", err, out)
	}
}

// TestDecisionsReadDownwards: no file of the decisions uses a name of another file that uses, directly or through
// others, a name of the first.
func TestDecisionsReadDownwards(t *testing.T) {
	uses := filesUsed(t, "../pkg/install/internal/decide")
	if len(uses["planner.go"]) < 20 {
		t.Fatalf("planner.go uses only %v", uses["planner.go"])
	}
	var walk func(way []string)
	done := map[string]bool{}
	walk = func(way []string) {
		file := way[len(way)-1]
		if at := slices.Index(way, file); at < len(way)-1 {
			t.Errorf("the files use each other: %s", strings.Join(way[at:], " → "))
			return
		}
		if done[file] {
			return
		}
		for used := range uses[file] {
			walk(append(slices.Clone(way), used))
		}
		done[file] = true
	}
	for file := range uses {
		walk([]string{file})
	}
}

// TestDecisionsAreDivided: no type of what decides has so many methods that it does more than one thing.
func TestDecisionsAreDivided(t *testing.T) {
	const most = 50
	methods := map[string]int{}
	for _, s := range sources(t) {
		if s.test || s.pkg != "pkg/install/internal/decide" && s.pkg != "pkg/install/internal/nodeplan" {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.pkg+" "+strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")]++
			}
		}
	}
	if methods["pkg/install/internal/decide collector"] == 0 {
		t.Fatalf("no methods of the collector among %v", methods)
	}
	for name, count := range methods {
		if count > most {
			t.Errorf("%s has %d methods, at most %d: divide what it does", name, count, most)
		}
	}
}

// filesUsed says of the files of a package which others declare what they use. Other
// packages are not read, so that only what the package itself declares is known.
func filesUsed(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	names := must.Get(filepath.Glob(filepath.Join(folder, "*.go")))(t)
	fset, uses := token.NewFileSet(), map[string]map[string]bool{}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(fset, name, nil, 0))(t)
		files, uses[filepath.Base(name)] = append(files, file), map[string]bool{}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importsNothing{}, Error: func(error) {}}
	pkg, _ := config.Check(folder, fset, files, info)
	fileOf := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	for use, object := range info.Uses {
		_, method := object.(*types.Func)
		if object.Pkg() != pkg || !method && object.Parent() != pkg.Scope() {
			continue
		}
		if from, to := fileOf(use.Pos()), fileOf(object.Pos()); from != to {
			uses[from][to] = true
		}
	}
	return uses
}

// importsNothing has the types of a package checked without those that it imports.
type importsNothing struct{}

func (importsNothing) Import(string) (*types.Package, error) { return nil, errors.New("not read") }
