package kubetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrUnavailable is wrapped where Go, or the modules of the programs, cannot be had.
var ErrUnavailable = errors.New("the Kubernetes programs cannot be built here")

// program is one to build: its package in test/tools/kubernetes, the module with its version, and the package that
// reports the version to clients.
type program struct{ name, pkg, module, version string }

func programs() []program {
	const (
		kubernetes = "k8s.io/kubernetes"
		stamped    = "k8s.io/component-base/version"
	)
	return []program{
		{apiServer, kubernetes + "/cmd/kube-apiserver", kubernetes, stamped},
		{"etcd", "go.etcd.io/etcd/server/v3", kubernetes, stamped},
		{"kube-controller-manager", kubernetes + "/cmd/kube-controller-manager", kubernetes, stamped},
		{"kubectl", kubernetes + "/cmd/kubectl", kubernetes, stamped},
		{coreManager, clusterAPI + "/core", clusterAPI, clusterAPI + "/version"},
		{clusterctl, clusterAPI + "/cmd/clusterctl", clusterAPI, clusterAPI + "/version"},
	}
}

// clusterAPI is the module of Cluster API, and coreManifests the folder beside its programs that
// has what its core manager needs of manifests.
const (
	clusterAPI    = "sigs.k8s.io/cluster-api"
	coreManifests = "cluster-api-config"
)

// Build builds the programs that are not there yet, and gives their folder. Processes
// that ask at the same time build once. Cut off by ctx, it continues from there the next
// time. What it does goes to log.
func Build(ctx context.Context, log io.Writer) (string, error) {
	if runtime.GOOS == "windows" {
		return "", fmt.Errorf("%w: the API server does not run on Windows", ErrUnavailable)
	}
	tree, err := root(ctx)
	if err != nil {
		return "", err
	}
	b := builder{module: filepath.Join(tree, "test", "tools", "kubernetes"), log: log}
	folder, err := b.folder(ctx)
	if err != nil || complete(folder) {
		return folder, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, folder+".lock")
	if err != nil {
		return "", fmt.Errorf("waiting for another process that builds %s: %w", folder, err)
	}
	defer unlock()
	return folder, b.build(ctx, folder)
}

func complete(folder string) bool {
	names := []string{coreManifests}
	for _, p := range programs() {
		names = append(names, p.name)
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err != nil
	})
}

type builder struct {
	module string
	log    io.Writer
}

// folder is where programs of these modules, built by this Go, are kept.
func (b builder) folder(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	version, err := b.run(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	sum := sha256.New()
	for _, p := range programs() {
		fmt.Fprintln(sum, version, p.name, p.linkerFlags("VERSION"))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(b.module, name))
		if err != nil {
			return "", err
		}
		sum.Write(content)
	}
	return filepath.Join(cache, "oaictl", "tools", "kubernetes-"+hex.EncodeToString(sum.Sum(nil))[:16]), nil
}

func (b builder) build(ctx context.Context, folder string) error {
	if complete(folder) {
		return nil // by the process that we waited for
	}
	wanted := []string{"list", "-deps", "-f", "{{.ImportPath}}"}
	for _, p := range programs() {
		wanted = append(wanted, p.pkg)
	}
	fmt.Fprintln(b.log, "kubetest: building etcd, Kubernetes and Cluster API, once: some 7 minutes on two cores, and 3 GB in Go's cache")
	fmt.Fprintln(b.log, "kubetest: fetching their modules")
	if _, err := b.run(ctx, "go", wanted...); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, p := range programs() {
		target := filepath.Join(folder, p.name)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		version, err := b.run(ctx, "go", "list", "-m", "-f", "{{.Version}}", p.module)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.log, "kubetest: building %s of %s %s\n", p.name, p.module, version)
		if err := b.buildOne(ctx, p, target, version); err != nil {
			return fmt.Errorf("building %s: %w", p.name, err)
		}
	}
	return b.copyManifests(ctx, filepath.Join(folder, coreManifests))
}

// copyManifests puts the manifests of Cluster API's core beside its program: what its module
// has, since no release can be fetched.
func (b builder) copyManifests(ctx context.Context, target string) error {
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if err := removeUnfinished(target); err != nil {
		return err
	}
	module, err := b.run(ctx, "go", "list", "-m", "-f", "{{.Dir}}", clusterAPI)
	if err != nil {
		return err
	}
	unready, err := os.MkdirTemp(filepath.Dir(target), coreManifests+".*"+unfinished)
	if err != nil {
		return err
	}
	if err := os.CopyFS(unready, os.DirFS(filepath.Join(module, "core", "config"))); err != nil {
		return errors.Join(err, os.RemoveAll(unready))
	}
	return os.Rename(unready, target)
}

// buildOne builds a program under another name first: what was cut off must not look finished. No other process uses
// that name, since the compiler of a process that was killed goes on, and writes when it is done.
func (b builder) buildOne(ctx context.Context, p program, target, version string) error {
	if err := removeUnfinished(target); err != nil {
		return err
	}
	name := target + "." + strconv.Itoa(os.Getpid()) + unfinished
	command, args := kindly("go", "build", "-ldflags", p.linkerFlags(version), "-o", name, p.pkg)
	if _, err := b.run(ctx, command, args...); err != nil {
		return err
	}
	return os.Rename(name, target)
}

const unfinished = ".unfinished"

// removeUnfinished removes the files of interrupted builds of a target.
func removeUnfinished(target string) error {
	left, err := filepath.Glob(target + ".*" + unfinished)
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// linkerFlags stamp a version into the program: clients look at it.
func (p program) linkerFlags(version string) string {
	into := " -X " + p.version + "."
	flags := "-s -w" + into + "gitVersion=" + version
	if numbers := strings.Split(strings.TrimPrefix(version, "v"), "."); len(numbers) > 1 {
		flags += into + "gitMajor=" + numbers[0] + into + "gitMinor=" + numbers[1]
	}
	return flags
}

// cleaningTime is how long a command may take to end that is cut off.
const cleaningTime = 10 * time.Second

// kindly leaves the machine to others where it can.
func kindly(command string, args ...string) (string, []string) {
	if nice, err := exec.LookPath("nice"); err == nil {
		return nice, append([]string{"-n", "10", command}, args...)
	}
	return command, args
}

func (b builder) run(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = b.module
	// Asked to end, the compiler removes what it has in the folder for temporary files.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = cleaningTime
	// Without the race detector's C compiler, and without any workspace.
	command.Env = append(command.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, problems.String())
	}
	return strings.TrimSpace(string(out)), nil
}
