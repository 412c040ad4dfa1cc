package base

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// UsageError is a command line that cannot be understood. It ends with exit
// code 2 and a hint at the usage of the command.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

// Usagef is a UsageError with a text.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// Is says whether an error is of a type, or has one of it in it.
func Is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// WithoutPath is an error of a file without its name, which is told beside it.
func WithoutPath(err error) error {
	if cause, is := errors.AsType[*fs.PathError](err); is {
		return cause.Err
	}
	return err
}

// CodeOf is the exit code of an error.
func CodeOf(err error) install.Code {
	switch {
	case err == nil:
		return 0
	case Is[*UsageError](err):
		return install.CodeUsage
	}
	return install.CodeOf(err)
}

// PlainError is the text of an error without the last full stop and the empty
// lines that other people's errors end with.
func PlainError(err error) string {
	if problems, is := errors.AsType[*spec.Problems](err); is && len(problems.List) > 1 {
		return fmt.Sprintf("%d problems:\n%s", len(problems.List), problems.Error())
	}
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return "failed without saying why"
	}
	return text
}

// FileFault is a file of the user's that cannot be read or written.
func FileFault(op, path string, err error) error {
	return &install.Fault{Code: install.CodeFailure, Op: op, On: path, Err: WithoutPath(err)}
}

// ErrNotConfirmed is the answer no.
var ErrNotConfirmed = errors.New("not confirmed; nothing was done")

// NotFound is a fault about a thing that is not there.
func NotFound(op, on, why string, next install.Advice) error {
	return &install.Fault{Code: install.CodeNotFound, Op: op, On: on, Permanent: true, Err: errors.New(why), Next: next}
}
