//go:build linux

// Package host tests the machine's side as a whole: agents, installers and the controller of oaictl-host install clusters at the
// simulated assisted-service, over HTTP.
package host

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/controller"
	"github.com/oaictl/oaictl/internal/host/installer"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// Stages with infos, as the real programs post them.
const (
	writing      = `Writing image to disk ""`
	written      = `Writing image to disk "100%"`
	rebooting    = `Rebooting ""`
	ignitionWait = `Waiting for ignition ""`
	configuring  = `Configuring ""`
	joined       = `Joined ""`
	done         = `Done ""`
)

// stages of each kind of machine.
func stages(kind string) []string {
	switch kind {
	case "single node":
		return []string{
			`Starting installation "bootstrap"`, `Installing "bootstrap"`, `Waiting for bootkube ""`, writing, written, rebooting, joined, done,
		}
	case "bootstrap":
		return []string{
			`Starting installation "bootstrap"`, `Installing "master"`, writing, written,
			`Waiting for control plane "Waiting for bootstrap node preparation"`,
			`Waiting for control plane "Waiting for masters to join bootstrap control plane"`,
			`Waiting for bootkube ""`, `Waiting for bootkube "waiting for ETCD bootstrap to be complete"`,
			`Waiting for controller "waiting for controller pod ready event"`, rebooting, configuring, joined, done,
		}
	case "worker":
		return []string{
			`Starting installation "worker"`, `Installing "worker"`, writing, written, `Waiting for control plane ""`, rebooting,
			ignitionWait, configuring, joined, done,
		}
	}
	return []string{`Starting installation "` + kind + `"`, `Installing "` + kind + `"`, writing, written, rebooting, configuring, joined, done}
}

// plan is a cluster to install.
type plan struct {
	controlPlane int
	roles        []string // "" lets the service decide
	speed        float64
	stops        []installer.Name // steps in which the installer of the bootstrap is ended
	killed       bool             // it is ended as by SIGKILL
}

func TestInstall(t *testing.T) {
	compact, sno := []string{"", "", ""}, []string{""}
	arbiter := []string{"master", "master", "arbiter", "worker"}
	for name, p := range map[string]plan{
		"compact":                         {3, compact, 1, nil, false},
		"compact, a fast service":         {3, compact, 10, nil, false},
		"single node":                     {1, sno, 1, nil, false},
		"single node, a fast service":     {1, sno, 10, nil, false},
		"worker and arbiter":              {2, arbiter, 1, nil, false},
		"worker, arbiter, a fast service": {2, arbiter, 10, nil, false},
	} {
		t.Run(name, func(t *testing.T) { install(t, p) })
	}
}

// TestInstallerIsEnded ends the installer of each machine in the middle of steps, and starts it again: it goes on, and no disk is
// written twice.
func TestInstallerIsEnded(t *testing.T) {
	for name, p := range map[string]plan{
		"compact": {3, []string{"", "", ""}, 1, []installer.Name{
			installer.StepClean, installer.StepBootkube, installer.StepWrite, installer.StepWaitMasters, installer.StepLogs,
		}, false},
		"compact, killed": {3, []string{"", "", ""}, 1, []installer.Name{
			installer.StepClean, installer.StepManifests, installer.StepInstall, installer.StepWaitController, installer.StepReboot,
		}, true},
		"single node": {1, []string{""}, 1, []installer.Name{
			installer.StepApplyIgnition, installer.StepWaitBootkube, installer.StepWrite, installer.StepSkipMCO, installer.StepReboot,
		}, false},
	} {
		t.Run(name, func(t *testing.T) { install(t, p) })
	}
}

// install installs a cluster, and checks what must be so for all.
func install(t *testing.T, p plan) {
	t.Helper()
	real := before(t)
	synctest.Test(t, func(t *testing.T) {
		s, stop := newSite(t, p.speed)
		defer stop()
		t.Cleanup(func() {
			if t.Failed() && os.Getenv("SHOW") != "" {
				t.Log(s.text())
			}
		})
		s.prepare(p)
		began := s.clock.Now()
		s.ask(http.MethodPost, "/clusters/"+s.cluster+"/actions/install", nil, nil)
		s.await(models.ClusterStatusInstalled, 4*time.Hour)
		check.Equal(t, <-s.exit, controller.ExitDone, "the controller")
		s.check(p, real, began)
	})
}

