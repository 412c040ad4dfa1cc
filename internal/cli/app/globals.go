package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The backends that --backend names.
const (
	BackendREST = "rest"
	BackendHub  = "hub"
)

// The values of --progress.
const (
	ProgressAuto  = "auto"
	ProgressTTY   = "tty"
	ProgressPlain = "plain"
	ProgressJSON  = "json"
)

// Globals are the flags that every command has.
type Globals struct {
	Connection
	Output   string
	Progress string
	Quiet    bool
	Verbose  int

	Format    printer.Format // Output, parsed
	typed     []string       // the flags of the connection that were typed, for hints
	Given     []string       // the names of the flags that were typed
	Simulated bool           // the service ends with this command
	file      string         // what was given with -f, where that can be given again
	reach     reach          // of the installed cluster
	MediaURL  string         // the service, where only the steps of media know it from their variable
}

// Connection is how a service is reached. No field holds a secret: tokens are
// read from files or from the environment, when they are needed.
type Connection struct {
	Backend          string
	ServiceURL       string
	TokenFile        string
	OfflineTokenFile string
	SSOURL           string
	ClientID         string
	ClientSecretFile string
	CAFile           string
	Insecure         bool
	Kube

	Token        string // from AI_TOKEN or OAICTL_TOKEN, never from a flag
	OfflineToken string // from AI_OFFLINETOKEN or OAICTL_OFFLINE_TOKEN
}

// Declare declares the flags; backend is the default of --backend.
func (g *Globals) Declare(flags *pflag.FlagSet, backend string) {
	flags.StringVar(&g.Backend, "backend", backend, "what to speak to: `rest|hub`")
	flags.StringVar(&g.ServiceURL, "service-url", "", "`URL` of the assisted-service, with or without /api/assisted-install")
	flags.StringVar(&g.TokenFile, "token-file", "", "`FILE` with an access token, or one of an agent-based installer")
	flags.StringVar(&g.OfflineTokenFile, "offline-token-file", "", "`FILE` with an offline token")
	flags.StringVar(&g.SSOURL, "sso-url", "", "`URL` that exchanges tokens, or only its server (default: Red Hat's)")
	flags.StringVar(&g.ClientID, "client-id", "", "`ID` of a service account")
	flags.StringVar(&g.ClientSecretFile, "client-secret-file", "", "`FILE` with the secret of the service account")
	flags.StringVar(&g.CAFile, "ca-file", "", "`FILE` with certificates (PEM) to trust besides the system's")
	flags.BoolVar(&g.Insecure, "insecure", false, "do not verify the service's certificate")
	g.Kube.declare(flags)
	flags.StringVarP(&g.Output, "output", "o", "table", "write results as `FORMAT`: table, wide, json, yaml, name or jsonpath=TEMPLATE")
	flags.StringVar(&g.Progress, "progress", ProgressAuto, "how progress is shown: `auto|tty|plain|json`")
	flags.BoolVar(&g.Quiet, "quiet", false, "show nothing but results and errors")
	flags.CountVarP(&g.Verbose, "verbose", "v", "say more; twice: every request")
}

func (g *Globals) check() error {
	format, err := printer.Parse(g.Output)
	if err != nil {
		return Usagef("%w", err)
	}
	g.Format = format
	if err := OneOf("--backend", g.Backend, BackendREST, BackendHub); err != nil {
		return err
	}
	if err := OneOf("--progress", g.Progress, ProgressAuto, ProgressTTY, ProgressPlain, ProgressJSON); err != nil {
		return err
	}
	if (g.ClientID == "") != (g.ClientSecretFile == "") {
		return Usagef("--client-id and --client-secret-file go together")
	}
	return nil
}

// OneOf refuses a value of a flag that is none of the allowed ones.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Usagef("%s %q is not one of %s", flag, value, strings.Join(allowed, ", "))
}

// Prepare completes the flags from environment and configuration, and checks them.
func (a *App) Prepare(command *cobra.Command) error {
	if err := a.applySettings(command); err != nil {
		return err
	}
	a.Globals.typed = typedConnection(command)
	a.Globals.Given = nil
	command.Flags().Visit(func(flag *pflag.Flag) { a.Globals.Given = append(a.Globals.Given, flag.Name) })
	if file := command.Flags().Lookup("file"); file != nil && file.Value.String() != "-" {
		a.Globals.file = file.Value.String()
	}
	a.Globals.reach = typedReach(command, a.Globals.file)
	a.Globals.Kube.readEnvironment(a.Env)
	return a.Globals.check()
}

