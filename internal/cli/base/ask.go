package base

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oaictl/oaictl/internal/escape"
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
