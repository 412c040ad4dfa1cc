package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// CanAsk reports whether there is a user at a terminal who can be asked.
func (a *App) CanAsk() bool { return a.IO.InTTY && a.IO.ErrTTY }

// Ask asks a question that only yes answers.
func (a *App) Ask(question string) (yes bool, err error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	return a.answer(<-a.ask(question))
}

// AskWithin is Ask, until ctx ends: then the answer is no longer needed.
func (a *App) AskWithin(ctx context.Context, question string) (yes bool, err error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	select {
	case line := <-a.ask(question):
		return a.answer(line)
	case <-ctx.Done():
		fmt.Fprintln(a.IO.Err)
		return false, context.Cause(ctx)
	}
}

// AskText asks for a word or more. An empty answer means usual.
func (a *App) AskText(ctx context.Context, question, usual string) (string, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	if usual != "" {
		question += " [" + usual + "]"
	}
	select {
	case line := <-a.prompt(question + ": "):
		a.typing = nil
		if line.err != nil && line.text == "" {
			fmt.Fprintln(a.IO.Err)
			return "", fmt.Errorf("read the answer: %w", line.err)
		}
		return cmp.Or(strings.TrimSpace(line.text), usual), nil
	case <-ctx.Done():
		fmt.Fprintln(a.IO.Err)
		return "", context.Cause(ctx)
	}
}

// typed is a line that the user typed.
type typed struct {
	text string
	err  error
}

// ask puts a question that yes or no answers.
func (a *App) ask(question string) <-chan typed { return a.prompt(question + " [y/N] ") }

// prompt writes a question, and gives the next line that is typed. A line that was typed for an
// earlier question, which was withdrawn, answers none.
func (a *App) prompt(question string) <-chan typed {
	select {
	case <-a.typing:
		a.typing = nil
	default:
	}
	escape.Fprintf(a.IO.Err, "%s", question)
	if a.typing == nil { // else that line is still awaited
		line := make(chan typed, 1)
		go func() {
			text, err := a.input().ReadString('\n')
			line <- typed{text, err}
		}()
		a.typing = line
	}
	return a.typing
}

// input is what a person types, with what of it was read ahead.
func (a *App) input() *bufio.Reader {
	if a.reader == nil {
		a.reader = bufio.NewReader(a.IO.In)
	}
	return a.reader
}

// answer is what a line says.
func (a *App) answer(line typed) (yes bool, err error) {
	a.typing = nil
	if line.err != nil {
		fmt.Fprintln(a.IO.Err)
	}
	if line.err != nil && !errors.Is(line.err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", line.err)
	}
	switch strings.ToLower(strings.TrimSpace(line.text)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// Confirm asks whether something is to be done that cannot be undone, unless --yes says so. Where there is no terminal
// to ask at, it is an error.
func (a *App) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !a.CanAsk() {
		return &model.Fault{
			Code: model.CodeUsage, Permanent: true, Err: fmt.Errorf("%s needs --yes, because there is no terminal for the question",
				strings.TrimSuffix(question, "?")),
			Next: model.Advicef("%s", a.CommandLine()+" --yes"),
		}
	}
	yes, err := a.Ask(question)
	if err != nil || yes {
		return err
	}
	return &model.Fault{Code: model.CodeFailure, Err: errors.New("not confirmed; nothing was done")}
}
