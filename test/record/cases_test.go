//go:build e2e

package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// examples are the folders of examples with a cluster.yaml.
func examples() []string {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "cluster.yaml"))
	if err != nil || len(files) < 8 {
		panic(fmt.Sprintf("examples: %v (%v)", files, err))
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

// file is the cluster.yaml of an example, in a stage.
func file(example string) string { return example + "/cluster.yaml" }

// clusterOf is the name of an example's cluster.
func clusterOf(t *testing.T, example string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "examples", example, "cluster.yaml")))(t)
	for line := range strings.Lines(string(text)) {
		if _, name, is := strings.Cut(line, "{name: "); is && strings.HasPrefix(line, "metadata:") {
			return strings.TrimRight(name, "}\n")
		}
		if name, is := strings.CutPrefix(line, "  name: "); is {
			return strings.TrimSpace(name)
		}
	}
	t.Fatalf("%s has no name", example)
	return ""
}

// files are what oaictl writes without a service.
func files() []recorded {
	return []recorded{
		{"files/help", func(t *testing.T, r *recording) { newStage(t, r, "1").help() }},
		{"files/made", func(t *testing.T, r *recording) {
			s := newStage(t, r, "1")
			for _, layout := range []string{"release", "repository", "apply", "kinds"} {
				s.folder("controller", "manifests", "--release", "v0.1.0", "--layout", layout, "--output-dir")
			}
			s.folder("controller", "manifests", "--release", "v0.1.0", "--namespaced", "--webhook-self-managed", "--output-dir")
			s.document("schema")
			for _, example := range examples() {
				s.document("render", "-f", file(example))
				s.folder("render", "-f", file(example), "-o")
				s.document("validate", "-f", file(example))
				for _, to := range []string{"ztp", "agent", "clusterinstance"} {
					other := s.folder("convert", "-f", file(example), "--with-secrets", "--to", to, "-o")
					s.folder("convert", "-f", other, "--from", to, "--openshift-version", "4.20", "-o")
				}
			}
		}},
	}
}

// help records what each command says of itself.
func (s *stage) help(command ...string) {
	out := s.document(append(command, "--help")...)
	_, list, _ := strings.Cut(string(out), "\nCommands:\n")
	if len(command) == 0 {
		list = string(out)
	}
	list, _, _ = strings.Cut(list, "\nFlags")
	for line := range strings.Lines(list) {
		if name, is := strings.CutPrefix(line, "  "); is && !strings.HasPrefix(name, " ") {
			if name, _, _ = strings.Cut(name, " "); name != "oaictl" && name != "" {
				s.help(append(slices.Clone(command), name)...)
			}
		}
	}
}

// document records what a command writes to standard output, to the byte.
func (s *stage) document(args ...string) []byte {
	s.t.Helper()
	out, code := s.output(args...)
	s.r.add("document %s: %d %s", strings.Join(args, " "), code, digest(out))
	return out
}

