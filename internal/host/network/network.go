//go:build linux

// Package network carries out the steps of the assisted-service that check the network of a machine: which other machines
// it reaches, which addresses are free, and whether names, clocks, images and servers are there. Answers have the form
// that the service knows from its own agent.
//
// The arguments of steps come from the service and are checked: what a step may not do is an error, and what it does not
// know is logged and ignored.
package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Executor carries out a step. Its exit code is 0 if it could be carried out. stdout is JSON, or empty.
type Executor interface {
	Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string)
}

// The exit codes of the service's own agent.
const (
	done = 0
	// failed is that of a step inside the agent, failedProgram that of a step in a program of its own.
	failed        = -1
	failedProgram = 255
	// unavailable says that an image cannot be pulled.
	unavailable = 2
)

// largestArgument is in bytes. Thousands of machines fit in.
const largestArgument = 8 << 20

// decode reads the argument of a step. Fields that this program does not know are logged.
func decode(log *slog.Logger, step string, args []string, into any) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one argument, and the service sent %d", step, len(args))
	}
	if len(args[0]) > largestArgument {
		return fmt.Errorf("the argument of %s has %d bytes, and %d are the most", step, len(args[0]), largestArgument)
	}
	strict := json.NewDecoder(strings.NewReader(args[0]))
	strict.DisallowUnknownFields()
	unknown := strict.Decode(into)
	if err := json.Unmarshal([]byte(args[0]), into); err != nil {
		return fmt.Errorf("cannot read the argument of %s: %w", step, err)
	}
	if unknown != nil {
		log.Warn("the service sent what this version does not know", "step", step, "error", escape.Word(unknown.Error()))
	}
	return nil
}

// answer is the end of a step that could be carried out.
func answer(content any) (exitCode int, stdout, stderr string) {
	text, err := json.Marshal(content)
	if err != nil {
		return refuse(failed, fmt.Errorf("write the answer: %w", err))
	}
	return done, string(text), ""
}

// refuse is the end of a step that could not.
func refuse(code int, err error) (exitCode int, stdout, stderr string) {
	return code, "", escape.Lines(err.Error())
}

var errMissing = errors.New("the service sent no value for it")
