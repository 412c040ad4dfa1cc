//go:build e2e

// Package pages runs the commands of the pages of docs, as a person who follows a page types them: in its order, with
// the program that is built, and on what the simulator plays. Each command of oaictl is interrupted once before it is
// given again.
package pages

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// assets is the folder with the program, and those that run API servers.
var assets string

// speed is that of what is played: an installation takes half a minute.
const speed = "120"

// TestMain builds what all pages need.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		if testing.Short() {
			return m.Run()
		}
		var err error
		if assets, err = os.MkdirTemp("", "oaictl-pages-"); err == nil {
			defer func() { _ = os.RemoveAll(assets) }()
			err = prepare(assets)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// prepare puts the program and those of Kubernetes into a folder, and a small live image.
func prepare(dir string) error {
	if err := kubetest.WriteAssets(context.Background(), dir, os.Stderr); err != nil {
		return err
	}
	for _, arguments := range [][]string{
		{"build", "-o", filepath.Join(dir, "oaictl"), "github.com/oaictl/oaictl/cmd/oaictl"},
		{"run", "github.com/oaictl/oaictl/pkg/iso/internal/isotest/isofixture", "x86_64-2023-07", filepath.Join(dir, liveImage)},
	} {
		if text, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, text)
		}
	}
	return nil
}

const liveImage = "rhcos-live.iso"

// page is a page that is followed.
type page struct {
	name, file string
	// part is the section that says how to play what it needs, whose commands alone are typed; empty is the whole page.
	part string
	// instead are commands that are typed in another way.
	instead map[string]string
	// left are the commands that are not typed, by their beginnings, each with the reason.
	left map[string]string
}

func pages() []page {
	const (
		pool     = "the lab has no pool"
		judged   = "the lab has no request that only a person can judge"
		replaced = "a person takes a member out of etcd by its id, which the page cannot know"
		imported = "the lab has no cluster that something else has installed"
		newest   = "the cluster of the lab runs the newest version; TestUpgradeCluster of internal/cli updates one"
		shown    = "it shows what is printed, with the addresses of a real network"
		before   = "it stands before the page says how to play what it needs"
		media    = "TestMediaDocs of internal/cli types it, and compares what is printed"
	)
	day2 := map[string]string{
		"oaictl create cluster -f depot.yaml": pool, "oaictl get infraenvs": pool, "oaictl download iso --infra-env depot": pool,
		"oaictl add-node -f pool-nodes.yaml": pool, "oaictl remove-node worker-3 --cluster ha --ignore-daemonsets --return-to-pool": pool,
		"oaictl approve worker-3 --cluster ha --request": judged,
		"oaictl replace-node cp-1 -f cluster.yaml":       replaced, "kubectl --kubeconfig ha/auth/kubeconfig -n openshift-etcd patch": replaced,
		"oaictl upgrade cluster ha --to": newest, "oaictl import cluster": imported, "oaictl add-node --cluster old": imported,
	}
	const lab = "oaictl simulator lab -f ha-workers/cluster.yaml --later nodes.yaml"
	return []page{
		{name: "day2", file: "day2.md", left: day2},
		{name: "day2-hub", file: "day2.md", left: day2, instead: map[string]string{lab: lab + " --hub"}},
		{name: "bmc", file: "bmc.md", left: map[string]string{"oaictl create cluster -f cluster.yaml --detach": shown}},
		{name: "hub", file: "hub.md", left: map[string]string{
			"oaictl create cluster -f cluster.yaml --backend hub": before, "kubectl apply --server-side --field-manager=me": before,
		}},
		capi(),
		{name: "media", file: "media.md", left: map[string]string{
			"oaictl iso customize": media, "oaictl iso show": media, "oaictl iso verify": media, "oaictl iso extract": media,
		}},
	}
}

// capi is the page of the Cluster API providers: one cluster, from the template to its end.
func capi() page {
	const (
		real  = "it is typed in a real cluster"
		names = "the page cannot know the name; TestLife of test/capi does what it says"
		play  = "go run ./cmd/oaictl "
	)
	const upgrade = `kubectl patch openshiftassistedcontrolplane lab --type merge -p '{"spec": {"distributionVersion": "4.20.33"}}'`
	const five = "kubectl wait --for=jsonpath='{.status.readyReplicas}'=5 machinedeployment/lab-workers --timeout=4m"
	// A command in another process has the same times as the providers.
	const newest = "$(kubectl get machines --sort-by .metadata.creationTimestamp -o name | tail -n 1 | cut -d/ -f 2)"
	const fine = "oaictl --backend hub why machine " + newest + " | grep 'nothing stands in the way'"
	const scale = "kubectl scale machinedeployment lab-workers --replicas 5 && "
	const available = "kubectl wait --for=condition=Available cluster/lab --timeout=4m"
	return page{
		name: "capi", file: "capi.md", part: "A cluster, step by step",
		instead: map[string]string{
			play + "simulator management --hosts 10":                                  "oaictl simulator management --hosts 10",
			play + "controller manifests --layout repository --output-dir repository": "oaictl controller manifests --layout repository --output-dir repository",
			"kubectl get openshiftassistedcontrolplane lab --watch":                   available,
			"kubectl scale machinedeployment lab-workers --replicas 5":                scale + five + " && " + fine,
			upgrade: upgrade + " && kubectl wait --for=jsonpath='{.status.distributionVersion}'=4.20.33 openshiftassistedcontrolplane/lab --timeout=4m",
		},
		left: map[string]string{
			"oc --kubeconfig lab.kubeconfig": real, "kubectl create secret generic lab-kubeconfig": real,
			"oaictl why machine": names, "kubectl annotate": names, "kubectl patch baremetalhost": names, "kubectl get machine ": names,
			"kubectl get openshiftassistedcontrolplane lab \\": names, "kubectl --kubeconfig lab.kubeconfig -n openshift-etcd": names,
		},
	}
}

// TestPages follows each page from its first command to its last.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs hubs")
	}
	for _, p := range pages() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", p.file)))(t)
			r := open(t, p.file)
			must.Do(t, os.Symlink(filepath.Join(assets, liveImage), filepath.Join(r.dir, liveImage)))
			var used []string
			for _, s := range stepsOf(partOf(string(text), p.part)) {
				if begin := p.isLeft(s); begin != "" {
					used = append(used, begin)
					continue
				}
				if other := p.instead[s.command]; other != "" {
					used = append(used, s.command)
					s.command = other
				}
				r.follow(s)
			}
			for _, list := range []map[string]string{p.left, p.instead} {
				for begin := range list {
					if !slices.Contains(used, begin) {
						t.Errorf("the page has no command that begins with %q", begin)
					}
				}
			}
		})
	}
}

// isLeft is the beginning by which a step is not typed, "" for one that is.
func (p page) isLeft(s step) string {
	for begin := range p.left {
		if strings.HasPrefix(s.command, begin) {
			return begin
		}
	}
	return ""
}