// folder records the files that a command writes into a folder that stands at the end of its arguments.
func (s *stage) folder(args ...string) (path string) {
	s.t.Helper()
	path, err := os.MkdirTemp(s.dir, "made-")
	if err != nil {
		s.t.Fatal(err)
	}
	name := strings.ReplaceAll(strings.Join(args, " "), s.dir, "")
	out, code := s.output(append(args, path)...)
	s.r.add("document %s: %d %s", s.unnamed(name), code, digest([]byte(s.unnamed(string(out)))))
	err = fs.WalkDir(os.DirFS(path), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(path, file))
		s.r.add("document %s: %s %s", s.unnamed(name), file, digest([]byte(s.unnamed(string(text)))))
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

// unnamed is a text without the names of folders that were made.
func (s *stage) unnamed(text string) string {
	for strings.Contains(text, "/made-") {
		before, after, _ := strings.Cut(text, "/made-")
		text = strings.TrimSuffix(before, s.dir) + "<made>" + strings.TrimLeft(after, "0123456789")
	}
	return text
}

func digest(text []byte) string { return fmt.Sprintf("%x of %d bytes", sha256.Sum256(text), len(text)) }

// installs are whole installs, on either backend: of each example, with what follows an install in some of them.
func installs() (cases []recorded) {
	for _, backend := range []string{"rest", "hub"} {
		flags := map[string][]string{"hub": {"--hub"}}[backend]
		speed := map[string]string{"rest": "240", "hub": "120"}[backend]
		for _, example := range examples() {
			cases = append(cases, recorded{backend + "/" + example, func(t *testing.T, r *recording) {
				s := newStage(t, r, speed)
				s.lab(append([]string{"-f", file(example), "--without-nodes"}, flags...)...)
				x := s.recorder()
				s.prints("plan", "-f", file(example))
				s.runs("create", "cluster", "-f", file(example), "--dir", "results")
				s.results()
				s.prints("get", "hosts", "-f", file(example))
				s.runs("create", "cluster", "-f", file(example), "--dir", "results")
				s.output("delete", "cluster", clusterOf(t, example), "--yes")
				s.conclude(x)
			}})
		}
		cases = append(cases, recorded{backend + "/day2", func(t *testing.T, r *recording) {
			s := newStage(t, r, "120")
			s.lab(append([]string{"-f", file("ha-workers"), "--later", "nodes.yaml"}, flags...)...)
			x := s.recorder()
			s.runs("create", "cluster", "-f", file("ha-workers"))
			s.prints("plan", "-f", "nodes.yaml")
			s.runs("add-node", "-f", "nodes.yaml")
			s.prints("get", "nodes", "ha")
			s.runs("add-node", "-f", "nodes.yaml")
			s.runs("remove-node", "worker-3", "-f", "nodes.yaml", "--ignore-daemonsets", "--delete-emptydir-data", "--yes")
			s.prints("get", "nodes", "ha")
			s.conclude(x)
		}})
	}
	return cases
}

// recorder stands before the service, where that is spoken to by REST.
func (s *stage) recorder() *traffic {
	x := &traffic{ids: s.ids}
	if service := s.variable("OAICTL_SERVICE_URL"); service != "" {
		s.env = append(s.env, "OAICTL_SERVICE_URL="+x.proxy(s.t, service))
	}
	return x
}

// results records which files an install has left.
func (s *stage) results() {
	s.t.Helper()
	check.Do(s.t, fs.WalkDir(os.DirFS(filepath.Join(s.dir, "results")), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			info, of := entry.Info()
			if err = of; err == nil {
				s.r.add("left %s %s", info.Mode(), s.ids.tidy(path))
			}
		}
		return err
	}))
}

// troubles are installs with each kind of trouble, on the simulator inside of oaictl.
func troubles() (cases []recorded) {
	scenarios, err := filepath.Glob(filepath.Join("..", "..", "examples", "scenarios", "*.yaml"))
	if err != nil || len(scenarios) < 26 {
		panic(fmt.Sprintf("scenarios: %v (%v)", scenarios, err))
	}
	for _, path := range scenarios {
		scenario := strings.TrimSuffix(filepath.Base(path), ".yaml")
		example := "compact"
		switch {
		case strings.HasPrefix(scenario, "bmc-"):
			example = "redfish"
		case scenario == "worker-lost":
			example = "ha-workers"
		case scenario == "token-expires":
			continue // needs a service that asks for tokens
		}
		cases = append(cases, recorded{"trouble/" + scenario, func(t *testing.T, r *recording) {
			s := newStage(t, r, "240")
			s.runs("create", "cluster", "-f", file(example), "--simulate", "--scenario", "scenarios/"+scenario+".yaml", "--dir", "results",
				"--speed", "240", "--user-timeout", "30m", "--timeout", "8h")
		}})
	}
	return cases
}