// Kube is how a hub's API server is reached: as kubectl does.
type Kube struct {
	Kubeconfig    string
	Context       string
	Namespace     string
	AllNamespaces bool

	files []string // where KUBECONFIG or the home folder has the kubeconfig
}

func (k *Kube) declare(flags *pflag.FlagSet) {
	flags.StringVar(&k.Kubeconfig, "kubeconfig", "", "`FILE` by which a hub is reached (default: KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&k.Context, "context", "", "`NAME` of the context of the kubeconfig (default: its current one)")
	flags.StringVarP(&k.Namespace, "namespace", "n", "", "`NAMESPACE` on a hub (default: the one named after the cluster; for lists, all)")
	flags.BoolVarP(&k.AllNamespaces, "all-namespaces", "A", false, "all namespaces of a hub; overrides --namespace")
}

var kubeFlags = [...]string{"kubeconfig", "context", "namespace", "all-namespaces"}

// HideHubFlags leaves the flags of a hub out of the help of a program that speaks to none.
func HideHubFlags(flags *pflag.FlagSet) {
	for _, name := range append([]string{"backend"}, kubeFlags[:]...) {
		flags.Lookup(name).Hidden = true
	}
}

// restFlags leave out --ca-file and --insecure, which hold for a hub's URLs, too.
var restFlags = [...]string{"service-url", "token-file", "offline-token-file", "sso-url", "client-id", "client-secret-file"}

func (k *Kube) readEnvironment(env streams.Env) {
	k.files = nil
	for _, file := range filepath.SplitList(env["KUBECONFIG"]) {
		if file != "" {
			k.files = append(k.files, file)
		}
	}
	if home := firstSet(env, "HOME", "USERPROFILE"); len(k.files) == 0 && home != "" {
		k.files = []string{filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)}
	}
}

// Files are the kubeconfigs of KUBECONFIG, else that of the home folder.
func (k *Kube) Files() []string { return slices.Clone(k.files) }

func (k *Kube) loader() clientcmd.ClientConfig {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: k.Kubeconfig, Precedence: k.files, Warner: func(error) {}}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: k.Context})
}

// Config is the connection to the hub's API server. Nothing is sent yet.
func (k *Kube) Config() (*rest.Config, error) {
	loader := k.loader()
	config, err := loader.ClientConfig()
	if err == nil {
		config.UserAgent = "oaictl/" + ReadBuildInfo().Version
		return config, nil
	}
	fault := &model.Fault{
		Code: model.CodeUsage, Op: "read kubeconfig", On: cmp.Or(k.Kubeconfig, strings.Join(k.files, string(filepath.ListSeparator))),
		Permanent: true, Err: err,
		Next: "give --kubeconfig FILE, or set KUBECONFIG",
	}
	raw, unread := loader.RawConfig()
	contexts := slices.Sorted(maps.Keys(raw.Contexts))
	switch {
	case Is[*fs.PathError](unread):
		fault.Err = WithoutPath(unread)
	case unread != nil:
		// What a file holds may be a secret, and so may error messages about its lines.
		fault.Err = errors.New("it is not a kubeconfig")
	case len(contexts) == 0:
		fault.Op, fault.On, fault.Err = "reach the hub", "", errors.New("no kubeconfig names one")
	case k.Context != "" && !slices.Contains(contexts, k.Context):
		fault.Err = fmt.Errorf("it has no context %q; it has %s", k.Context, strings.Join(contexts, ", "))
		fault.Next = "give --context one of them"
	case k.Context == "" && raw.CurrentContext == "":
		fault.Err = fmt.Errorf("it has no current context; it has %s", strings.Join(contexts, ", "))
		fault.Next = "give --context one of them"
	}
	return nil, fault
}

// Scope is the namespace that is asked for, "" for no particular one.
func (k *Kube) Scope() string {
	if k.AllNamespaces {
		return ""
	}
	return k.Namespace
}

