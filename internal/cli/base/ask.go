package base

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// CanAsk reports whether somebody is there to be asked.
func (a *App) CanAsk() bool { return a.IO.InTTY && a.IO.ErrTTY }

// Ask asks a question that only yes answers.
func (a *App) Ask(question string) (yes bool, err error) {
	escape.Fprintf(a.IO.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.IO.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.IO.Err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// Confirm asks whether something is to be done that cannot be undone, unless --yes says so. Where
// nobody can be asked it is an error.
func (a *App) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !a.CanAsk() {
		return &install.Fault{
			Code: install.CodeUsage, Permanent: true, Err: fmt.Errorf("%s needs --yes where nobody can be asked", strings.TrimSuffix(question, "?")),
			Next: advice.Literal(a.CommandLine() + " --yes"),
		}
	}
	yes, err := a.Ask(question)
	if err != nil || yes {
		return err
	}
	return &install.Fault{Code: install.CodeFailure, Err: errors.New("not confirmed; nothing was done")}
}
