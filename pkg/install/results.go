package install

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/oaictl/oaictl/internal/model"
)

// resultsOf names a cluster as its results are kept: by the name in the file.
func resultsOf(desired *Desired, id string) ClusterRef {
	return ClusterRef{ID: id, Name: desired.Spec.Metadata.Name}
}

// observeFiles reads which results are on disk, and are the service's.
func (client *Client) observeFiles(ctx context.Context, desired *Desired, observed *Observed) error {
	cluster := observed.Cluster
	switch {
	case cluster == nil:
		return nil
	case client.files == nil:
		observed.Results = Results{NoIngress: true, Kubeconfig: true, Password: true}
		return nil
	}
	kept, err := client.files.Observe(ctx, resultsOf(desired, cluster.ID))
	if err != nil || cluster.State.BeforeInstall() { // what is there then is of an install before
		return err
	}
	there := func(name string, offered bool) bool {
		file, is := kept[name]
		return is && observed.Known.Agrees(name, file, offered, func(name string) ([]byte, error) {
			return client.Credential(ctx, cluster.ID, name)
		})
	}
	observed.Results = Results{
		NoIngress: there(model.NoIngressFile, cluster.NoIngress), Kubeconfig: there(model.KubeconfigFile, cluster.Kubeconfig),
		Password: there(model.PasswordFile, cluster.Kubeconfig), KubeconfigPath: kubeconfigPath(kept),
	}
	return nil
}

// kubeconfigPath is where a kubeconfig of the cluster lies.
func kubeconfigPath(kept map[string]SavedResult) string {
	return cmp.Or(kept[model.KubeconfigFile].Path, kept[model.NoIngressFile].Path)
}

// saveResult fetches a result and writes it. What lies in its place and is
// another's is kept, and named.
func (client *Client) saveResult(ctx context.Context, desired *Desired, observed *Observed, a Action, tell func(Event)) error {
	data, err := client.Credential(ctx, a.Target, a.Name)
	if err != nil {
		return err
	}
	if err := client.claim(ctx, desired, a.Target, tell); err != nil {
		return err
	}
	aside, err := client.files.Save(ctx, resultsOf(desired, a.Target), a.Name, data)
	if aside != "" {
		tell(Event{Type: model.EventHint, Key: "cluster/results/" + a.Name, Reason: "ResultsPutAside", Message: "what lay where " + a.Name + " belongs is kept in " + aside})
	}
	if err == nil {
		observed.Known.Save(a.Name, data)
	}
	return err
}

// claim makes the folder of results that of the cluster with an id, or of one that
// is about to be registered: a run that is killed in between finds nothing there
// that it would take for the new cluster's. The results of another cluster are
// kept: the service may have forgotten a cluster that still runs.
func (client *Client) claim(ctx context.Context, desired *Desired, id string, tell func(Event)) error {
	if client.files == nil {
		return nil
	}
	aside, err := client.files.Claim(ctx, resultsOf(desired, id), func(name string) ([]byte, error) {
		if id == "" {
			return nil, nil
		}
		return client.offered(ctx, id, name)
	})
	if aside != "" {
		tell(Event{Type: model.EventHint, Key: "cluster/results", Reason: "ResultsPutAside", Message: "the credentials of another cluster of this name are kept in " + aside})
	}
	return err
}

// notThere says whether the service has no such result, has none yet, or is older than its
// name.
func notThere(err error) bool {
	fault, is := errors.AsType[*Fault](err)
	return is && slices.Contains([]int{statusBadRequest, statusNotFound, statusConflict, statusUnprocessable}, fault.Status)
}