// Contexts are the names of the kubeconfig's contexts.
func (k *Kube) Contexts() []string {
	raw, err := k.loader().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// CheckFlags refuses typed flags of the other backend: a user who typed them means that one.
func (g *Globals) CheckFlags(backend string) error {
	foreign, other := restFlags[:], BackendREST
	if backend == BackendREST {
		foreign, other = kubeFlags[:], BackendHub
	}
	for _, flag := range foreign {
		if slices.Contains(g.Given, flag) {
			return Usagef("--%s needs --backend %s, but this command uses --backend %s", flag, other, backend)
		}
	}
	return nil
}

// NoConfig marks a command that answers even where the configuration is broken.
const NoConfig = "bare"

// consent lists the flags that permit something: only the command line gives them.
var consent = [...]string{"accept-control-plane", "accept-data-loss", "accept-loss", "accept-unknown-hosts", "adopt", "all",
	"allow-address", "backup-taken", "delete-emptydir-data", "disable-eviction", "dry-run", "file", "for", "force", "help",
	"ignore-daemonsets", "merge", "orphan", "overwrite", "reboot-running", "reimage", "remove-node", "replace", "resend-secrets",
	"return-to-pool", "simulate", "skip-wait-for-delete-timeout", "use", "with", "with-secrets", "yes"}

// applySettings fills in the flags that were not given: a variable beats the file.
func (a *App) applySettings(command *cobra.Command) error {
	a.Globals.Token = firstSet(a.Env, "OAICTL_TOKEN", "AI_TOKEN")
	a.Globals.OfflineToken = firstSet(a.Env, "OAICTL_OFFLINE_TOKEN", "AI_OFFLINETOKEN")
	file := viper.New()
	path := ""
	if command.Annotations[NoConfig] == "" {
		var named bool
		path, named = a.configPath()
		if err := readConfig(file, path, named, command.Root()); err != nil {
			return err
		}
	}
	var failed error
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if failed != nil || flag.Changed || slices.Contains(consent[:], flag.Name) {
			return
		}
		value, from := a.setting(flag.Name, file, path)
		if from == "" {
			return
		}
		// Set on the value alone: Changed goes on to mean the command line.
		if err := flag.Value.Set(value); err != nil {
			failed = Usagef("read %s: value %q for --%s: %w", from, value, flag.Name, err)
		}
	})
	return failed
}

// setting is the value of a flag that was not given; from is "" where there is none.
func (a *App) setting(flag string, file *viper.Viper, path string) (value, from string) {
	names := []string{"OAICTL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
	if flag == "service-url" {
		names = append(names, "AI_URL") // which users of aicli have set already
	}
	for _, name := range names {
		if value, ok := a.Env.Lookup(name); ok && value != "" {
			return value, "variable " + name
		}
	}
	if file.IsSet(flag) {
		return file.GetString(flag), path
	}
	return "", ""
}

func firstSet(env map[string]string, names ...string) string {
	for _, name := range names {
		if value := strings.TrimSpace(env[name]); value != "" {
			return value
		}
	}
	return ""
}

// configPath is "" where there is no home; named says that the file has to be there.
func (a *App) configPath() (path string, named bool) {
	if path := a.Env["OAICTL_CONFIG"]; path != "" {
		return path, true
	}
	base := a.Env["XDG_CONFIG_HOME"]
	if base == "" {
		home := firstSet(a.Env, "HOME", "USERPROFILE")
		if home == "" {
			return "", false
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "oaictl", "config.yaml"), false
}

// readConfig refuses unknown keys: a setting silently not applied is worse than an error.
func readConfig(file *viper.Viper, path string, named bool, root *cobra.Command) error {
	if path == "" {
		return nil
	}
	switch _, err := os.Stat(path); {
	case named && err != nil:
		return Usagef("read the configuration that OAICTL_CONFIG names: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	file.SetConfigFile(path)
	file.SetConfigType("yaml")
	if err := file.ReadInConfig(); err != nil {
		return Usagef("read %s: %w", path, err)
	}
	known := flagNames(root)
	for _, key := range file.AllKeys() {
		if slices.Contains(known, key) && !slices.Contains(consent[:], key) {
			continue
		}
		hint := ""
		if near := closest(key, known); near != "" && near != key {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return Usagef("read %s: %q cannot be set there%s", path, key, hint)
	}
	return nil
}

func flagNames(root *cobra.Command) []string {
	var names []string
	add := func(flag *pflag.Flag) { names = append(names, flag.Name) }
	root.PersistentFlags().VisitAll(add)
	for _, command := range root.Commands() {
		command.LocalFlags().VisitAll(add)
		names = append(names, flagNames(command)...)
	}
	return names
}