// prepare makes a cluster whose machines are ready to be installed.
func (s *site) prepare(p plan) {
	s.t.Helper()
	s.make(p.controlPlane)
	for n, role := range p.roles {
		s.boxes = append(s.boxes, newBox(s, n, role != "worker" && role != "arbiter", role))
	}
	for _, b := range s.boxes {
		b.stops, b.killed = slices.Clone(p.stops), p.killed
		s.group.Go(func() { b.run(s.ctx) })
	}
	for _, b := range s.boxes {
		if b.role != "" {
			s.assign(b)
		}
	}
	s.await(models.ClusterStatusReady, time.Hour)
}

// TestCancel cancels an installation while all disks are being written: the installers end, and no disk boots. After a reset and
// a reboot, the machines are installed.
func TestCancel(t *testing.T) {
	real := before(t)
	p := plan{controlPlane: 2, roles: []string{"master", "master", "arbiter", "worker"}, speed: 1}
	synctest.Test(t, func(t *testing.T) {
		s, stop := newSite(t, 1)
		defer stop()
		s.writing = 10 * time.Minute // all are still at it when their agents ask for steps again
		s.prepare(p)
		s.ask(http.MethodPost, "/clusters/"+s.cluster+"/actions/install", nil, nil)
		writes := func(b *box) bool { return slices.Contains(s.told(b), written) }
		for range 100 {
			if s.pause(3 * time.Second); !slices.ContainsFunc(s.boxes, func(b *box) bool { return !writes(b) }) {
				break
			}
		}
		s.ask(http.MethodPost, "/clusters/"+s.cluster+"/actions/cancel", nil, nil)
		s.pause(5 * time.Minute)
		for _, b := range s.boxes {
			var host models.Host
			s.ask(http.MethodGet, "/infra-envs/"+s.infraEnv+"/hosts/"+b.id.String(), nil, &host)
			check.Equal(t, *host.Status, models.HostStatusCancelled, b.name)
			b.mu.Lock()
			check.Equal(t, b.running, 0, "installers that run on ", b.name)
			check.Equal(t, b.writes, 0, "disks that were written of ", b.name)
			b.mu.Unlock()
			if b.boots() == nil {
				t.Errorf("the disk of %s boots", b.name)
			}
			if slices.Contains(s.told(b), rebooting) {
				t.Errorf("%s reboots", b.name)
			}
		}
		s.ask(http.MethodPost, "/clusters/"+s.cluster+"/actions/reset", nil, nil)
		s.writing = 90 * time.Second
		for _, b := range s.boxes {
			b.bootAgain()
		}
		s.await(models.ClusterStatusReady, time.Hour)
		began := s.clock.Now()
		s.mu.Lock()
		s.posts, s.replies, s.refused = map[string][]string{}, map[string][]int64{}, nil
		s.mu.Unlock()
		s.ask(http.MethodPost, "/clusters/"+s.cluster+"/actions/install", nil, nil)
		s.await(models.ClusterStatusInstalled, 4*time.Hour)
		check.Equal(t, <-s.exit, controller.ExitDone, "the controller")
		s.check(p, real, began)
	})
}

