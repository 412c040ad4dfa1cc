//go:build linux

package machine

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestChanges shows that a test cannot run what changes the machine.
func TestChanges(t *testing.T) {
	host := Host{}
	for name, p := range programs {
		if p.looks {
			continue
		}
		for _, args := range [][]string{nil, {"--help"}, {"-x", "show"}, {"/dev/none"}} {
			if _, err := host.Run(t.Context(), Command{Name: name, Args: args}); !errors.Is(err, guard.ErrTest) {
				t.Errorf("%s %q: got %v", name, args, err)
			}
		}
	}
	if err := host.Reboot(t.Context()); !errors.Is(err, guard.ErrTest) {
		t.Errorf("Reboot: got %v", err)
	}
}

func TestEffect(t *testing.T) {
	for line, want := range map[string]struct {
		effect Effect
		known  bool
	}{
		"lscpu -J":                                                       {Looks, true},
		"podman ps --format x":                                           {Looks, true},
		"podman run image ps":                                            {Changes, true},
		"podman --remote ps":                                             {Changes, true},
		"systemctl show -P x":                                            {Looks, true},
		"systemctl reboot show":                                          {Changes, true},
		"systemctl":                                                      {Changes, true},
		"chronyc -n sources":                                             {Looks, true},
		"chronyc add server x iburst":                                    {Changes, true},
		"ipmitool lan print 1":                                           {Looks, true},
		"ipmitool lan set 1 access off":                                  {Changes, true},
		"mdadm --stop --detail":                                          {Changes, true},
		"udevadm settle --timeout=30":                                    {Looks, true},
		"systemctl show -P A b.service":                                  {Looks, true},
		"journalctl --all -u bootkube":                                   {Looks, true},
		"nmap -sn -PR -n -oX - -e eth0":                                  {Looks, true},
		"dmidecode -t 17":                                                {Looks, true},
		"sg_inq -p 0x83 /dev/sda":                                        {Looks, true},
		"arping -c 10 -w 5 -I eth0 192.0.2.1":                            {Looks, true},
		"ping -n -q -c 3 -W 2 -I eth0 -M do -s 8972 192.0.2.1":           {Looks, true},
		"pvs --reportformat json -o pv_name":                             {Looks, true},
		"lsblk --bytes --json --output PATH /dev/sda":                    {Looks, true},
		"findmnt --raw --noheadings --output SOURCE --target /run":       {Looks, true},
		"podman image inspect --format={{.Size}} image":                  {Looks, true},
		"oc adm must-gather --kubeconfig=/a --dest-dir=/b --image=image": {Looks, true},
		// One option more, and the program writes, removes or runs something.
		"journalctl --vacuum-size=1":         {Changes, true},
		"journalctl --all --rotate":          {Changes, true},
		"journalctl --since=a --flush":       {Changes, true},
		"dmesg --ctime --clear":              {Changes, true},
		"dmesg --ctime -C":                   {Changes, true},
		"dmsetup ls --exec reboot":           {Changes, true},
		"udevadm info --cleanup-db":          {Changes, true},
		"dmidecode -t 17 --dump-bin /etc/a":  {Changes, true},
		"nmap -sn -PR -n -oX /etc/a":         {Changes, true},
		"nmap -sn -PR -n -oX - -oN /etc/a":   {Changes, true},
		"nmap -sn -PR -n -oX - --script=a":   {Changes, true},
		"pvs -v --config a":                  {Changes, true},
		"systemctl show -H root@192.0.2.1":   {Changes, true},
		"coredumpctl list --output=/etc/a":   {Changes, true},
		"oc adm must-gather -- rm":           {Changes, true},
		"chronyc -n sources -m shutdown":     {Changes, true},
		"ipmitool lan print -H 192.0.2.1":    {Changes, true},
		"podman images --config=/a":          {Changes, true},
		"findmnt --target /a --output-all=b": {Changes, true},
		"sh -c reboot":                       {Changes, false},
		"bash":                               {Changes, false},
		"/tmp/lscpu":                         {Changes, false},
		"./lscpu":                            {Changes, false},
		"efibootmgr -B":                      {Changes, false},
		"dd if=/dev/zero of=/dev/sda":        {Changes, false},
	} {
		words := strings.Fields(line)
		effect, known := effectOf(Command{Name: words[0], Args: words[1:]})
		if effect != want.effect || known != want.known {
			t.Errorf("%s: got %v, known %t", line, effect, known)
		}
	}
}

