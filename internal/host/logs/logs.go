//go:build linux

// Package logs gathers the logs of a machine and uploads them to the assisted-service, as the original logs_sender does.
// What cannot be gathered is listed in the file report.logs of the upload: part of the logs is better than none.
package logs

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Service is what the log sender needs of the assisted-service. service.Client implements it.
type Service interface {
	HostLogsProgress(ctx context.Context, infraEnv, host strfmt.UUID, state models.LogsState) error
	UploadLogs(ctx context.Context, cluster strfmt.UUID, infraEnv, host *strfmt.UUID, logsType models.LogsType, content io.Reader) error
}

// Sender gathers and uploads the logs of this machine.
type Sender struct {
	Options Options
	Service Service
	Runner  machine.Runner
	Files   hostfile.Files
	Clock   clock.Clock
	Log     *slog.Logger

	room int64 // for all parts together, in tests; zero means largestAll
}

const (
	logFolder  = "/var/log"
	archive    = logFolder + "/logs.tar.gz"
	reportName = "report.logs"
	// secret is the permission of gathered files: logs may have secrets.
	secret = 0o600

	// gatherLimit bounds all programs together: what is left out then is in the report.
	gatherLimit = 50 * time.Minute
	// programLimit bounds one program, and mastersLimit the one that asks the masters.
	programLimit = 5 * time.Minute
	mastersLimit = 25 * time.Minute
	// largestPart bounds each gathered file.
	largestPart = 256 << 20
	// largestAll bounds them together: they are in the memory of a live system.
	largestAll = 1 << 30
	// mostCoreDumps bounds how many core dumps are gathered.
	mostCoreDumps = 5
	// lastWord is how long the last report to the service may take.
	lastWord = 10 * time.Second
)

// Send gathers and uploads the logs. The report says what could not be gathered; it is no error if the rest was uploaded.
func (s *Sender) Send(ctx context.Context) (report string, err error) {
	s.progress(ctx, models.LogsStateRequested)
	g := &gathering{Sender: s, folder: path.Join(logFolder, "logs_host_"+s.Options.Host.String()), left: cmp.Or(s.room, largestAll)}
	defer g.clean()
	limited, cancel := context.WithTimeoutCause(ctx, s.Clock.Wall(gatherLimit), fmt.Errorf("the logs take longer than %s", gatherLimit))
	defer cancel()
	g.gather(limited)
	if len(g.failures) > 0 {
		report = strings.Join(g.failures, "\n")
		if err := s.Files.Write(path.Join(g.folder, reportName), []byte(report+"\n"), secret); err != nil {
			s.Log.Warn("the report about logs that are missing was not written", "error", err)
		}
	}
	s.progress(ctx, models.LogsStateCollecting)
	if err := g.upload(ctx); err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Clock.Wall(lastWord))
		defer cancel()
		s.progress(last, models.LogsStateTimeout)
		return report, err
	}
	s.progress(ctx, models.LogsStateCompleted)
	return report, nil
}

// progress reports to the service. A failure does not matter: the logs do.
func (s *Sender) progress(ctx context.Context, state models.LogsState) {
	if err := s.Service.HostLogsProgress(ctx, s.Options.InfraEnv, s.Options.Host, state); err != nil {
		s.Log.Warn("the progress of the logs was not reported", "state", string(state), "error", err)
	}
}

// gathering is one upload.
type gathering struct {
	*Sender
	folder   string
	failures []string
	left     int64 // how many bytes may still be gathered
}

// errNoRoom is the error of a part that comes after largestAll bytes of others.
var errNoRoom = errors.New("there is no room for it: the parts before it are as large as all may be")

// part is a file that takes no more than is left.
func (g *gathering) part(to io.Writer) *most {
	return &most{to: to, rest: largestPart, all: &g.left}
}

func (g *gathering) failed(what string, err error) {
	if err != nil {
		g.Log.Warn("a part of the logs is missing", "part", what, "error", err)
		g.failures = append(g.failures, escape.Word(what+": "+err.Error()))
	}
}

// gather fills the folder.
func (g *gathering) gather(ctx context.Context) {
	g.failed("mount.logs", g.disks(ctx))
	g.journal(ctx, "agent.logs", "TAG=agent", "+", "_SYSTEMD_UNIT=agent.service")
	g.journal(ctx, "installer.logs", "TAG=installer", "+", "SYSLOG_IDENTIFIER=assisted-installer")
	g.journal(ctx, "ironic-agent.logs", "-u", "ironic-agent")
	if g.Options.Bootstrap {
		g.journal(ctx, "bootkube.logs", "-u", "bootkube")
	}
	g.files("assisted-installer*.log", "agent*.log", "agent/*.log")
	if !g.Options.Everything {
		return
	}
	g.failed("dmesg.logs", g.program(ctx, "dmesg.logs", "dmesg", "--ctime"))
	g.coreDumps(ctx)
	g.journal(ctx, "journal.logs")
	if g.Options.Bootstrap {
		g.masters(ctx)
	}
}

