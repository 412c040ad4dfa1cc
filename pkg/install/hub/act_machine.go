package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/metal3"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// registerHost makes the BareMetalHost by which the hub boots a machine of the
// file, and the Secrets that it refers to. One that is there is the operator's:
// applying it anew would provision the machine again.
func (a *actor) registerHost(ctx context.Context) error {
	host := a.host()
	if host == nil {
		return errors.New("the file has no such host")
	}
	if live := a.Namespace.Store(kube.BareMetalHosts()).Get(host.Name); live != nil {
		return a.CheckOwner(kube.BareMetalHosts(), live)
	}
	env, err := a.bootedFrom()
	if err != nil {
		return err
	}
	boots := install.InfraEnvPlan{Name: env.Name, Arch: spec.Arch(env.Settings[setting.Arch].Text()), Hosts: []string{host.Name}}
	options := render.Options{InfraEnvs: []install.InfraEnvPlan{boots}}
	if deployment, live, err := a.current(); err == nil {
		options.ImageSet = currentImageSet(live)
		options.Bound = env.ClusterID == kube.ID(deployment.GetNamespace(), deployment.GetName())
	}
	made, err := a.objects(options)
	if err != nil {
		return err
	}
	for _, objects := range made.Hosts {
		if objects.Name != host.Name || objects.BareMetalHost == nil {
			continue
		}
		if err := a.ApplyAll(ctx, objects.Secrets); err != nil {
			return err
		}
		_, err := a.ApplyObject(ctx, objects.BareMetalHost)
		return err
	}
	return errors.New("the file does not have the hub boot it: spec.boot.method is not metal3, or the host has no bmc")
}

// bootedFrom is the InfraEnv whose image the host boots.
func (a *actor) bootedFrom() (install.InfraEnv, error) {
	_, name := kube.SplitID(a.action.InfraEnv, a.Namespace.Name)
	live := a.Namespace.Store(kube.InfraEnvs()).Get(name)
	if live == nil {
		return install.InfraEnv{}, &install.Fault{
			Code: install.CodeNotFound, Op: "find InfraEnv", On: kube.ID(a.Namespace.Name, name), Permanent: true,
			Err: errors.New("the hub has none of that name any more"), Next: "{get infraenvs}",
		}
	}
	return infraEnvOf(live, nil, a.Cluster)
}

// enrolledMachines are the machines that the hub was given to boot.
func enrolledMachines(at *kube.Namespace, cluster string) ([]install.Enrolled, error) {
	all := []install.Enrolled{}
	for _, u := range at.Store(kube.BareMetalHosts()).All() {
		if u.GetDeletionTimestamp() != nil {
			continue
		}
		wire, err := kube.Read[metal3.BareMetalHost](u)
		if err != nil {
			return nil, err
		}
		e := install.Enrolled{
			Name: u.GetName(), MAC: wire.Spec.BootMACAddress, State: wire.Status.Provisioning.State,
			Owned: cluster != "" && u.GetLabels()[hubapi.LabelCluster] == cluster,
		}
		if wire.Status.ErrorType != "" {
			e.Trouble = cmp.Or(wire.Status.ErrorMessage, fmt.Sprintf("the Bare Metal Operator says %q", wire.Status.ErrorType))
		}
		all = append(all, e)
	}
	return all, nil
}
