//go:build unix

package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// spoiling is what may have become of a folder of results.
type spoiling struct {
	spoil func(auth string) error
	aside []string // what is kept, below the cluster's folder, with what content
}

func write(path, content string) error {
	_ = os.Remove(path)
	return os.WriteFile(path, []byte(content), 0o600)
}

// inPlace lies where the kubeconfig belongs.
func inPlace(put func(path string) error, aside ...string) spoiling {
	return spoiling{aside: aside, spoil: func(auth string) error {
		path := filepath.Join(auth, "kubeconfig")
		if err := os.Remove(path); err != nil {
			return err
		}
		return put(path)
	}}
}

func spoilings() map[string]spoiling {
	unmarked := func(auth string) error { return os.Remove(filepath.Join(auth, ".cluster")) }
	return map[string]spoiling{
		"missing": inPlace(func(string) error { return nil }),
		"empty":   inPlace(func(path string) error { return write(path, "") }),
		"junk":    inPlace(func(path string) error { return write(path, "junk") }, "auth/kubeconfig.1=junk"),
		"wrong mode": {spoil: func(auth string) error {
			return os.Chmod(filepath.Join(auth, "kubeconfig"), 0o644)
		}},
		"a folder": inPlace(func(path string) error { return os.Mkdir(path, 0o700) }, "auth/kubeconfig.1="),
		"a pipe":   inPlace(func(path string) error { return syscall.Mkfifo(path, 0o600) }, "auth/kubeconfig.1="),
		"a link": inPlace(func(path string) error {
			elsewhere := filepath.Join(filepath.Dir(filepath.Dir(path)), "elsewhere")
			if err := write(elsewhere, "elsewhere"); err != nil {
				return err
			}
			return os.Symlink(elsewhere, path)
		}, "auth/kubeconfig.1=elsewhere", "elsewhere=elsewhere"),
		"another cluster's": {aside: []string{"auth.1/kubeconfig=theirs", "auth.1/.cluster=other"}, spoil: func(auth string) error {
			if err := write(filepath.Join(auth, ".cluster"), "other"); err != nil {
				return err
			}
			return write(filepath.Join(auth, "kubeconfig"), "theirs")
		}},
		"marked as another cluster's, with equal content": {spoil: func(auth string) error {
			return write(filepath.Join(auth, ".cluster"), "other")
		}},
		"without an id": {spoil: unmarked},
		"without an id and in part": {spoil: func(auth string) error {
			if err := os.Remove(filepath.Join(auth, "kubeconfig-noingress")); err != nil {
				return err
			}
			return unmarked(auth)
		}},
		"another cluster's, without an id, open to others": {aside: []string{"auth.1/kubeconfig=theirs"}, spoil: func(auth string) error {
			if err := write(filepath.Join(auth, "kubeconfig"), "theirs"); err != nil {
				return err
			}
			if err := os.Chmod(filepath.Join(auth, "kubeconfig"), 0o644); err != nil {
				return err
			}
			return unmarked(auth)
		}},
		"auth is a link": {aside: []string{"auth.1/kubeconfig=theirs", "elsewhere/kubeconfig=theirs"}, spoil: func(auth string) error {
			elsewhere := filepath.Join(filepath.Dir(auth), "elsewhere")
			if err := os.Rename(auth, elsewhere); err != nil {
				return err
			}
			if err := write(filepath.Join(elsewhere, "kubeconfig"), "theirs"); err != nil {
				return err
			}
			return os.Symlink(elsewhere, auth)
		}},
		"auth is a file": {aside: []string{"auth.1=a file"}, spoil: func(auth string) error {
			if err := os.RemoveAll(auth); err != nil {
				return err
			}
			return write(auth, "a file")
		}},
	}
}

// TestResultsOnDisk are those of the installed cluster when a run ends with
// success. No file that was there before is lost.
func TestResultsOnDisk(t *testing.T) {
	for name, test := range spoilings() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})}
				if _, _, err := runFor(t, p, false, install.Config{Files: install.Directory(dir)}); err != nil {
					t.Fatal(err)
				}
				cluster := filepath.Join(dir, p.Desired.Spec.Metadata.Name)
				if err := test.spoil(filepath.Join(cluster, "auth")); err != nil {
					t.Fatal(err)
				}
				told := ""
				result, _, err := runFor(t, p, false, install.Config{Files: install.Directory(dir),
					Events: func(e model.Event) { told += e.Message + "\n" }})
				if err != nil || result.Verdict != model.VerdictInstalled {
					t.Fatalf("%q, %v", result.Verdict, err)
				}
				for _, name := range []string{"kubeconfig-noingress", "kubeconfig", "kubeadmin-password"} {
					path := filepath.Join(cluster, "auth", name)
					content, err := os.ReadFile(path)
					if info, statErr := os.Lstat(path); err != nil || statErr != nil || string(content) != "content of "+name ||
						info.Mode() != 0o600 {
						t.Errorf("%s is %q, %v, %v", name, content, info, err)
					}
				}
				if id, err := os.ReadFile(filepath.Join(cluster, "auth", ".cluster")); err != nil ||
					strings.TrimSpace(string(id)) != "cluster-1" {
					t.Errorf("the results are those of %q, %v", id, err)
				}
				test.kept(t, cluster, told)
			})
		})
	}
}

// kept checks that what was put aside is there, is named in the report, and can be read by its owner alone, and that
// nothing else was put aside.
func (s spoiling) kept(t *testing.T, cluster, told string) {
	t.Helper()
	for _, aside := range s.aside {
		name, want, _ := strings.Cut(aside, "=")
		path := filepath.Join(cluster, name)
		info, err := os.Lstat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", name, info.Mode())
		}
		if want == "" {
			continue
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != want {
			t.Errorf("%s is %q, %v", name, content, err)
		}
	}
	for _, pattern := range []string{"auth.*", "auth/*.*"} {
		found, err := filepath.Glob(filepath.Join(cluster, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if filepath.Base(path) == ".cluster" {
				continue
			}
			if !strings.Contains(told, path) || len(s.aside) == 0 {
				t.Errorf("%s was put aside, and told of was\n%s", path, told)
			}
		}
	}
}

// TestResultsAreFoundAsTheyWereLeft by a run that has nothing to do.
func TestResultsAreFoundAsTheyWereLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := install.Config{Files: install.Directory(t.TempDir())}
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})}
		if _, _, err := runFor(t, p, false, files); err != nil {
			t.Fatal(err)
		}
		acted := 0
		if _, _, err := runFor(t, p, false, files, install.Config{Events: func(e model.Event) {
			if e.Type == model.EventAction {
				acted++
			}
		}}); err != nil || acted > 0 {
			t.Errorf("%d actions, %v", acted, err)
		}
	})
}
