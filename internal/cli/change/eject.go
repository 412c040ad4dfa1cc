package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ejectOptions are what the verbs that end an install need, to take its images
// out of the machines' virtual drives.
type ejectOptions struct {
	Dir      string
	BMCProxy string
}

func (o *ejectOptions) declare(flags *pflag.FlagSet) {
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` with the results of create cluster, as DIR/CLUSTER: it knows which images are its own")
	base.DeclareBMCProxy(flags, &o.BMCProxy)
}

// eject takes the discovery images of an install that is over out of the drives,
// puts the boot order back, and says which images those were. Looked says whether
// there was a drive to look at and a way to tell whose image it holds. What is
// left as it was is named in its error; the service knows nothing of it.
func (o *changeOptions) eject(ctx context.Context, seen *install.Found) (looked bool, err error) {
	keyFile := base.MediaKeyFile(filepath.Join(o.ejecting.Dir, seen.Ref.Name))
	_, err = os.Stat(keyFile)
	booted := err == nil
	if seen.Spec == nil {
		if booted {
			o.Say("The machines' virtual drives may still hold discovery images: only -f FILE says how their BMCs are reached.")
		}
		return false, nil
	}
	hosts := install.BootedByBMC(seen.Spec)
	if len(hosts) == 0 {
		return false, nil
	}
	if !booted {
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		o.Say("No discovery image was taken out of a virtual drive: %s is missing, which says which are ours; --dir says where create cluster left it.", keyFile)
		return false, nil
	}
	names := base.NamesOf(hosts, func(host *spec.Host) string { return host.Name })
	plane, err := o.WatchMachines(filepath.Dir(keyFile), o.ejecting.BMCProxy)
	if err != nil {
		return false, err
	}
	ejected, err := plane.Eject(ctx, seen.Desired(), names...)
	if len(ejected) > 0 {
		o.Say("ejected the discovery image of %s", strings.Join(ejected, ", "))
	}
	if err != nil {
		return true, o.notEjected(seen, err)
	}
	return true, nil
}

// ejectIfIdle takes the images out of the drives although the service refused to
// end the install, where that is because none runs: whoever asked wants the
// machines left alone. While one runs, they need their images.
func (o *changeOptions) ejectIfIdle(ctx context.Context, seen *install.Found, refused error) error {
	var fault *install.Fault
	if !errors.As(refused, &fault) || fault.Status != http.StatusConflict {
		return refused
	}
	if state := model.ClusterStateOf(seen.Ref.Status); !state.BeforeInstall() && !state.Stopped() {
		return refused
	}
	if _, err := o.eject(ctx, seen); err != nil {
		o.Warn("%v", err)
		o.Say("Next: %s", o.Hint(install.NextOf(err)))
	}
	return refused
}

// notEjected is the fault that images may still be in drives. A BMC that does
// not answer is most often one behind a proxy.
func (o *changeOptions) notEjected(seen *install.Found, err error) *install.Fault {
	suspect := "give --bmc-proxy if the BMCs are behind a proxy"
	if o.ejecting.BMCProxy != "" {
		suspect = "check --bmc-proxy"
	}
	return &install.Fault{
		Code: install.CodeFailure, Op: "clear the virtual drives of", On: seen.FullName(), Err: errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")),
		Next: install.Advice(suspect + ", and see to the BMCs that are named"),
	}
}

// ejectBeforeDelete keeps a cluster whose images could not be ejected: as long as
// it is there, the same command line can be given again.
func (o *changeOptions) ejectBeforeDelete(ctx context.Context, seen *install.Found) error {
	_, err := o.eject(ctx, seen)
	var fault *install.Fault
	if !errors.As(err, &fault) {
		return err
	}
	kept := *fault
	kept.Err = fmt.Errorf("%w; nothing was deleted", fault.Err)
	kept.Next += "; to delete it all the same, and leave the BMCs as they are, run " + advice.Command("delete cluster", seen.Ref.Name)
	return &kept
}

// ejectOfGone takes the images of a cluster that the service has no more out of
// the drives. Where there is no drive that could be looked at, that the cluster
// is not there is all there is to say.
func (o *changeOptions) ejectOfGone(ctx context.Context, gone error) error {
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return err
	}
	o.ForgetImagesOf(cluster)
	seen := &install.Found{Ref: install.ClusterRef{Name: cluster.Metadata.Name, BaseDomain: cluster.Spec.BaseDomain}, Spec: cluster}
	if len(install.BootedByBMC(cluster)) == 0 {
		return gone
	}
	if err := o.confirm(fmt.Sprintf("eject the discovery images of cluster %s, which the service does not have?", seen.FullName())); err != nil {
		return err
	}
	looked, err := o.eject(ctx, seen)
	switch {
	case err != nil:
		return err
	case !looked:
		return gone
	}
	o.Say("The service has no cluster %s that oaictl made: there is nothing else to delete.", seen.FullName())
	return o.Changed()
}
