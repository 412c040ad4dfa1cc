//go:build linux

package logs

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/go-openapi/strfmt"
)

// Options are what the flags and the environment of logs_sender say.
type Options struct {
	URL        string
	Cluster    strfmt.UUID
	InfraEnv   strfmt.UUID
	Host       strfmt.UUID
	CACertFile string
	Insecure   bool
	Token      string // a secret
	// Since is from when on the journal is read, as journalctl takes it. "" means from its beginning.
	Since string
	// Bootstrap gathers what the bootstrap has, and with Everything what the masters have.
	Bootstrap bool
	// Everything gathers the whole journal, the kernel's messages and core dumps, too.
	Everything bool
	// Masters are the addresses of the other control plane nodes.
	Masters []string
	// Keep leaves the gathered files on the machine.
	Keep bool
	// Journal and Text say where the log sender writes its own log.
	Journal, Text bool
}

// Usage is the error of wrong arguments. The usage text has been printed.
type Usage struct{ Err error }

func (u *Usage) Error() string { return u.Err.Error() }
func (u *Usage) Unwrap() error { return u.Err }

// ParseFlags reads the arguments of logs_sender, as the original does. env reads a variable. What is wrong with them is
// printed, with a usage text. The error is flag.ErrHelp for -help, and a *Usage for wrong arguments.
func ParseFlags(args []string, env func(string) string, printed io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("logs_sender", flag.ContinueOnError)
	flags.SetOutput(printed)
	flags.BoolVar(&o.Journal, "with-journal-logging", true, "write the log to the journal")
	flags.BoolVar(&o.Text, "with-text-logging", true, "write the log to a file below /var/log")
	flags.StringVar(&o.Since, "since", "", "a `time` from which on the journal is read, as journalctl takes it")
	flags.StringVar(&o.URL, "url", "", "the `URL` of the assisted-service; required")
	cluster := flags.String("cluster-id", "", "the `UUID` of the cluster; required")
	infraEnv := flags.String("infra-env-id", "", "the `UUID` of the InfraEnv")
	host := flags.String("host-id", "", "the `UUID` of the host; required")
	flags.StringVar(&o.Token, "pull-secret-token", "",
		"the `token` of this machine; better the variable PULL_SECRET_TOKEN, which ps does not show")
	flags.BoolVar(&o.Keep, "dont-clean", false, "leave the gathered files on the machine")
	flags.BoolVar(&o.Bootstrap, "bootstrap", false, "gather what the bootstrap has")
	flags.BoolVar(&o.Everything, "with-installer-gather-logging", false,
		"gather the whole journal, core dumps, and for a bootstrap the masters' logs")
	flags.StringVar(&o.CACertFile, "cacert", "", "a `file` with CA certificates of the assisted-service, in PEM")
	flags.BoolVar(&o.Insecure, "insecure", false, "do not verify the certificate of the assisted-service")
	masters := flags.String("masters-ips", "", "the `addresses` of the masters, with commas between them")
	for _, name := range []string{"force-id", "force-mac", "force-hostname", "forced-ipv4", "fake-reboot-marker-path"} {
		_ = flags.String(name, "", "for dry runs; has no effect here")
	}
	_ = flags.Bool("dry-run", false, "has no effect here")
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
	o.Cluster, o.InfraEnv, o.Host = strfmt.UUID(*cluster), strfmt.UUID(*infraEnv), strfmt.UUID(*host)
	if o.Token == "" {
		o.Token = env("PULL_SECRET_TOKEN")
	}
	if *masters != "" {
		o.Masters = strings.Split(*masters, ",")
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintln(printed, err)
		flags.Usage()
		return o, &Usage{err}
	}
	return o, nil
}

func (o *Options) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q: there are only flags", rest[0])
	}
	if o.URL == "" {
		return errors.New("--url is missing")
	}
	// The InfraEnv is left out by old installers: it is the cluster then.
	if o.InfraEnv == "" {
		o.InfraEnv = o.Cluster
	}
	for _, id := range []struct {
		flag  string
		value strfmt.UUID
	}{{"cluster-id", o.Cluster}, {"host-id", o.Host}, {"infra-env-id", o.InfraEnv}} {
		if !strfmt.IsUUID(id.value.String()) {
			return fmt.Errorf("--%s is %q, and must be a UUID", id.flag, id.value)
		}
	}
	for _, address := range o.Masters {
		// A zone may have any characters, and a script gets the addresses.
		if ip, err := netip.ParseAddr(address); err != nil || ip.Zone() != "" {
			return fmt.Errorf("--masters-ips has %q, which is no IP address", address)
		}
	}
	return nil
}