// templates are the templates of Clusters, with their machines.
var templates = map[string][2]string{"compact": {"3", "0"}, "ha": {"3", "3"}, "metal3": {"3", "3"}, "sno": {"1", "0"}}

// beside are the objects that a template refers to.
const beside = `apiVersion: v1
kind: Secret
metadata: {name: pull-secret, namespace: default, labels: {clusterctl.cluster.x-k8s.io/move: ""}}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"quay.io":{"auth":"dTpw"}}}'}
---
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: img4.20.32}
spec: {releaseImage: "quay.io/openshift-release-dev/ocp-release:4.20.32-x86_64"}
`

// providers are clusters that the providers of Cluster API install, scale and delete, as a process beside what is played.
func providers() (cases []recorded) {
	for _, template := range slices.Sorted(maps.Keys(templates)) {
		count := templates[template]
		cases = append(cases, recorded{"capi/" + template, func(t *testing.T, r *recording) {
			s := newStage(t, r, "120")
			management := s.play(player, "simulator", "management", "--hosts", "8", "--without-providers")
			words := strings.Fields(management.until(" controller --kubeconfig "))
			s.play("oaictl", words[slices.Index(words, "controller"):]...)
			s.apply("beside.yaml", []byte(beside))
			s.apply("cluster.yaml", s.generated(template, count))
			s.kubectl("wait", "--for=condition=Available", "cluster/lab", "--timeout=5m")
			if template == "ha" {
				s.kubectl("scale", "machinedeployment", "lab-workers", "--replicas", "4")
				s.kubectl("wait", "--for=jsonpath={.status.readyReplicas}=4", "machinedeployment/lab-workers", "--timeout=5m")
			}
			s.kubectl("delete", "cluster", "lab", "--timeout=5m")
			s.conclude(nil)
		}})
	}
	return cases
}

// generated is what clusterctl makes of a template.
func (s *stage) generated(template string, count [2]string) []byte {
	s.t.Helper()
	path := s.folder("controller", "manifests", "--release", "v0.1.0", "--layout", "repository", "--output-dir")
	var file string
	err := filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "cluster-template-"+template+".yaml" {
			file = path
		}
		return err
	})
	if err != nil || file == "" {
		s.t.Fatalf("no template %s: %v", template, err)
	}
	ctx, stop := context.WithTimeout(s.t.Context(), patience)
	defer stop()
	cmd := s.command(ctx, "clusterctl", "generate", "yaml", "--from", file)
	cmd.Env = append(slices.Clone(s.env), "CLUSTER_NAME=lab", "NAMESPACE=default", "CONTROL_PLANE_MACHINE_COUNT="+count[0], "WORKER_MACHINE_COUNT="+count[1],
		"OPENSHIFT_VERSION=4.20.32", "OPENSHIFT_BASE_DOMAIN=example.com", "OPENSHIFT_MACHINE_NETWORK=192.168.127.0/24",
		"OPENSHIFT_API_VIP=192.168.127.100", "OPENSHIFT_INGRESS_VIP=192.168.127.101",
		"OPENSHIFT_IMAGE_URL=http://images.example.com/rhcos.qcow2", "OPENSHIFT_IMAGE_CHECKSUM=http://images.example.com/rhcos.qcow2.sha256")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	made, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("clusterctl generate yaml: %v\n%s", err, problems.String())
	}
	return made
}

// apply writes objects to a file, and applies them to the management cluster.
func (s *stage) apply(name string, objects []byte) {
	s.t.Helper()
	must.Do(s.t, os.WriteFile(filepath.Join(s.dir, name), objects, 0o600))
	s.kubectl("apply", "-f", name)
}

// kubectl runs kubectl against the management cluster.
func (s *stage) kubectl(args ...string) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), patience)
	defer stop()
	args = append([]string{"--kubeconfig", filepath.Join(s.dir, "management", "management.kubeconfig")}, args...)
	if said, err := s.command(ctx, "kubectl", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("kubectl %q: %v\n%s", args, err, said)
	}
}
