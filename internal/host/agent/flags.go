//go:build linux

package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-openapi/strfmt"
)

// agentName is the program that registers the host.
const agentName = "agent"

// Options are what the flags and the environment of agent and of next_step_runner say.
type Options struct {
	URL        string
	InfraEnv   strfmt.UUID
	HostID     strfmt.UUID // only next_step_runner needs it
	Version    string      // the agent's own image
	Interval   time.Duration
	CACertFile string
	Insecure   bool
	Token      string // a secret
	Dry        Dry
	Logging    Logging
}

// Dry describes a machine that only pretends to install itself.
type Dry struct {
	Enabled bool
	HostID  strfmt.UUID
	// MAC, Hostname and IPv4 replace those of the inventory, unless they are empty.
	MAC, Hostname, IPv4 string
	// RebootMarker is a file that a dry installer makes instead of a reboot. The agent ends when it is there.
	RebootMarker string
}

// Logging says where the log goes.
type Logging struct{ Journal, Text, Stdout bool }

// Usage is the error of wrong arguments. The usage text has been printed.
type Usage struct{ Err error }

func (u *Usage) Error() string { return u.Err.Error() }
func (u *Usage) Unwrap() error { return u.Err }

// ExitCode is how a program ends after an error of ParseFlags or of Run: 0 for -help and when it was asked to end, 2 for wrong
// arguments, else 1.
func ExitCode(err error) int {
	const usage = 2
	switch _, wrong := errors.AsType[*Usage](err); {
	case err == nil, errors.Is(err, flag.ErrHelp), errors.Is(err, context.Canceled):
		return 0
	case wrong:
		return usage
	}
	return 1
}

// ParseFlags reads the arguments of the program with this name, agent or next_step_runner, as the original programs do.
// env reads a variable. What is wrong with them is printed to errors, with a usage text. The error is flag.ErrHelp for
// -help, and a *Usage for wrong arguments.
func ParseFlags(name string, args []string, env func(string) string, printed io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(printed)
	if err := dryFlags(flags, &o.Dry, env); err != nil {
		return o, wrong(flags, err)
	}
	flags.BoolVar(&o.Logging.Journal, "with-journal-logging", true, "write the log to the journal")
	flags.BoolVar(&o.Logging.Text, "with-text-logging", false, "write the log to a file below /var/log")
	flags.BoolVar(&o.Logging.Stdout, "with-stdout-logging", false, "write the log to standard output")
	flags.StringVar(&o.URL, "url", "", "the `URL` of the assisted-service")
	infraEnv := flags.String("infra-env-id", "", "the `UUID` of the InfraEnv to register with")
	host := flags.String("host-id", "", "the `UUID` of this host; agent itself finds it out")
	flags.StringVar(&o.Version, "agent-version", "", "the `image` of this agent")
	interval := flags.Int("interval", 60, "the `seconds` between two attempts to register")
	flags.StringVar(&o.CACertFile, "cacert", "", "a `file` with CA certificates of the assisted-service, in PEM")
	flags.BoolVar(&o.Insecure, "insecure", false, "do not verify the certificate of the assisted-service")
	help := flags.Bool("help", false, "print this text")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, &Usage{err}
	}
	if *help {
		flags.Usage()
		return o, flag.ErrHelp
	}
	o.InfraEnv, o.HostID, o.Token = strfmt.UUID(*infraEnv), strfmt.UUID(*host), env("PULL_SECRET_TOKEN")
	o.Interval = time.Duration(*interval) * time.Second
	if err := o.check(flags.Args()); err != nil {
		return o, wrong(flags, err)
	}
	if name == agentName {
		o.HostID = "" // as in the original agent: it finds out the id of the host by itself
	}
	return o, nil
}

func wrong(flags *flag.FlagSet, err error) error {
	fmt.Fprintln(flags.Output(), err)
	flags.Usage()
	return &Usage{err}
}

func (o *Options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q: there are only flags", rest[0])
	case o.URL == "":
		return errors.New("--url is missing")
	case o.InfraEnv == "":
		return errors.New("--infra-env-id is missing")
	case !strfmt.IsUUID(o.InfraEnv.String()):
		return fmt.Errorf("--infra-env-id is %q, and must be a UUID", o.InfraEnv)
	case o.HostID != "" && !strfmt.IsUUID(o.HostID.String()):
		return fmt.Errorf("--host-id is %q, and must be a UUID", o.HostID)
	case o.Interval <= 0:
		return errors.New("--interval must be at least 1")
	case o.Dry.Enabled && !strfmt.IsUUID(o.Dry.HostID.String()):
		return fmt.Errorf("--force-id is %q, and must be a UUID with --dry-run", o.Dry.HostID)
	}
	return nil
}

func dryFlags(flags *flag.FlagSet, dry *Dry, env func(string) string) error {
	enabled := false
	if text := env("DRY_ENABLE"); text != "" {
		var err error
		if enabled, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("DRY_ENABLE is %q, and must be true or false", text)
		}
	}
	flags.BoolVar(&dry.Enabled, "dry-run", enabled, "pretend only; the default is the variable DRY_ENABLE")
	flags.StringVar((*string)(&dry.HostID), "force-id", env("DRY_HOST_ID"), "the `UUID` of a host that pretends; DRY_HOST_ID")
	flags.StringVar(&dry.MAC, "force-mac", env("DRY_FORCED_MAC_ADDRESS"), "the `MAC` address of its first interface; DRY_FORCED_MAC_ADDRESS")
	flags.StringVar(&dry.Hostname, "force-hostname", env("DRY_FORCED_HOSTNAME"), "its `name`; DRY_FORCED_HOSTNAME")
	flags.StringVar(&dry.IPv4, "forced-ipv4", env("DRY_FORCED_HOST_IPV4"), "the `address` of its interface; DRY_FORCED_HOST_IPV4")
	flags.StringVar(&dry.RebootMarker, "fake-reboot-marker-path", env("DRY_FAKE_REBOOT_MARKER_PATH"),
		"a `file` whose existence is a reboot; DRY_FAKE_REBOOT_MARKER_PATH")
	return nil
}
