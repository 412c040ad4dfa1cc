package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ToCluster is how the installed cluster itself is reached.
type ToCluster struct {
	Kubeconfig string
	Dir        string
}

// Declare declares the flag of the installed cluster's kubeconfig.
func (t *ToCluster) Declare(flags *pflag.FlagSet) {
	flags.StringVar(&t.Kubeconfig, "cluster-kubeconfig", "",
		"`FILE` with the installed cluster's own kubeconfig (default: DIR/CLUSTER/auth/kubeconfig, else what the service has)")
}

// Nodes is the plane of the installed cluster's nodes. What it sends goes to trace, which may
// be nil. It is closed with the command.
func (a *App) Nodes(service *install.Client, to ToCluster, cluster *spec.Cluster, trace func(install.Call)) *node.Plane {
	plane := node.New(node.Config{Clock: a.Clock, Log: trace,
		Kubeconfig: func(ctx context.Context, ref model.ClusterRef) ([]byte, string, error) {
			return to.find(ctx, service, cluster, ref)
		}})
	a.closers = append(a.closers, plane.Close)
	return plane
}

// find reads the installed cluster's kubeconfig: the one that was named, that of the file of a
// cluster that something else installed, the one among the results on disk, or the service's.
func (t ToCluster) find(ctx context.Context, service *install.Client, cluster *spec.Cluster, ref model.ClusterRef) ([]byte, string, error) {
	if t.Kubeconfig != "" {
		data, err := ReadFile(ctx, t.Kubeconfig, largestKubeconfig)
		if err != nil {
			return nil, "", fmt.Errorf("read %s: %w", t.Kubeconfig, WithoutPath(err))
		}
		file, err := kubeconfig.Parse(t.Kubeconfig, data)
		if err == nil {
			data, err = file.Anywhere()
		}
		if err != nil {
			return nil, "", fmt.Errorf("read %s: %w", t.Kubeconfig, err)
		}
		return data, t.Kubeconfig, nil
	}
	if cluster != nil && cluster.Spec.Import != nil && !cluster.Spec.Import.Kubeconfig.IsZero() &&
		cluster.Spec.Import.Kubeconfig.SecretRef == nil {
		return []byte(cluster.Spec.Import.Kubeconfig.Secret().Reveal()), "of spec.import.kubeconfig", nil
	}
	kept, err := install.Directory(t.Dir).Observe(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	if file, is := kept[model.KubeconfigFile]; is {
		data, err := os.ReadFile(file.Path)
		if err == nil {
			err = selfContained(file.Path, data)
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return data, file.Path, err
		}
	}
	data, err := service.Credential(ctx, ref.ID, model.KubeconfigFile)
	if err != nil {
		return nil, "", fmt.Errorf("there is no --cluster-kubeconfig and no %s, and the service has no kubeconfig: %w",
			filepath.Join(t.Dir, ref.Name, "auth", model.KubeconfigFile), err)
	}
	return data, "of the service", selfContained("of the service", data)
}

// selfContained refuses a kubeconfig that runs programs or reads files. One that an installation has made does neither,
// and the source of a kubeconfig may not be trusted to run programs here.
func selfContained(from string, data []byte) error {
	file, err := kubeconfig.Parse(from, data)
	if err == nil {
		err = file.SelfContained()
	}
	return err
}

const largestKubeconfig = 4 << 20

// Approval says which approver approves the requests of kubelets for certificates.
type Approval struct {
	Mode  string
	Allow []string
}

// Declare declares its flags.
func (o *Approval) Declare(flags *pflag.FlagSet) {
	flags.StringVar(&o.Mode, "approve", string(model.ApproveAuto),
		"who approves certificate requests of nodes that are proven to be hosts of the file: `auto|ask|off`")
	o.DeclareAllow(flags)
}

// DeclareAllow declares the flag of further addresses.
func (o *Approval) DeclareAllow(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Allow, "allow-address", nil,
		"`NODE=IP` that a node's certificate may have beside what its host reports (repeat it for more)")
}

// Into checks the flags, and puts them into what is desired.
func (o *Approval) Into(options *model.Options) error {
	switch mode := model.Approve(o.Mode); mode {
	case model.ApproveAuto, model.ApproveAsk, model.ApproveOff:
		options.Approve = mode
	default:
		return Usagef("--approve %q is not one of auto, ask, off", o.Mode)
	}
	for _, text := range o.Allow {
		name, ip, both := strings.Cut(text, "=")
		address, err := netip.ParseAddr(ip)
		if !both || name == "" || err != nil {
			return Usagef("--allow-address %q is not NODE=IP", text)
		}
		if options.AllowAddresses == nil {
			options.AllowAddresses = map[string][]netip.Addr{}
		}
		options.AllowAddresses[name] = append(options.AllowAddresses[name], address.Unmap())
	}
	return nil
}

// CheckAllowed refuses further addresses of nodes that are not among the named ones: they would allow nothing.
func CheckAllowed(options *model.Options, named []string) error {
	for _, name := range slices.Sorted(maps.Keys(options.AllowAddresses)) {
		if !slices.Contains(named, name) {
			return Usagef("--allow-address %s=%s: %s is none of %s", name, options.AllowAddresses[name][0], name, listtext.ListText(named))
		}
	}
	return nil
}

// NamesOf are the names by which the hosts of a file can be spoken of; known is false where there
// may be others, which only the machines know.
func NamesOf(c *spec.Cluster) (named []string, known bool) {
	known = !c.Spec.AcceptUnknownHosts
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		known = known && h.Hostname != ""
		for _, name := range []string{h.Name, h.Hostname} {
			if name != "" && !slices.Contains(named, name) {
				named = append(named, name)
			}
		}
	}
	return named, known
}