// shell lets a test run a shell, which is none of the programs.
func shell(ctx context.Context, c Command, script string) (Result, error) {
	c.Name, c.Args = "sh", []string{"-c", script}
	return Host{Environ: []string{"PATH=/usr/bin:/bin"}}.run(ctx, c)
}

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		limit  int
		want   Result
		fails  string
	}{
		"output":               {"echo out; echo err >&2", 0, Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}, ""},
		"an exit code":         {"echo why >&2; exit 7", 0, Result{Stderr: []byte("why\n"), Code: 7}, "ended with exit code 7: why"},
		"a signal":             {"kill -9 $$", 0, Result{Code: 137}, "exit code 137"},
		"more than the limit":  {"printf 0123456789", 4, Result{Stdout: []byte("0123"), Cut: true}, ""},
		"as much as the limit": {"printf 0123", 4, Result{Stdout: []byte("0123")}, ""},
		"a hundred megabytes":  {"head -c 100000000 /dev/zero", 10, Result{Stdout: make([]byte, 10), Cut: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shell(t.Context(), Command{Limit: test.limit}, test.script)
			if string(got.Stdout) != string(test.want.Stdout) || string(got.Stderr) != string(test.want.Stderr) ||
				got.Code != test.want.Code || got.Cut != test.want.Cut {
				t.Errorf("got %.100q, %.100q, code %d, cut %t", got.Stdout, got.Stderr, got.Code, got.Cut)
			}
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("got the error %v", err)
			}
			if failed, is := errors.AsType[*Failed](err); err != nil && (!is || failed.Result.Code != test.want.Code) {
				t.Errorf("the error is %T", err)
			}
		})
	}
}

// TestRunEnds ends a program that ignores SIGTERM, with its child.
func TestRunEnds(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	began := time.Now()
	_, err := shell(t.Context(), Command{Timeout: 200 * time.Millisecond}, "trap '' TERM; (sleep 30; touch "+mark+") & echo started; wait")
	failed, is := errors.AsType[*Failed](err)
	if !is || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if is && string(failed.Result.Stdout) != "started\n" {
		t.Errorf("it printed %q", failed.Result.Stdout)
	}
}

