package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// usageError is a command line that cannot be understood. It ends with exit
// code 2 and a hint at the usage of the command.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// codeOf is the exit code of an error: the only place where one is chosen.
func codeOf(err error) install.Code {
	var usage *usageError
	var problems *spec.Problems
	var fault *install.Fault
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return install.CodeUsage
	case errors.As(err, &fault):
		return install.CodeOf(err)
	case errors.As(err, &problems):
		return install.CodeInput
	default:
		return install.CodeFailure
	}
}

// plainError is the text of an error without the last full stop and the empty
// lines that other people's errors end with.
func plainError(err error) string {
	var problems *spec.Problems
	if errors.As(err, &problems) && len(problems.List) > 1 {
		return fmt.Sprintf("%d problems:\n%s", len(problems.List), problems.Error())
	}
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return "failed without saying why"
	}
	return text
}

// fileFault is a file of the user's that cannot be read or written.
func fileFault(op, path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &install.Fault{Code: install.CodeFailure, Op: op, On: path, Err: err}
}

// errNotConfirmed is the answer no.
var errNotConfirmed = errors.New("not confirmed; nothing was done")

// errOwnManifests is that a hub shows only what users have added.
var errOwnManifests = errors.New("a hub does not show them")

// notFound is a fault about a thing that is not there.
func notFound(op, on, why, next string) error {
	return &install.Fault{Code: install.CodeNotFound, Op: op, On: on, Permanent: true, Err: errors.New(why), Next: next}
}
