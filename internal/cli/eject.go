package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// ejectOptions are what the verbs that end an install need, to take its images
// out of the machines' virtual drives.
type ejectOptions struct {
	Dir      string
	BMCProxy string
}

func (o *ejectOptions) declare(flags *pflag.FlagSet) {
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` with the results of create cluster, as DIR/CLUSTER: it knows which images are its own")
	declareBMCProxy(flags, &o.BMCProxy)
}

// eject takes the discovery images of an install that is over out of the drives,
// and puts the boot order back. What is left as it was is named in its error; the
// service knows nothing of it.
func (o *changeOptions) eject(ctx context.Context, seen *sight) error {
	keyFile := mediaKeyFile(filepath.Join(o.ejecting.Dir, seen.ref.Name))
	_, err := os.Stat(keyFile)
	booted := err == nil
	if seen.spec == nil {
		if booted {
			o.say("The machines' virtual drives may still hold discovery images: only -f FILE says how their BMCs are reached.")
		}
		return nil
	}
	hosts := install.BootedByBMC(seen.spec)
	if len(hosts) == 0 {
		return nil
	}
	if !booted {
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		o.say("No discovery image was taken out of a virtual drive: %s is missing, which says which are ours; --dir says where create cluster left it.", keyFile)
		return nil
	}
	names := make([]string, 0, len(hosts))
	for _, host := range hosts {
		names = append(names, host.Name)
	}
	plane, err := o.lookingOnly(filepath.Dir(keyFile), o.ejecting.BMCProxy)
	if err != nil {
		return err
	}
	if err := plane.Eject(ctx, seen.desired(), names...); err != nil {
		return &install.Fault{
			Code: install.CodeFailure, Op: "clear the virtual drives of", On: seen.name(), Err: errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")),
			Next: "see to the BMCs that are named, and eject there what oaictl inserted",
		}
	}
	o.say("The virtual drives of %s hold no discovery image of this cluster.", strings.Join(names, ", "))
	return nil
}

// lookingOnly is a plane of machines that serves nothing: which image is a
// cluster's own follows from the key in its folder. Where there is none, none is.
func (a *app) lookingOnly(clusterDir, proxy string) (*machine.Plane, error) {
	through, err := proxyURL(proxy)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	keyFile := mediaKeyFile(clusterDir)
	if _, err := os.Stat(keyFile); err == nil {
		if key, err = serve.LoadKey(keyFile); err != nil {
			return nil, err
		}
	}
	server, err := serve.New(serve.Config{Key: key})
	if err != nil {
		return nil, fmt.Errorf("tell whose images are in the drives: %w", err)
	}
	return machine.New(machine.Config{Media: elsewhere{server}, Proxy: through, Clock: a.clock}), nil
}
