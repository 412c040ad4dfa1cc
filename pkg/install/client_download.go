package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Result reads a result of the install, as Credential does. Where there is none yet, the
// error says why, and what to wait for.
func (client *Client) Result(ctx context.Context, found *Found, name string) ([]byte, error) {
	data, err := client.Credential(ctx, found.Ref.ID, name)
	return data, found.notMadeYet(err, name)
}

// KeepResult writes a result where [Config].Files says. claimed is where the results of another
// cluster of the name are kept now, saved where that is which lay in its place; "" for none.
func (client *Client) KeepResult(ctx context.Context, cluster model.ClusterRef, name string,
	data []byte) (claimed, saved string, err error) {
	claimed, err = client.files.Claim(ctx, cluster, func(name string) ([]byte, error) { return client.offered(ctx, cluster.ID, name) })
	if err != nil {
		return claimed, "", err
	}
	saved, err = client.files.Save(ctx, cluster, name, data)
	return claimed, saved, err
}

// offered is a result that the service has, nil where it has none.
func (client *Client) offered(ctx context.Context, clusterID, name string) ([]byte, error) {
	data, err := client.Credential(ctx, clusterID, name)
	if notThere(err) {
		return nil, nil
	}
	return data, err
}

// arbiterIgnition is the file that only a cluster with an arbiter has.
const arbiterIgnition = "arbiter.ign"

// RoleIgnitions are the files of a cluster that hold Ignition, by role.
func (f *Found) RoleIgnitions() []string {
	return []string{"bootstrap.ign", "master.ign", "worker.ign", arbiterIgnition}
}

// RoleIgnition writes one of [Found.RoleIgnitions] to out, as DownloadIgnition does. Where
// there is none yet, the error says why, and what to wait for. has is false for a role that
// the cluster does not have.
func (client *Client) RoleIgnition(ctx context.Context, found *Found, file string, out io.Writer) (has bool, err error) {
	err = client.DownloadIgnition(ctx, found.Ref.ID, file, out)
	if file == arbiterIgnition && notThere(err) {
		return false, nil
	}
	return true, found.notMadeYet(err, file)
}

// notMadeYet is for the files that an install makes.
func (f *Found) notMadeYet(err error, file string) error {
	wait := model.Command("wait cluster", f.Ref.Name, "--for installed")
	during := wait
	if file == model.KubeconfigFile {
		during += ", or take the one without the ingress certificate: " + model.Command("download kubeconfig", f.Ref.Name, "--no-ingress")
	}
	return f.outOfTurn(err, "download "+file+" of",
		verbRefusal{"the install, which makes it, has not begun", wait},
		verbRefusal{"the install has not made it yet", during},
		verbRefusal{"the install ended before it was made", model.Command("why", f.Ref.Name)},
		verbRefusal{})
}

// IgnitionOf is the Ignition that a host boots with.
func (client *Client) IgnitionOf(ctx context.Context, host model.Host) (string, error) {
	text, err := client.HostIgnition(ctx, host.InfraEnvID, host.ID)
	if refused, is := errors.AsType[*model.Fault](err); is && refused.Status == statusConflict {
		out := *refused
		out.On, out.Next = host.DisplayName(), "{get hosts}"
		out.Err = fmt.Errorf("it is %s, and its Ignition is made once its cluster's install runs", host.Status)
		return "", &out
	}
	return text, err
}

// isoTries is how often a download is taken up again without a byte of progress.
const isoTries = 5

// DownloadISO writes an InfraEnv's discovery image to out. A connection that breaks is taken up again where it broke,
// with a fresh address; broke, if not nil, is called with the bytes that are done and the error.
func (client *Client) DownloadISO(ctx context.Context, infraEnvID string, out io.Writer, broke func(done int64, err error)) error {
	var done int64
	for idle := 0; ; idle++ {
		n, whole, err := client.partOfISO(ctx, infraEnvID, done, out)
		done += n
		if err == nil && whole {
			return nil
		}
		if n > 0 {
			idle = 0
		}
		if err == nil {
			err = errors.New("the connection broke before the end")
		}
		fault, is := errors.AsType[*model.Fault](err)
		if ctx.Err() != nil || idle >= isoTries || is && fault.Permanent {
			return err
		}
		if broke != nil {
			broke(done, err)
		}
		if err := client.clock.Sleep(ctx, time.Duration(idle+1)*time.Second); err != nil {
			return err
		}
	}
}

// partOfISO copies the image from an offset on. whole says whether its end was reached.
func (client *Client) partOfISO(ctx context.Context, infraEnvID string, offset int64, out io.Writer) (n int64, whole bool, err error) {
	url, _, err := client.DownloadISOURL(ctx, infraEnvID)
	if err != nil {
		return 0, false, err
	}
	body, size, err := client.OpenISO(ctx, url, offset)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = body.Close() }()
	n, err = io.Copy(out, body)
	if err == nil && size >= 0 {
		return n, offset+n == size, nil
	}
	return n, err == nil, err
}
