package kubeconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
)

// access is a way into a cluster, with where it was found.
type access struct {
	kubeconfig.Access
	name, domain string // of the cluster; "" where nothing says it
	path         string // the file that it is in, "" where a service has it
	folder       string // the name of its folder of results, "" for any other file
}

// fullName is the name of the cluster with its domain.
func (a access) fullName() string { return strings.TrimSuffix(a.name+"."+a.domain, ".") }

// made reads a kubeconfig that an installation has made, which needs nothing beside it.
func made(path string, text []byte, meant install.Target) (access, error) {
	file, err := kubeconfig.Parse(path, text)
	if err == nil {
		err = file.SelfContained()
	}
	if err != nil {
		return access{}, err
	}
	return parsed(path, text, meant)
}

// parsed reads a kubeconfig that is to be of the cluster that is meant.
func parsed(path string, text []byte, meant install.Target) (access, error) {
	file, err := kubeconfig.Parse(path, text)
	if err != nil {
		return access{}, err
	}
	found, err := file.Access()
	if err != nil {
		return access{}, err
	}
	out := access{Access: found, path: path}
	out.name, out.domain = found.Name()
	wanted, domain := nameOf(meant)
	if out.name != "" && (wanted != "" && wanted != out.name || domain != "" && domain != out.domain) {
		return access{}, fmt.Errorf("%w, %s", errAnothers, out.fullName())
	}
	out.name, out.domain = cmp.Or(out.name, wanted), cmp.Or(out.domain, domain)
	return out, nil
}

// errAnothers is that a kubeconfig is not that of the cluster that is meant.
var errAnothers = errors.New("it is the kubeconfig of another cluster")

// nameOf is the name and the domain of the cluster that is meant, as far as they are known.
func nameOf(meant install.Target) (name, domain string) {
	if meant.Spec != nil {
		return meant.Spec.Metadata.Name, meant.Spec.Spec.BaseDomain
	}
	return meant.Name, ""
}

// given is what --from names.
func (o *mergeOptions) given(ctx context.Context, meant install.Target) (access, error) {
	path := o.From
	var text []byte
	var err error
	if path == app.StdoutName {
		path = "standard input"
		text, err = io.ReadAll(io.LimitReader(o.IO.In, kubeconfig.Largest+1))
	} else {
		text, err = app.ReadFile(ctx, path, kubeconfig.Largest)
	}
	if err != nil {
		return access{}, app.Unreadable("read", path, err, "give --from a file that can be read")
	}
	out, err := parsed(path, text, meant)
	if err == nil {
		err = o.leadsTo(ctx, out, text, meant)
	}
	if err == nil {
		return out, nil
	}
	next := model.Advice("give --from the kubeconfig of an installed cluster")
	code := model.CodeInput
	if errors.Is(err, errAnothers) {
		next, code = "omit CLUSTER, or give --from the kubeconfig of the cluster", model.CodeNotFound
	}
	return access{}, &model.Fault{Code: code, Op: "take kubeconfig", On: path, Permanent: true, Err: err, Next: next}
}

// leadsTo asks the cluster of a kubeconfig what it is called, where its address does not say that. If the cluster does
// not answer, it is assumed to be the one that is meant.
func (o *mergeOptions) leadsTo(ctx context.Context, found access, text []byte, meant install.Target) error {
	wanted, domain := nameOf(meant)
	if name, _ := found.Name(); name != "" || wanted == "" {
		return nil
	}
	is, err := ask(ctx, found.path, text)
	switch {
	case err != nil:
		o.Warn("oaictl cannot tell whether %s is the kubeconfig of %s: the address does not show it, and the cluster does not answer",
			found.path, wanted)
	case wanted != is.Name && wanted != is.Name+"."+is.BaseDomain, domain != "" && domain != is.BaseDomain:
		return fmt.Errorf("%w, %s.%s", errAnothers, is.Name, is.BaseDomain)
	}
	return nil
}

// ask is what the cluster of a kubeconfig says of itself.
func ask(ctx context.Context, path string, text []byte) (node.Description, error) {
	file, err := kubeconfig.Parse(path, text)
	if err != nil {
		return node.Description{}, err
	}
	if text, err = file.Anywhere(); err != nil {
		return node.Description{}, err
	}
	return node.Describe(ctx, text, false)
}

