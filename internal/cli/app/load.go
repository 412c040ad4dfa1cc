package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// lossRule says what becomes of values that cluster.yaml has no place for.
type lossRule int

const (
	lossRefused  lossRule = iota // what is installed would not be what the file says
	lossAccepted                 // the user has seen it
	lossReported                 // nothing is installed by the file
)

// Foreign is what flags say of a file in another format than cluster.yaml.
type Foreign struct {
	AcceptLoss         bool
	AcceptUnknownHosts bool
	Version            string
	Name               string
	PullSecret         string
}

// Declare declares the flags of commands that make something of the file.
func (f *Foreign) Declare(flags *pflag.FlagSet) {
	flags.BoolVar(&f.AcceptLoss, "accept-loss", false, "take a file in another format although it says what cluster.yaml has no place for")
	f.DeclareMissing(flags)
}

// DeclareMissing declares what some formats do not say.
func (f *Foreign) DeclareMissing(flags *pflag.FlagSet) {
	flags.StringVar(&f.Version, "openshift-version", "", "`VERSION` of OpenShift, for a file in another format that does not say it")
	flags.StringVar(&f.PullSecret, "pull-secret", "", "`FILE` with the pull secret, for a file in another format that has none")
	flags.StringVar(&f.Name, "name", "", "`NAME` of the cluster, for a file in another format that has none")
	flags.BoolVar(&f.AcceptUnknownHosts, "accept-unknown-hosts", false,
		"permit to install, and so to wipe, machines that a file in another format does not name")
}

// Options are what the flags say, for the reader.
func (f *Foreign) Options() convert.Options {
	return convert.Options{Version: f.Version, Name: f.Name, PullSecret: f.PullSecret, AcceptUnknownHosts: f.AcceptUnknownHosts}
}

// LoadToInstall reads a cluster to make something of it: nothing is lost unasked.
func (a *App) LoadToInstall(ctx context.Context, file string, how Foreign) (*spec.Cluster, error) {
	cluster, err := a.loadBy(ctx, file, how.rule(), how.Options(), false)
	if err == nil {
		err = a.checkNetworks(cluster)
	}
	return cluster, err
}

// checkNetworks refuses static networks that are wrong, or that an image cannot have that
// oaictl makes, and warns of what is ignored.
func (a *App) checkNetworks(c *spec.Cluster) error {
	notes, err := boot.CheckNetworks(c)
	for _, note := range notes {
		a.Warn("%s", note)
	}
	return err
}

// LoadAny is LoadToInstall for what takes a file of kind Nodes as well. Which cluster that
// adds to is known once the service was asked: spec.Cluster.AddedTo.
func (a *App) LoadAny(ctx context.Context, file string, how Foreign) (*spec.Cluster, error) {
	cluster, err := a.loadBy(ctx, file, how.rule(), how.Options(), true)
	if err == nil {
		err = a.checkNetworks(cluster)
	}
	if err == nil && cluster.Existing() != "" {
		a.Globals.reach.cluster = cluster.Existing() // what looks for a cluster takes no such file
	}
	return cluster, err
}

// ResolveNodes checks nodes that were put together from flags, which words name by their fields.
func (a *App) ResolveNodes(ctx context.Context, n *spec.Nodes, words map[string]string) (*spec.Cluster, error) {
	return n.Resolve(ctx, ".", a.specEnv(), words)
}

// CheckText checks the text of a cluster.yaml that is to become the file of that name.
func (a *App) CheckText(ctx context.Context, name string, text []byte) error {
	_, err := spec.Parse(ctx, name, text, a.specEnv())
	return err
}

func (f *Foreign) rule() lossRule {
	if f.AcceptLoss {
		return lossAccepted
	}
	return lossRefused
}

// Load reads the cluster that a file describes, to look at it or to find it.
func (a *App) Load(ctx context.Context, file string) (*spec.Cluster, error) {
	return a.look(ctx, file, false)
}

// LoadMachines is Load for what takes a file of kind Nodes as well.
func (a *App) LoadMachines(ctx context.Context, file string) (*spec.Cluster, error) {
	return a.look(ctx, file, true)
}

func (a *App) look(ctx context.Context, file string, nodes bool) (*spec.Cluster, error) {
	// Which machines may be wiped is decided where something is installed.
	cluster, err := a.loadBy(ctx, file, lossReported, convert.Options{AcceptUnknownHosts: true, Find: true}, nodes)
	if failed, is := errors.AsType[*Unconvertible](err); is {
		return nil, &model.Fault{
			Code: model.CodeInput, Permanent: true, Err: failed.Err,
			Next: model.Command("convert -f", listtext.Quoted(file), "-o DIR") + ", beside what is missing, and give -f DIR/cluster.yaml",
		}
	}
	return cluster, err
}

