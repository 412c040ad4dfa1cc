package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type importOptions struct {
	*app.App
	Kubeconfig    string
	Dir           string
	Name          string
	PullSecret    string
	ClusterSecret bool
	ImageSet      string
	DryRun        bool
}

// NewImport is `import`.
func NewImport(a *app.App) *cobra.Command {
	return app.Group("import", "Make an installed cluster known to the service, so that hosts can be added to it", newImportCluster(a))
}

func newImportCluster(a *app.App) *cobra.Command {
	o := &importOptions{App: a}
	command := &cobra.Command{
		Use:     "cluster --cluster-kubeconfig FILE",
		Aliases: []string{"clusters"},
		Short:   "Make a cluster that something else installed known to the service",
		Args:    app.NoArguments,
		RunE:    app.Run(o.run),
	}
	flags := command.Flags()
	flags.StringVar(&o.Kubeconfig, "cluster-kubeconfig", "", "`FILE` with the installed cluster's own kubeconfig, of its administrator")
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which the kubeconfig is kept, as DIR/CLUSTER")
	flags.StringVar(&o.Name, "name", "", "`NAME` that the service is to know the cluster by (default: its own; a REST "+
		"service takes no other)")
	flags.StringVar(&o.PullSecret, "pull-secret", "", "`FILE` with the pull secret")
	flags.BoolVar(&o.ClusterSecret, "use-cluster-pull-secret", false, "take the pull secret that the cluster itself has")
	flags.StringVar(&o.ImageSet, "image-set", "",
		"`NAME` of the ClusterImageSet of its release, on a hub (default: the one that the hub has for it)")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only say what would be imported")
	return command
}

func (o *importOptions) run(ctx context.Context) error {
	switch {
	case o.Kubeconfig == "":
		return app.Usagef("import cluster needs --cluster-kubeconfig FILE")
	case o.PullSecret != "" && o.ClusterSecret:
		return app.Usagef("--pull-secret and --use-cluster-pull-secret cannot be used together")
	case o.Name != "" && o.Globals.Backend != app.BackendHub:
		return app.Usagef("--name needs --backend %s: a REST service names the cluster after its domain", app.BackendHub)
	}
	data, err := app.ReadFile(ctx, o.Kubeconfig, 4<<20)
	if err != nil {
		return app.Unreadable("read", o.Kubeconfig, err, "give --cluster-kubeconfig a file that can be read")
	}
	file, err := kubeconfig.Parse(o.Kubeconfig, data)
	if err == nil {
		data, err = file.Kept()
	}
	if err != nil {
		return &model.Fault{Code: model.CodeInput, Op: "read", On: o.Kubeconfig, Permanent: true, Err: err,
			Next: "give the kubeconfig of the cluster's administrator"}
	}
	is, err := node.Describe(ctx, data, o.ClusterSecret)
	if err != nil {
		return err
	}
	cluster, err := o.cluster(ctx, is, data)
	if err != nil {
		return err
	}
	o.Say("%s.%s is OpenShift %s (%s), with the ID %s.", is.Name, is.BaseDomain, is.Version,
		cmp.Or(string(is.Arch), "of unknown architecture"), is.ID)
	if o.DryRun {
		return o.Print(printer.Result{Data: o.document(is, ""), Names: []string{"cluster/" + is.Name},
			Text: func() string { return o.foretold(cluster, is) }})
	}
	return o.carryOut(ctx, cluster, is, data)
}

// cluster is what is desired: the cluster as it is, and no hosts yet.
func (o *importOptions) cluster(ctx context.Context, is node.Description, access []byte) (*spec.Cluster, error) {
	none, parts := 0, strings.SplitN(is.Version, ".", 3)
	c := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: cmp.Or(o.Name, is.Name)}}
	c.Spec.BaseDomain = is.BaseDomain
	c.Spec.OpenShift = spec.OpenShift{Version: strings.Join(parts[:min(2, len(parts))], "."), Arch: is.Arch, ImageSet: o.ImageSet}
	c.Spec.Import = &spec.Import{ClusterID: is.ID, Kubeconfig: spec.NewSecret(string(access)).Source()}
	c.Spec.Topology.ControlPlane, c.Spec.Topology.Workers = &none, &none
	switch {
	case o.ClusterSecret:
		c.Spec.PullSecret = is.PullSecret.Source()
	case o.PullSecret != "":
		data, err := app.ReadFile(ctx, o.PullSecret, 1<<20)
		if err != nil {
			return nil, app.Unreadable("read", o.PullSecret, err, "give --pull-secret a file that can be read")
		}
		c.Spec.PullSecret = spec.NewSecret(strings.TrimSpace(string(data))).Source()
	default:
		return nil, &model.Fault{
			Code: model.CodeUsage, Permanent: true, Err: errors.New("the service needs a pull secret, because added hosts pull images"),
			Next: "give --pull-secret FILE, or --use-cluster-pull-secret for the pull secret of the cluster",
		}
	}
	c.Default()
	return c, nil
}