// kept is what lies below --dir for the cluster that is meant, or for the only one there.
// The error is fs.ErrNotExist where there is nothing.
func (o *options) kept(meant install.Target) (access, error) {
	folder, _ := nameOf(meant)
	if folder == "" {
		all, err := install.Directory(o.Dir).Clusters(model.KubeconfigFile)
		if err != nil {
			return access{}, app.FileFault("look for kubeconfigs in", o.Dir, err)
		}
		if len(all) > 1 {
			return access{}, app.Usagef("%s has kubeconfigs of several clusters: name one of %s", o.Dir, listtext.ListText(all))
		}
		if len(all) == 0 {
			return access{}, fs.ErrNotExist
		}
		folder = all[0]
	}
	path, data, owner, err := install.Directory(o.Dir).Read(folder, model.KubeconfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return access{}, fs.ErrNotExist
	}
	var out access
	if err == nil {
		out, err = made(path, data, meant)
	}
	if err != nil {
		return access{}, o.notKept(path, folder, err)
	}
	out.folder, out.ID = folder, cmp.Or(owner, out.ID)
	out.name = cmp.Or(out.name, folder)
	return out, nil
}

// notKept says what to do about a file that is not what it has to be.
func (o *options) notKept(path, folder string, err error) error {
	if errors.Is(err, errAnothers) {
		return &model.Fault{
			Code: model.CodeNotFound, Op: "take kubeconfig", On: path, Permanent: true, Err: err,
			Next: "give the folder with the cluster's results with --dir, or " +
				model.Command("kubeconfig merge --from", listtext.Quoted(path)) +
				" for that one",
		}
	}
	next := model.Command("download kubeconfig", listtext.Quoted(folder))
	if o.Dir != "." {
		next = model.Command("download kubeconfig", listtext.Quoted(folder), "--dir", listtext.Quoted(o.Dir))
	}
	return app.Unreadable("read kubeconfig", path, err, next)
}

// offered is what the service or the hub has.
type offered struct {
	access
	service *install.Client
	cluster model.ClusterRef
	text    []byte // as the service has it, nil where only its credentials are taken
}

// fetch asks the service or the hub for the kubeconfig of the cluster that is meant, or of
// the only one there.
func (o *options) fetch(ctx context.Context, meant install.Target) (offered, error) {
	if !o.canAsk() {
		return offered{}, o.nowhere(meant)
	}
	service, err := o.Dial(ctx)
	if err != nil {
		return offered{}, err
	}
	if meant.Spec == nil && meant.Name == "" {
		if meant, err = onlyCluster(ctx, service); err != nil {
			return offered{}, err
		}
	}
	found, err := service.Find(ctx, meant)
	if err != nil {
		return offered{}, err
	}
	text, err := service.Result(ctx, found, model.KubeconfigFile)
	if err != nil {
		return offered{}, err
	}
	out, err := made(model.KubeconfigFile, text, install.Target{})
	if err != nil {
		return offered{}, &model.Fault{
			Code: model.CodeFailure, Op: "use the service's kubeconfig of", On: found.FullName(), Permanent: true, Err: err,
			Next: model.Command("describe", listtext.Quoted(found.Ref.Name)),
		}
	}
	out.ID, out.path = found.Ref.ID, ""
	out.name, out.domain = cmp.Or(found.Ref.Name, out.name), cmp.Or(found.Ref.BaseDomain, out.domain)
	return offered{access: out, service: service, cluster: found.Ref, text: text}, nil
}

// canAsk reports whether a service or a hub is named.
func (o *options) canAsk() bool {
	return o.Globals.Backend == app.BackendHub || o.Globals.ServiceURL != ""
}

// nowhere is the fault that there is no kubeconfig, and no service to ask for one.
func (o *options) nowhere(meant install.Target) error {
	name, _ := nameOf(meant)
	return &model.Fault{
		Code: model.CodeNotFound, Op: "find the kubeconfig of", On: cmp.Or(name, "a cluster"), Permanent: true,
		Err: fmt.Errorf("there is no %s, and no service is given to get it from",
			filepath.Join(o.Dir, cmp.Or(name, "CLUSTER"), "auth", model.KubeconfigFile)),
		Next: "give --dir, or --service-url, or --backend hub; {help environment} explains how to set a service permanently",
	}
}

// onlyCluster is the one cluster that a service has.
func onlyCluster(ctx context.Context, service *install.Client) (install.Target, error) {
	clusters, err := service.ListClusters(ctx)
	if err != nil {
		return install.Target{}, err
	}
	if len(clusters) == 1 {
		return install.Target{Name: clusters[0].ID}, nil
	}
	why := "the service has none"
	if len(clusters) > 1 {
		why = "the service has several: " + listtext.ListText(output.Each(clusters, func(c model.Cluster) string { return c.Name }))
	}
	return install.Target{}, app.NotFound("find the cluster", "", why, "give the name of one; {get clusters} lists them")
}