func TestRunErrors(t *testing.T) {
	if _, err := (Host{}).Run(t.Context(), Command{Name: "sh"}); err == nil || !strings.Contains(err.Error(), "does not know") {
		t.Errorf("got %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := (Host{}).Run(t.Context(), Command{Name: "lscpu"}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if (Host{}).Has("lscpu") {
		t.Error("an empty PATH has a program")
	}
}

// TestSecrets shows that an error does not print the environment.
func TestSecrets(t *testing.T) {
	_, err := shell(t.Context(), Command{Env: []string{"TOKEN=secret"}}, `[ "$TOKEN" = secret ]; exit 3`)
	if err == nil || strings.Contains(err.Error(), "TOKEN=secret") {
		t.Errorf("got %v", err)
	}
}

// TestEnvironment: a host without variables gives its programs none. Those of this process may be secret.
func TestEnvironment(t *testing.T) {
	t.Setenv("PULL_SECRET_TOKEN", "secret")
	got, err := (Host{}).run(t.Context(), Command{Name: "env"})
	if err != nil || len(got.Stdout) > 0 {
		t.Errorf("got %q, %v", got.Stdout, err)
	}
}

// TestErrorsHideSecrets: the original installer has the password of a proxy among its arguments.
func TestErrorsHideSecrets(t *testing.T) {
	err := &Failed{
		Command: Command{Name: "podman", Args: []string{"run", "--http-proxy", "http://user:hunter2@proxy.example.com:3128"}},
		Result:  Result{Code: 125, Stderr: []byte("cannot reach https://user:hunter2@registry.example.com/v2/")},
	}
	if text := err.Error(); strings.Contains(text, "hunter2") || !strings.Contains(text, "proxy.example.com:3128") {
		t.Errorf("got %s", text)
	}
}

func TestRecorder(t *testing.T) {
	r := &Recorder{Absent: []string{"nmap"}, Reply: func(c Command) (Result, error) {
		if c.Name == "dhclient" {
			return Result{Code: 2, Stderr: []byte("no lease")}, nil
		}
		return Result{Stdout: []byte("out")}, nil
	}}
	var out strings.Builder
	if got, err := r.Run(t.Context(), Command{Name: "podman", Args: []string{"run"}, Output: &out}); err != nil || got.Stdout != nil || out.String() != "out" {
		t.Errorf("got %+v, %v, %q", got, err, out.String())
	}
	if _, err := r.Run(t.Context(), Command{Name: "dhclient"}); err == nil || !strings.Contains(err.Error(), "no lease") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Run(t.Context(), Command{Name: "nmap"}); !errors.Is(err, exec.ErrNotFound) || r.Has("nmap") || !r.Has("ping") {
		t.Errorf("got %v", err)
	}
	must.Do(t, r.Reboot(t.Context()))
	if got := r.Commands(); !slices.Equal(got, []string{"podman run", "dhclient", "nmap"}) || r.Reboots() != 1 {
		t.Errorf("recorded %q", got)
	}
}

func TestEFI(t *testing.T) {
	e := EFI{Folder: t.TempDir()}
	if _, err := e.Read("BootOrder"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	must.Do(t, e.Write("BootOrder", []byte{1, 0}))
	must.Do(t, e.Write("Boot0001", []byte("long entry")))
	must.Do(t, e.Write("BootOrder", []byte{2, 0}))
	if got := must.Get(e.Read("BootOrder"))(t); string(got) != "\x02\x00" {
		t.Errorf("got %q", got)
	}
	names := must.Get(e.List())(t)
	slices.Sort(names)
	if !slices.Equal(names, []string{"Boot0001", "BootOrder"}) {
		t.Errorf("got %q", names)
	}
	must.Do(t, e.Delete("Boot0001"))
	must.Do(t, e.Delete("Boot0001"))
	if names := must.Get(e.List())(t); !slices.Equal(names, []string{"BootOrder"}) {
		t.Errorf("got %q", names)
	}
	// No other variable is changed: keys of Secure Boot are variables, too.
	for _, name := range []string{"", ".", "..", "PK", "db", "SecureBoot", "Boot000g", "Boot00001", "../Boot0001", "x/BootOrder", "BootOrder\x00"} {
		if err := errors.Join(e.Write(name, nil), e.Delete(name)); err == nil || strings.Count(err.Error(), "is not one of the boot order") != 2 {
			t.Errorf("%q: got %v", name, err)
		}
	}
	for _, err := range []error{
		EFI{Folder: EFIFolder}.Write("BootOrder", nil), EFI{Folder: EFIFolder}.Delete("BootOrder"),
	} {
		if !errors.Is(err, guard.ErrTest) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := (EFI{Folder: filepath.Join(t.TempDir(), "none")}).List(); !errors.Is(err, ErrNoEFI) {
		t.Errorf("got %v", err)
	}
}

func TestEnter(t *testing.T) {
	if err := Enter("/bin/true", []string{"true"}, nil); !errors.Is(err, guard.ErrTest) {
		t.Errorf("got %v", err)
	}
}
