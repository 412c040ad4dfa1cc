// Package runlog is oaictl.log: all that happened in the runs for one cluster,
// beside its results, however little the screen showed. It is readable by its
// owner alone, holds no secret, and is appended to.
package runlog

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Name is the file's name in the cluster's folder.
const Name = "oaictl.log"

// Log is an open oaictl.log, safe for concurrent use. A nil Log notes nothing.
type Log struct {
	path    string
	file    *os.File
	handler slog.Handler
	now     func() time.Time
	ctx     context.Context // of the run, for the handler

	writing sync.Mutex
	closed  bool // what still happens then is of no run any more
	trouble sync.Once
	failed  func(error) // hears of the first line that cannot be written
}

// Open opens DIR/oaictl.log, and keeps the secrets, and what looks like one, out of it.
// now is the time of lines that have none of their own.
func Open(ctx context.Context, dir string, now func() time.Time, secrets ...spec.Secret) (*Log, error) {
	path := filepath.Join(dir, Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: errLink}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := closeToOthers(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	out := &redactor{w: file, replace: strings.NewReplacer(pairs(secrets)...)}
	return &Log{path: path, file: file, now: now, ctx: context.WithoutCancel(ctx),
		handler: slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})}, nil
}

var errLink = errors.New("it is a symbolic link, which is not followed")

// closeToOthers leaves devices and pipes alone, which are not ours to close.
func closeToOthers(file *os.File) error {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Chmod(0o600)
}

// OnFailure reports the first line that cannot be written. It is called before all others.
func (l *Log) OnFailure(failed func(error)) { l.failed = failed }

// Path is where the file is, "" for a nil Log.
func (l *Log) Path() string {
	if l == nil {
		return ""
	}
	return l.path
}

// Close drops what is logged later: watches of a service may end after the run.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.closed = true
	return l.file.Close()
}

// Event logs an event.
func (l *Log) Event(e model.Event) {
	attrs := []slog.Attr{slog.String("type", string(e.Type))}
	for _, text := range [...]struct{ name, value string }{
		{"host", e.Host}, {"key", e.Key}, {"state", e.State}, {"stage", e.Stage}, {"reason", e.Reason}, {"next", e.Next.String()},
	} {
		if text.value != "" {
			attrs = append(attrs, slog.String(text.name, text.value))
		}
	}
	for _, number := range [...]struct {
		name  string
		value *int
	}{{"percent", e.Percent}, {"eta", e.ETA}, {"exitCode", e.ExitCode}} {
		if number.value != nil {
			attrs = append(attrs, slog.Int(number.name, *number.value))
		}
	}
	level := slog.LevelInfo
	switch e.Severity {
	case model.SeverityWarning:
		level = slog.LevelWarn
	case model.SeverityError:
		level = slog.LevelError
	}
	l.write(e.Time, level, e.Message, attrs...)
}

// Exchange logs a request and its answer.
func (l *Log) Exchange(e install.Call) {
	attrs := []slog.Attr{
		slog.String("method", e.Method), slog.String("url", e.URL), slog.Int("status", e.Status), slog.Duration("took", e.Duration),
	}
	if e.Attempt > 1 {
		attrs = append(attrs, slog.Int("attempt", e.Attempt))
	}
	if e.Error != "" {
		attrs = append(attrs, slog.String("error", e.Error))
	}
	l.write(time.Time{}, slog.LevelDebug, "request", attrs...)
}

// Printf logs a line.
func (l *Log) Printf(format string, args ...any) {
	l.write(time.Time{}, slog.LevelInfo, fmt.Sprintf(format, args...))
}

func (l *Log) write(at time.Time, level slog.Level, message string, attrs ...slog.Attr) {
	if l == nil {
		return
	}
	if at.IsZero() {
		at = l.now()
	}
	record := slog.NewRecord(at, level, message, 0)
	record.AddAttrs(attrs...)
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.closed {
		return
	}
	// A full disk must not end the install.
	if err := l.handler.Handle(l.ctx, record); err != nil && l.failed != nil {
		l.trouble.Do(func() { l.failed(err) })
	}
}

// redactor sees whole lines: slog writes one at a time, so that no secret is cut in two.
type redactor struct {
	w       io.Writer
	replace *strings.Replacer
}

func (r *redactor) Write(line []byte) (int, error) {
	text := redact.Text(r.replace.Replace(string(line)))
	if _, err := io.WriteString(r.w, text); err != nil {
		return 0, err
	}
	return len(line), nil
}

// shortest is the length from which secrets are replaced in the log: replacing every "a" would hide the log.
const shortest = 6

// pairs are the secrets and their lines, each with its stand-in; and as the text handler
// quotes them.
func pairs(secrets []spec.Secret) []string {
	var out []string
	for _, secret := range secrets {
		whole := strings.TrimSpace(secret.Reveal())
		for _, text := range slices.Concat([]string{whole}, strings.Split(whole, "\n"), credentials(whole)) {
			if text = strings.TrimSpace(text); len(text) < shortest {
				continue
			}
			quoted := fmt.Sprintf("%q", text)
			out = append(out, quoted[1:len(quoted)-1], "[redacted]", text, "[redacted]")
		}
	}
	return out
}

// credentials are what a pull secret consists of: each registry's auth and its password.
func credentials(text string) []string {
	var document struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
	}
	if json.Unmarshal([]byte(text), &document) != nil {
		return nil
	}
	var out []string
	for _, entry := range document.Auths {
		out = append(out, entry.Auth)
		if login, err := base64.StdEncoding.DecodeString(entry.Auth); err == nil {
			_, password, _ := strings.Cut(string(login), ":")
			out = append(out, password)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}