// journal gathers entries of the journal.
func (g *gathering) journal(ctx context.Context, name string, matches ...string) {
	args := []string{"--all", "--no-pager"}
	if g.Files.Exists("/var/log/journal") {
		args = append(args, "-D", "/var/log/journal/")
	}
	if g.Options.Since != "" {
		args = append(args, "--since="+g.Options.Since)
	}
	g.failed(name, g.program(ctx, name, "journalctl", append(args, matches...)...))
}

// program gathers the output of a program.
func (g *gathering) program(ctx context.Context, name, program string, args ...string) error {
	file, err := g.Files.Create(path.Join(g.folder, name), secret)
	if err != nil {
		return err
	}
	defer file.Close()
	return g.print(ctx, g.part(file), program, args...)
}

// print runs a program that prints to a file.
func (g *gathering) print(ctx context.Context, to *most, program string, args ...string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	_, err := g.Runner.Run(ctx, machine.Command{Name: program, Args: args, Output: to, Timeout: programLimit})
	if err == nil && to.cut {
		err = errors.New("only its first part is here: it is larger than what there is room for")
	}
	return errors.Join(err, to.err)
}

// disks gathers what is known about disks and mounts.
func (g *gathering) disks(ctx context.Context) error {
	file, err := g.Files.Create(path.Join(g.folder, "mount.logs"), secret)
	if err != nil {
		return err
	}
	defer file.Close()
	to := g.part(file)
	var failures []error
	for _, command := range [][]string{
		{"lsblk", "-o", "NAME,MAJ:MIN,SIZE,TYPE,FSTYPE,KNAME,MODEL,UUID,WWN,HCTL,VENDOR,STATE,TRAN,PKNAME"}, {"findmnt", "--df"},
		{"pvs", "-v"}, {"vgs", "-v"}, {"lvs", "-v"},
	} {
		_, _ = fmt.Fprintf(to, "\n%s\n", strings.Join(command, " "))
		failures = append(failures, g.print(ctx, to, command[0], command[1:]...))
	}
	for _, folder := range []string{"/dev/disk/by-id", "/dev/disk/by-path"} {
		_, _ = fmt.Fprintf(to, "\n%s\n", folder)
		entries, err := os.ReadDir(g.Files.Path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, err)
		}
		for _, entry := range entries {
			disk, _ := os.Readlink(filepath.Join(g.Files.Path(folder), entry.Name()))
			_, _ = fmt.Fprintf(to, "%s -> %s\n", entry.Name(), disk)
		}
	}
	return errors.Join(failures...)
}

// files gathers files below /var/log.
func (g *gathering) files(patterns ...string) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(g.Files.Path(logFolder), pattern))
		g.failed(pattern, err)
		for _, from := range found {
			if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
				continue
			}
			relative, err := filepath.Rel(g.Files.Path(logFolder), from)
			if err == nil {
				err = g.copyEnd(from, strings.ReplaceAll(relative, "/", "_"))
			}
			g.failed(from, err)
		}
	}
}

// copyEnd copies the end of a file, which is what matters of a log.
func (g *gathering) copyEnd(from, name string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	size := min(info.Size(), largestPart, g.left)
	if size == 0 && info.Size() > 0 {
		return errNoRoom
	}
	if _, err := source.Seek(info.Size()-size, io.SeekStart); err != nil {
		return err
	}
	g.left -= size
	return g.Files.Save(path.Join(g.folder, name), io.LimitReader(source, size), secret)
}

// coreDumps gathers the core dumps that systemd keeps.
func (g *gathering) coreDumps(ctx context.Context) {
	if !g.Runner.Has("coredumpctl") {
		return
	}
	list, err := g.Runner.Run(ctx, machine.Command{Name: "coredumpctl", Args: []string{"list", "--no-legend"}, Timeout: programLimit})
	if err != nil {
		return // as coredumpctl says that there are none
	}
	dumps := parseCoreDumps(string(list.Stdout))
	if more := len(dumps) - mostCoreDumps; more > 0 {
		g.failed("core dumps", fmt.Errorf("%d more are on the machine", more))
		dumps = dumps[more:]
	}
	for _, dump := range dumps {
		name := "coredump_exe_" + dump.program + "_pid_" + dump.pid
		g.failed(name, g.program(ctx, name, "coredumpctl", "dump", dump.pid))
	}
}

type coreDump struct{ pid, program string }

