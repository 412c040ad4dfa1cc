// Package media has the commands that make and serve the images of the hosts of a file.
package media

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/image"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// hostMediaOptions are what it takes to make the discovery media of the hosts of a
// file.
type hostMediaOptions struct {
	image.Options
	File string
	Base string

	service *install.Client // once it was reached
}

func (o *hostMediaOptions) declare(flags *pflag.FlagSet) {
	o.Options.Declare(flags)
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVar(&o.Base, "base", "", "`FILE` or URL of the live image that all are made of (default: the service's)")
}

func (o *hostMediaOptions) check(name string) error {
	switch {
	case o.File == "":
		return base.Usagef("%s needs -f FILE", name)
	case o.SHA256 != "" && o.Base == "":
		return base.Usagef("--sha256 goes with --base")
	case o.Base != "":
		return base.CheckSource(o.Base, o.SHA256)
	}
	return nil
}

// cluster reads the file.
func (o *hostMediaOptions) cluster(ctx context.Context) (*spec.Cluster, error) {
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return nil, err
	}
	if len(cluster.Spec.Hosts) == 0 {
		return nil, &install.Fault{Code: install.CodeInput, Op: "make images of", On: o.File, Permanent: true, Err: errors.New("it names no hosts"), Next: advice.Command("download iso -f", names.Quoted(o.File))}
	}
	return cluster, nil
}

// images promises the images of every host that the cluster takes now. server hands them
// out, nil where they go into files. It fails where a host has no InfraEnv yet.
func (o *hostMediaOptions) images(ctx context.Context, cluster *spec.Cluster, server *serve.Server) (*boot.Images, error) {
	var err error
	if o.service, err = o.Dial(ctx); err != nil {
		return nil, err
	}
	config := boot.ImagesConfig{Service: o.service.Backend, Spec: cluster, Server: server, Open: func(ctx context.Context, source fetch.Source) (*iso.Base, io.Closer, error) {
		made, err := o.OpenSource(ctx, source)
		if err != nil {
			return nil, nil, err
		}
		return made.Base, made.File, nil
	}}
	if o.Base != "" {
		config.Base = fetch.Source{Location: o.Base, SHA256: o.SHA256}
	}
	images, err := boot.NewImages(ctx, config)
	return images, base.SeveralArchs(o.notRegistered(err))
}

// notRegistered says how a cluster comes into being that has no InfraEnv yet, and how
// hosts are added to one that is installed.
func (o *hostMediaOptions) notRegistered(err error) error {
	fault, is := errors.AsType[*install.Fault](err)
	if !is || !errors.Is(err, boot.ErrInstalled) && !errors.Is(err, boot.ErrNotRegistered) {
		return err
	}
	told := *fault
	told.Next = advice.Command("create cluster -f", names.Quoted(o.File), "--detach")
	if errors.Is(err, boot.ErrInstalled) {
		told.Err = errors.New("the cluster is installed, and hosts are added to it with oaictl add-node")
		told.Next = advice.Command("add-node -f", names.Quoted(o.File))
	}
	return &told
}

// openBases reads the bases, and holds them against the hosts that are to boot
// them.
func (o *hostMediaOptions) openBases(ctx context.Context, images *boot.Images) error {
	carried, err := images.Open(ctx)
	o.WarnCarried(carried, o.Base)
	var fault *install.Fault
	var problem *boot.BaseError
	if errors.As(err, &fault) && errors.As(err, &problem) {
		advised := *fault
		advised.Next = base.ImageAdvice(problem)
		return &advised
	}
	return err
}
