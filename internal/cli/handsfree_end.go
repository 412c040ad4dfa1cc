package cli

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
)

// tellReading names the hosts that lose their images with this run, and what
// keeps them alive.
func (o *runOptions) tellReading(result install.Result, desired *install.Desired, boot *handsFree, failed error) {
	if boot == nil || failed == nil || o.globals.vanishes || o.Detach {
		return
	}
	names := stillReading(desired, result)
	if len(names) == 0 {
		return
	}
	which := "These machines still read"
	if len(names) == 1 {
		which = "This machine still reads"
	}
	o.warn("%s from this command, which ends: %s. Serve them on, with:\n  %s", which, strings.Join(names, ", "), o.serveLine(boot))
}

// serveLine is the command that serves the images of a run at the addresses that
// the BMCs were told.
func (o *runOptions) serveLine(boot *handsFree) string {
	words := []string{"iso", "serve", "-f", o.File}
	if o.Dir != "." {
		words = append(words, "--dir", o.Dir)
	}
	if base := boot.basePath(o.boot.Base); base != "" {
		words = append(words, "--base", base)
	}
	words = append(words, "--listen", o.boot.MediaListen, "--url", boot.url)
	line := o.identity.name
	for _, word := range words {
		line += " " + quoted(word)
	}
	return o.hint(line)
}

// basePath is the base as a file of this machine, where it is one by now.
func (h *handsFree) basePath(given string) string {
	for _, base := range h.bases {
		if path := base.path(); path != "" && given == "" {
			return path
		}
	}
	return given
}