// parseCoreDumps reads the lines of coredumpctl list: four words of time, pid, uid, gid, signal, file, program.
func parseCoreDumps(text string) []coreDump {
	const pid, program = 4, 9
	var dumps []coreDump
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) <= program || strings.Trim(fields[pid], "0123456789") != "" {
			continue
		}
		dumps = append(dumps, coreDump{pid: fields[pid], program: fileName(path.Base(fields[program]))})
	}
	return dumps
}

// fileName is a text without the characters that make trouble in the name of a file.
func fileName(text string) string {
	const longest = 64
	text = strings.Map(func(r rune) rune {
		if r < 0x7f && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, text)
	return text[:min(len(text), longest)]
}

// masters gathers the logs of the control plane nodes, by the program that the bootstrap's Ignition config brings.
func (g *gathering) masters(ctx context.Context) {
	const program = "installer-gather.sh"
	if !g.Runner.Has(program) {
		g.failed(program, errors.New("the bootstrap has no such program: its installation had not begun"))
		return
	}
	id := g.Clock.Now().UTC().Format("20060102150405")
	bundle := "/root/log-bundle-" + id + ".tar.gz"
	if err := context.Cause(ctx); err != nil {
		g.failed(program, err)
		return
	}
	args := slices.Concat([]string{"--id", id}, g.Options.Masters)
	_, err := g.Runner.Run(ctx, machine.Command{Name: program, Args: args, Timeout: mastersLimit})
	g.failed(program, err)
	if g.Files.Exists(bundle) {
		g.failed(bundle, g.copyEnd(g.Files.Path(bundle), path.Base(bundle)))
		g.failed(bundle, g.Files.Remove(bundle))
		return
	}
	g.failed(program, errors.New("it made no archive: what it gathered so far is here"))
	g.partial("/tmp/artifacts-" + id)
}

// partial gathers what a program left behind that did not reach its end.
func (g *gathering) partial(folder string) {
	root := g.Files.Path(folder)
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		g.failed(name, g.copyEnd(name, "partial_"+strings.ReplaceAll(relative, "/", "_")))
		return nil
	})
	if !errors.Is(err, fs.ErrNotExist) {
		g.failed(folder, err)
	}
}

// upload packs the folder and uploads it.
func (g *gathering) upload(ctx context.Context) error {
	file, err := g.Files.Create(archive, secret)
	if err != nil {
		return fmt.Errorf("pack the logs: %w", err)
	}
	defer file.Close()
	if err := g.pack(file); err != nil {
		return fmt.Errorf("pack the logs: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("pack the logs: %w", err)
	}
	infraEnv, host := g.Options.InfraEnv, g.Options.Host
	return g.Service.UploadLogs(ctx, g.Options.Cluster, &infraEnv, &host, models.LogsTypeHost, file)
}

// pack writes the folder as a tar.gz.
func (g *gathering) pack(to io.Writer) error {
	compressed := gzip.NewWriter(to)
	packed := tar.NewWriter(compressed)
	entries, err := os.ReadDir(g.Files.Path(g.folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if err := g.add(packed, path.Join(g.folder, entry.Name())); err != nil {
			return err
		}
	}
	return errors.Join(packed.Close(), compressed.Close())
}

func (g *gathering) add(packed *tar.Writer, name string) error {
	file, err := os.Open(g.Files.Path(name))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := packed.WriteHeader(&tar.Header{
		Name: path.Join(path.Base(g.folder), path.Base(name)), Size: info.Size(), Mode: secret, ModTime: info.ModTime(), Typeflag: tar.TypeReg,
	}); err != nil {
		return err
	}
	_, err = io.CopyN(packed, file, info.Size())
	return err
}

// clean removes what was gathered.
func (g *gathering) clean() {
	if g.Options.Keep {
		return
	}
	err := g.Files.Remove(archive)
	entries, _ := os.ReadDir(g.Files.Path(g.folder))
	for _, entry := range entries {
		err = errors.Join(err, g.Files.Remove(path.Join(g.folder, entry.Name())))
	}
	if err = errors.Join(err, g.Files.Remove(g.folder)); err != nil {
		g.Log.Warn("the gathered logs were not removed", "error", err)
	}
}

// most passes on the first bytes and drops the rest, so that a program goes on.
type most struct {
	to   io.Writer
	rest int64
	all  *int64 // the same of all parts together
	cut  bool
	err  error // of the first write that failed
}

func (m *most) Write(p []byte) (int, error) {
	part := p[:min(int64(len(p)), m.rest, *m.all)]
	if len(part) < len(p) {
		m.cut = true
	}
	m.rest -= int64(len(part))
	*m.all -= int64(len(part))
	if m.err == nil {
		_, m.err = m.to.Write(part)
	}
	return len(p), nil
}
