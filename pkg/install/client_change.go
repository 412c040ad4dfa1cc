package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The HTTP statuses by which services report the result of a request.
const (
	statusBadRequest    = 400
	statusNotFound      = 404
	statusConflict      = 409
	statusUnprocessable = 422
)

// verbRefusal is why a verb does not suit a cluster's state, and what does.
type verbRefusal struct {
	why  string
	next model.Advice
}

// outOfTurn makes what a service says to a verb that comes at the wrong time, 409, into the
// state that the cluster is in and what suits it, by the kinds of states. Errors of other
// kinds stay as they are.
func (f *Found) outOfTurn(err error, op string, before, during, stopped, after verbRefusal) error {
	refused, is := errors.AsType[*model.Fault](err)
	if !is || refused.Status != statusConflict {
		return err
	}
	var by verbRefusal
	switch state := statuses.Cluster(f.Ref.Status); {
	case state.BeforeInstall():
		by = before
	case state.Running():
		by = during
	case state.Stopped():
		by = stopped
	case state.Installed():
		by = after
	}
	out := *refused
	out.Op, out.On, out.Next = op, f.FullName(), model.Command("describe cluster", f.Ref.Name)
	out.Err = fmt.Errorf("it is %s: %w", f.Ref.Status, refused.Err)
	if by.why != "" {
		out.Err, out.Next = fmt.Errorf("%s (the service calls it %s)", by.why, f.Ref.Status), by.next
	}
	return &out
}

// goOnOrGiveUp is what can be done with a cluster whose install has not begun.
func (f *Found) goOnOrGiveUp() model.Advice {
	return "to go on, run {create cluster -f FILE}; to give it up, run " + model.Command("delete cluster", f.Ref.Name)
}

// Cancel stops an install. If no install runs, the error says why, and what may be done in the cluster's state.
func (client *Client) Cancel(ctx context.Context, found *Found) error {
	return found.cancelRefused(client.CancelInstall(ctx, found.Ref.ID))
}

// AfterCancel is what can be done with a cluster whose install was cancelled: one that was
// still being prepared is ready again, and there is nothing to reset.
func (client *Client) AfterCancel(ctx context.Context, found *Found) (next model.Advice) {
	if now, err := client.ClusterByNameOrID(ctx, found.Ref.ID); err == nil && statuses.Cluster(now.Status).BeforeInstall() {
		return found.goOnOrGiveUp()
	}
	return model.Command("reset cluster", found.Ref.Name)
}

func (f *Found) cancelRefused(err error) error {
	return f.outOfTurn(err, "cancel the install of",
		verbRefusal{"its install has not begun, so there is nothing to cancel", f.goOnOrGiveUp()},
		verbRefusal{},
		verbRefusal{"the install has ended, so there is nothing to cancel", model.Command("reset cluster", f.Ref.Name)},
		verbRefusal{"the install is done, so there is nothing to cancel", model.Command("download kubeconfig", f.Ref.Name)})
}

// Reset takes a failed or cancelled install back to its beginning. If there is no such install, the error says why, and
// what may be done in the cluster's state.
func (client *Client) Reset(ctx context.Context, found *Found) error {
	return found.resetRefused(client.ResetInstall(ctx, found.Ref.ID))
}

func (f *Found) resetRefused(err error) error {
	return f.outOfTurn(err, "reset the install of",
		verbRefusal{"its install has not begun, so there is nothing to reset", f.goOnOrGiveUp()},
		verbRefusal{"the install runs", model.Command("cancel cluster", f.Ref.Name)},
		verbRefusal{},
		verbRefusal{"an installed cluster cannot be reset", model.Command("describe cluster", f.Ref.Name)})
}

// FindToDelete is Inspect for a cluster that is to be deleted. On a hub it also finds a cluster with a deletion that
// was interrupted, even if too little of it is left to be observed; it finds none that oaictl did not make. If the
// cluster of a file is gone, the error is [ErrNoCluster].
func (client *Client) FindToDelete(ctx context.Context, target Target) (*Found, error) {
	found, err := client.Inspect(ctx, target)
	switch {
	case err == nil:
		return found, client.MayDelete(found.Ref)
	case errors.Is(err, ErrNoCluster), !errors.Is(err, ErrDeleting) && model.FaultOf(err).Code != model.CodeNotFound:
		return nil, err
	}
	ref, none := client.ClusterLeft(ctx, target.Name)
	if none != nil {
		return nil, err
	}
	return &Found{Ref: ref, Spec: target.Spec, Observed: &model.Observed{At: client.clock.Now()}}, client.MayDelete(ref)
}

// Delete deletes a cluster, from [Client.FindToDelete], and then the InfraEnvs that are its
// own. gone are those of these that were deleted; nil where the cluster itself was kept. An
// InfraEnv whose hosts go back to its pool stays where the service keeps it for them.
func (client *Client) Delete(ctx context.Context, found *Found, options DeleteOptions) (gone []model.InfraEnv, err error) {
	if err := client.DeleteCluster(ctx, found.Ref.ID, options); err != nil {
		return nil, found.deleteRefused(err)
	}
	gone = []model.InfraEnv{}
	for _, env := range found.OwnInfraEnvs() {
		// On a hub it may have gone with its cluster.
		switch err := client.RemoveInfraEnv(ctx, env, options); {
		case env.ClusterID == "" && isStatus(err, statusBadRequest):
			continue
		case err != nil && !isStatus(err, statusNotFound):
			return gone, err
		}
		gone = append(gone, env)
	}
	return gone, nil
}

func (f *Found) deleteRefused(err error) error {
	keeps := verbRefusal{"the service keeps a cluster while it is being installed", model.Command("cancel cluster", f.Ref.Name)}
	return f.outOfTurn(err, "delete cluster", verbRefusal{}, keeps, verbRefusal{}, verbRefusal{})
}

// RemoveInfraEnv is DeleteInfraEnv that names the hosts for which the service keeps it.
func (client *Client) RemoveInfraEnv(ctx context.Context, env model.InfraEnv, options DeleteOptions) error {
	err := client.DeleteInfraEnv(ctx, env.ID, options)
	if !isStatus(err, statusBadRequest) {
		return err
	}
	hosts, unread := client.ListHosts(ctx, env.ID)
	if unread != nil || len(hosts) == 0 {
		return err
	}
	shown, commands := make([]string, 0, len(hosts)), make([]string, 0, len(hosts))
	for _, host := range hosts {
		shown, commands = append(shown, host.DisplayName()), append(commands, string(model.Command("delete host", host.DisplayName())))
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "delete InfraEnv", On: env.Name, Status: statusBadRequest, Permanent: true,
		Err:  fmt.Errorf("it still has %s: %s", listtext.CountText(len(hosts), "host"), strings.Join(shown, ", ")),
		Next: model.Advice(strings.Join(commands, "; ")),
	}
}

// isStatus reports whether a service answered with a status.
func isStatus(err error, status int) bool {
	fault, is := errors.AsType[*model.Fault](err)
	return is && fault.Status == status
}
