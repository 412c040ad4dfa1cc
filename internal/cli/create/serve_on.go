package create

import (
	"net/url"
	"strings"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install"
)

// warnReading names the hosts that lose their images with this run, and what
// keeps them alive.
func (o *runOptions) warnReading(result install.Result, desired *install.Desired, machines *bootedMachines, failed error) {
	if machines == nil || failed == nil || o.Globals.Simulated || o.Detach {
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
	o.Warn("%s from this command, which ends: %s. Serve them on, with:\n  %s", which, strings.Join(names, ", "), o.serveLine(machines))
}

// serveLine is the command that serves the images of a run at the addresses that
// the BMCs were told.
func (o *runOptions) serveLine(machines *bootedMachines) string {
	words := []string{"iso", "serve", "-f", o.File}
	if o.Dir != "." {
		words = append(words, "--dir", o.Dir)
	}
	if base := machines.BasePath(); base != "" {
		words = append(words, "--base", base)
	}
	words = append(words, "--listen", o.listenFor(machines), "--url", machines.URL())
	if o.Detach && strings.HasPrefix(machines.URL(), "https:") {
		words = append(words, "--tls-cert", "tls.crt", "--tls-key", "tls.key")
	}
	for i, word := range words {
		words[i] = names.Quoted(word)
	}
	return o.Hint(advice.Command(words...))
}

// listenFor is the address at which iso serve listens for what the BMCs were told: this
// run's own, or the port that --media-url names.
func (o *runOptions) listenFor(machines *bootedMachines) string {
	if !o.Detach {
		return o.boot.MediaListen
	}
	told, err := url.Parse(machines.URL())
	if err != nil {
		return base.MediaListen
	}
	port := told.Port()
	switch {
	case port != "":
	case told.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return ":" + port
}

// nextDetached is what a run that leaves says to type next. While machines boot from
// their images, that is what serves them, and the same command once more beside it.
func (o *runOptions) nextDetached(result install.Result, desired *install.Desired, machines *bootedMachines) string {
	switch {
	case machines == nil:
		return o.CommandLineWithout("--detach")
	case !machines.Needed(result.Observed): // without --detach it would serve, too
		return o.CommandLine()
	}
	return o.serveLine(machines) + "\n  It serves the machines' images until they have rebooted from their disks. While it runs, give this command again:\n  " + o.CommandLine()
}