func (a *App) loadBy(ctx context.Context, file string, rule lossRule, how convert.Options, nodes bool) (*spec.Cluster, error) {
	source, err := a.open(ctx, file, how, nodes)
	if err != nil {
		return nil, err
	}
	if source.Converted == nil {
		return source.Cluster, nil
	}
	losses := source.Converted.Losses
	switch {
	case len(losses) == 0:
	case rule == lossRefused:
		return nil, &model.Fault{
			Code: model.CodeInput, Op: "take", On: file, Permanent: true, Err: lossError{losses},
			Next: model.Command("convert -f", listtext.Quoted(file)) + " and handle what it reports, or give --accept-loss",
		}
	case rule == lossAccepted:
		a.Say("%s of %s left out, as --accept-loss permits: %s", listtext.CountText(len(losses), "value"), file,
			strings.Join(output.Each(losses, func(l convert.Loss) string { return l.Path }), ", "))
	case !slices.Contains(a.reportedLosses, file): // which is read again with each look
		a.reportedLosses = append(a.reportedLosses, file)
		a.Say("%s of %s without a place in cluster.yaml: oaictl convert -f %s", listtext.CountText(len(losses), "value"), file,
			listtext.Quoted(file))
	}
	return source.Cluster, nil
}

type lossError struct{ losses []convert.Loss }

// MultiLine says that its lines are meant.
func (e lossError) MultiLine() {}

func (e lossError) Error() string {
	return listtext.CountText(len(e.losses), "value") + " would be left behind:\n" + strings.TrimSuffix(LossText(e.losses), "\n")
}

// LossText is losses for a person to read.
func LossText(losses []convert.Loss) string {
	var text strings.Builder
	for _, loss := range losses {
		value := ""
		if encoded, err := json.Marshal(loss.Value); err == nil && loss.Value != nil {
			value = " = " + Shortened(string(encoded), false)
		}
		escape.Fprintf(&text, "  %s%s\n    %s\n", loss.Path, value, loss.Why)
	}
	return text.String()
}

// Source is what a file says.
type Source struct {
	Cluster   *spec.Cluster
	Converted *convert.Converted // nil for a cluster.yaml
}

// Open reads any known format. What none claims is read as a cluster.yaml, which explains.
func (a *App) Open(ctx context.Context, file string, how convert.Options) (*Source, error) {
	return a.open(ctx, file, how, true)
}

// open does not hold up an interrupt: a pipe may have no writer, and a large file takes seconds.
func (a *App) open(ctx context.Context, file string, how convert.Options, nodes bool) (*Source, error) {
	return Interruptible(ctx, func() (*Source, error) { return a.read(ctx, file, how, nodes) })
}