// check looks at the service and the machines of an installed cluster. The installation began at a moment of the clock of the file
// system, and at one of the service's clock.
func (s *site) check(p plan, real, began time.Time) {
	s.t.Helper()
	bootstraps := 0
	for _, b := range s.boxes {
		kind := b.nodeRole()
		told := s.told(b)
		if slices.Contains(told, `Starting installation "bootstrap"`) {
			kind = "bootstrap"
			bootstraps++
			if len(s.boxes) == 1 {
				kind = "single node"
			}
		}
		if kind == "bootstrap" || kind == "single node" {
			check.Equal(s.t, len(b.stops), 0, "steps in which the installer of ", b.name, " was not ended")
		}
		want := stages(kind)
		if p.speed > 1 { // machines boot faster then than bootstrap and controller look at who asks for configs
			unseen := func(stage string) bool { return stage == ignitionWait || stage == configuring }
			want, told = slices.DeleteFunc(want, unseen), slices.DeleteFunc(told, unseen)
		}
		check.Slice(s.t, p.once(told), want, b.name)
		s.checkBox(b, real)
	}
	check.Equal(s.t, bootstraps, 1, "bootstraps")
	s.checkEvents(began)
	for _, refused := range s.refused {
		switch {
		case strings.Contains(refused, "logs_type=controller") && strings.Contains(refused, "unexpected EOF"):
			continue // the controller breaks an upload off when the installation ends, and then sends its last logs
		case strings.Contains(refused, "<Joined>"), strings.Contains(refused, `\u003cJoined\u003e`):
			continue // the bootstrap says so at the moment in which the controller has said that the host is done
		}
		s.t.Errorf("the service refused: %s", refused)
	}
	s.checkSecrets()
}

// once are stages without what follows from ended installers: their last words, and stages that the next one tells again. Both
// bootstrap and controller may say that a node joined.
func (p plan) once(told []string) []string {
	if len(p.stops) == 0 {
		return slices.Compact(told)
	}
	var first []string
	for _, stage := range told {
		if !slices.Contains(first, stage) && !strings.Contains(stage, "The installer was stopped during") {
			first = append(first, stage)
		}
	}
	return first
}

// checkBox looks at what a machine did.
func (s *site) checkBox(b *box, real time.Time) {
	s.t.Helper()
	check.Equal(s.t, b.writes, 1, b.name, " wrote its disk")
	replies := s.replies[b.id.String()]
	check.Equal(s.t, s.installs[b.id.String()].times, 2, "repeated steps of ", b.name)
	if len(replies) == 0 || replies[0] != 125 {
		s.t.Errorf("%s answers the repeated step with %d, although the installer runs", b.name, replies)
	}
	for _, code := range replies {
		if code != 0 && code != 125 {
			s.t.Errorf("%s answers the step install with %d", b.name, replies)
		}
	}
	if !s.approved(b.name + "-serving") {
		s.t.Errorf("the certificate of the kubelet of %s was not approved", b.name)
	}
	err := filepath.WalkDir(b.files.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		outside := strings.TrimPrefix(path, b.files.Root)
		if strings.HasPrefix(outside, "/proc/") || strings.HasPrefix(outside, "/sys/") {
			return nil
		}
		if info, err := os.Lstat(outside); err == nil && info.ModTime().After(real) {
			s.t.Errorf("%s was written, outside of the machine", outside)
		}
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
}

// checkEvents: the service has nothing to warn about since the installation began. Before that, hosts lack what their agents
// have not found out yet.
func (s *site) checkEvents(began time.Time) {
	s.t.Helper()
	var events []models.Event
	s.ask(http.MethodGet, "/events?cluster_id="+s.cluster, nil, &events)
	if len(events) < 10 {
		s.t.Errorf("the service has only %d events", len(events))
	}
	for _, e := range events {
		if at := time.Time(*e.EventTime); at.After(began) && *e.Severity != models.EventSeverityInfo {
			s.t.Errorf("the service says: %s %s", *e.Severity, *e.Message)
		}
	}
}

// checkSecrets: neither logs nor arguments of programs have secrets.
func (s *site) checkSecrets() {
	s.t.Helper()
	texts := []string{s.text()}
	for _, b := range s.boxes {
		texts = append(texts, b.recorder.Commands()...)
	}
	for _, text := range texts {
		for _, secret := range []string{token, "c2VjcmV0OmNsb3Vk", "c2VjcmV0OnF1YXkw", "a secret k"} {
			if at := strings.Index(text, secret); at >= 0 {
				s.t.Errorf("a secret is shown: %.300q", text[max(0, at-200):])
			}
		}
	}
}