// carryOut makes the service import the cluster, and keeps its kubeconfig.
func (o *importOptions) carryOut(ctx context.Context, cluster *spec.Cluster, is node.Description, access []byte) error {
	if err := o.CheckBackend(cluster); err != nil {
		return err
	}
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	result, err := service.With(install.Config{Clock: o.Clock}).Run(ctx, &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}})
	if err != nil {
		return err
	}
	ref := result.Observed.Cluster.ClusterRef
	files := install.Directory(o.Dir)
	if _, err := files.Claim(ctx, ref, nil); err != nil {
		return err
	}
	if aside, err := files.Save(ctx, ref, model.KubeconfigFile, access); err != nil {
		return err
	} else if aside != "" {
		o.Say("the previous kubeconfig is kept as %s", aside)
	}
	err = o.Print(printer.Result{Data: o.document(is, ref.ID), Names: []string{"cluster/" + ref.Name}, Text: func() string {
		return fmt.Sprintf("cluster %s (%s) takes hosts\n", ref.Name, ref.ID)
	}})
	if err == nil {
		o.Say("Next: %s", o.Hint(o.next(ref.Name)))
	}
	return err
}

// next adds a host. The imported cluster has no discovery image, so one is made, which takes
// a pull secret. A service gives back none, so that the cluster's own is read from it once more.
func (o *importOptions) next(name string) model.Advice {
	words := []string{
		"add-node --cluster", listtext.Quoted(name), "--name HOST --mac MAC",
		"--pull-secret", listtext.Quoted(cmp.Or(o.PullSecret, clusterSecretFile)), "--cluster-kubeconfig", listtext.Quoted(o.Kubeconfig),
	}
	if o.Dir != "." {
		words = append(words, "--dir", listtext.Quoted(o.Dir))
	}
	if !o.ClusterSecret {
		return model.Command(words...)
	}
	read := fmt.Sprintf(`(umask 077; kubectl --kubeconfig %s -n openshift-config get secret pull-secret `+
		`-o jsonpath='{.data.\.dockerconfigjson}' | base64 -d > %s)`,
		listtext.Quoted(o.Kubeconfig), clusterSecretFile)
	return "a discovery image needs the pull secret as a file: " + model.Advicef("%s", read) + "; then " + model.Command(words...)
}

// clusterSecretFile is where the cluster's own pull secret is put for the next command.
const clusterSecretFile = "pull-secret.json"

// foretold is what a dry run has found that would be done.
func (o *importOptions) foretold(c *spec.Cluster, is node.Description) string {
	where, secret := cmp.Or(o.Globals.ServiceURL, "the service"), "the cluster's own pull secret"
	if o.Globals.Backend == app.BackendHub {
		where = "the hub"
	}
	if o.PullSecret != "" {
		secret = "the pull secret of " + o.PullSecret
	}
	return escape.Sprintf("Would be done:\n  + register %s.%s (id %s, OpenShift %s) with %s, with no hosts and with %s\n  + keep its "+
		"kubeconfig as %s\nNothing was done.\n",
		c.Metadata.Name, c.Spec.BaseDomain, is.ID, c.Spec.OpenShift.Version, where, secret,
		filepath.Join(o.Dir, c.Metadata.Name, "auth", model.KubeconfigFile))
}

func (o *importOptions) document(is node.Description, id string) output.Imported {
	return output.Imported{Name: is.Name, BaseDomain: is.BaseDomain, ID: id, OpenShiftID: is.ID, Version: is.Version, Arch: string(is.Arch),
		API: is.API}
}