func (a *App) read(ctx context.Context, file string, how convert.Options, nodes bool) (*Source, error) {
	env := a.specEnv()
	env.Nodes = nodes
	how.Env = env
	if file == "-" && env.Stdin != nil {
		data, err := io.ReadAll(io.LimitReader(env.Stdin, largestInput))
		if err != nil {
			return nil, FileFault("read", file, err)
		}
		how.Data, env.Stdin = data, bytes.NewReader(data)
	} else if data, piped := a.piped(file, env); piped {
		read := env.ReadFile
		how.Data, env.ReadFile = data, func(path string) ([]byte, error) {
			if path == file {
				return data, nil
			}
			return read(path)
		}
	}
	if how.Format == "" {
		format, err := convert.Detect(file, how.Data)
		_, none := env.ReadDir(file)
		switch foreign, is := errors.AsType[*convert.Foreign](err); {
		case is:
			return nil, foreign.Err
		case none != nil:
		case err != nil:
			return nil, err // no folder is a cluster.yaml
		case format == convert.FormatCluster: // as convert writes it
			return nil, &model.Fault{
				Code: model.CodeInput, Op: "read", On: file, Permanent: true, Err: errors.New("is a folder with a cluster.yaml in it"),
				Next: model.Advicef("give -f %s", listtext.Quoted(filepath.Join(file, "cluster.yaml"))),
			}
		}
		if err != nil || format == convert.FormatCluster {
			cluster, err := spec.Load(ctx, file, env)
			return &Source{Cluster: cluster}, err
		}
	}
	converted, err := convert.Read(ctx, file, how)
	if errors.Is(err, convert.ErrIsCluster) {
		cluster, err := spec.Load(ctx, file, env)
		return &Source{Cluster: cluster}, err
	}
	if err != nil {
		return nil, &Unconvertible{err}
	}
	if how.Find && converted.Format != convert.FormatNodes {
		return &Source{Cluster: converted.Cluster, Converted: converted}, nil
	}
	name := strings.TrimRight(file, `/\`)
	if name == "-" { // which would be read again
		name = "- (converted)"
	}
	env = converted.Env(name, env)
	beside := env.ReadFile
	env.ReadFile = func(path string) ([]byte, error) {
		if path == name {
			return converted.Document, nil
		}
		return beside(path)
	}
	cluster, err := spec.Load(ctx, name, env)
	if err != nil {
		return nil, err
	}
	cluster.SetOrigins(converted.Origins)
	return &Source{Cluster: cluster, Converted: converted}, nil
}

// piped is the content of a file that can be read only once, such as a pipe of the shell's
// <(COMMAND): it is kept for each next look.
func (a *App) piped(file string, env spec.Env) ([]byte, bool) {
	info, err := os.Stat(file)
	if err != nil || info.IsDir() || info.Mode().IsRegular() {
		return nil, false
	}
	data, known := a.pipes[file]
	if !known {
		if data, err = env.ReadFile(file); err != nil {
			return nil, false // the next function that reads it reports that
		}
		if a.pipes == nil {
			a.pipes = map[string][]byte{}
		}
		a.pipes[file] = data
	}
	return data, true
}

// Unconvertible is that a file in another format is no whole cluster by itself.
type Unconvertible struct{ Err error }

func (e *Unconvertible) Error() string { return e.Err.Error() }
func (e *Unconvertible) Unwrap() error { return e.Err }

// largestInput bounds standard input, in bytes: more than any format's reader takes.
const largestInput = 256 << 20

// CheckBackend refuses what the backend cannot do, before anything is asked of it.
func (a *App) CheckBackend(c *spec.Cluster) error {
	if a.Globals.Backend == BackendHub {
		if c.Metadata.Name == "" { // of kind Nodes: any name does, until the cluster is found
			named, err := c.AddedTo(spec.Target{Name: "cluster"})
			if err != nil {
				return err
			}
			c = named
		}
		_, err := render.Hub(c, render.Options{Namespace: a.Globals.Kube.Scope(), Later: true})
		return err
	}
	return checkREST(c)
}

func checkREST(c *spec.Cluster) error {
	problems := &spec.Problems{}
	report := func(field, message, remedy string) {
		problems.List = append(problems.List, c.Problem(field, message, remedy))
	}
	if o := c.Spec.OpenShift; o.ImageSet != "" && o.Version == "" {
		report("spec.openshift.imageSet", "names an object of a hub, which a REST service does not know",
			`also write the version: version: "4.20"; or give --backend hub`)
	}
	if c.Spec.PullSecret.SecretRef != nil {
		report("spec.pullSecret.secretRef", "names a Secret on a hub, which a REST service does not know",
			"give a file, a variable or a program that provides it; or give --backend hub")
	}
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		for field, said := range map[string]bool{
			"discovery.pullSecret.secretRef": h.Discovery != nil && h.Discovery.PullSecret.SecretRef != nil,
			"fencing.credentials.secretRef":  h.Fencing != nil && h.Fencing.Credentials.SecretRef != nil,
			"bmc.credentials.secretRef":      h.BMC != nil && h.BMC.Credentials.SecretRef != nil && c.Spec.Boot.Method == spec.BootRedfish,
			"ignitionEndpoint.token.secretRef": h.IgnitionEndpoint != nil && h.IgnitionEndpoint.Token != nil &&
				h.IgnitionEndpoint.Token.SecretRef != nil,
		} {
			if said {
				report(c.HostField(h, field), "names a Secret on a hub, which a REST service does not know",
					"give a file, a variable or a program that provides it; or give --backend hub")
			}
		}
	}
	if c.Spec.Boot.Method == spec.BootMetal3 {
		report("spec.boot.method", fmt.Sprintf("is %s: with this method a hub boots the machines, but a REST service cannot do this",
			spec.BootMetal3),
			"write redfish to let oaictl boot them; or give --backend hub")
	}
	for _, field := range []string{"agentLabels", "nodeLabels", "classifications", "ironic", "ipxe"} {
		if name := "spec.hub." + field; c.Present(name) {
			report(name, "is only for a hub; a REST service has no such setting", "omit it, or give --backend hub")
		}
	}
	if c.Imported() && c.Spec.Import.ClusterID == "" {
		report("spec.import.clusterID", "is missing: a REST service needs it to identify an installed cluster",
			"write the output of: kubectl get clusterversion version -o jsonpath='{.spec.clusterID}'; or give --backend hub")
	}
	if c.Imported() && c.Spec.Import.Kubeconfig.SecretRef != nil {
		report("spec.import.kubeconfig.secretRef", "names a Secret on a hub, which a REST service does not know",
			"omit the kubeconfig: a REST service does not use it; or give --backend hub")
	}
	if len(problems.List) == 0 {
		return nil
	}
	return problems
}
