// Command operator shows the parts of a controller that uses oaictl's library: a service plane, a loop that decides once in
// each turn, and what a reconciler reports. Its service exists in memory only, so that the program rehearses the first
// steps of an installation and asks no server:
//
//	operator -f ../../sno/cluster.yaml
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func main() {
	file := flag.String("f", "cluster.yaml", "`file` that says what to install")
	flag.Parse()
	if err := run(context.Background(), *file); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(int(model.FaultOf(err).Code))
	}
}

func run(ctx context.Context, file string) error {
	cluster, err := spec.Load(ctx, file, spec.OSEnv())
	if err != nil {
		return err
	}
	client := install.New(&rehearsal{})
	c := controller{
		loop:    client.NewLoop(),
		desired: &model.Desired{Spec: cluster, Options: model.Options{Run: "rehearsal"}},
	}
	for {
		again, err := c.reconcile(ctx)
		if err != nil || !again {
			return err
		}
	}
}

// rehearsal is a service plane. It keeps one cluster in memory and has no hosts.
type rehearsal struct{ observed model.Observed }

var _ install.Service = (*rehearsal)(nil)

// Observe returns a copy of what the service has.
func (r *rehearsal) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	now := r.observed
	now.At = time.Now()
	return &now, nil
}

// Act does what the action asks for, as far as a service without hosts can.
func (r *rehearsal) Act(_ context.Context, desired *model.Desired, action model.Action) error {
	const id = "8a6fb4a9-2b3c-4cf0-9c4d-3f0c7b9d1f10"
	switch action.Kind {
	case model.RegisterCluster:
		r.observed.Cluster = &model.Cluster{
			ClusterRef: model.ClusterRef{ID: id, Name: desired.Spec.Metadata.Name, BaseDomain: desired.Spec.Spec.BaseDomain, Owned: true,
				Run: desired.Options.Run},
			State: model.ClusterDiscovering, Settings: action.Settings,
		}
	case model.RegisterInfraEnv:
		r.observed.InfraEnvs = append(r.observed.InfraEnvs, model.InfraEnv{
			ID: "infraenv-" + action.Name, Name: action.Name, ClusterID: id, Owned: true, ThisRun: true, Settings: action.Settings,
			Image: model.Image{State: model.ImageReady, URL: "https://images.example.com/" + action.Name + ".iso"},
		})
	default:
		return &model.Fault{Code: model.CodeFailure, Op: string(action.Kind), On: action.Name, Err: fmt.Errorf("the rehearsal has no hosts"),
			Permanent: true}
	}
	return nil
}

// Credential has none: nothing is installed.
func (r *rehearsal) Credential(_ context.Context, _, name string) ([]byte, error) {
	return nil, &model.Fault{Code: model.CodeNotFound, Op: "read " + name, Err: fmt.Errorf("the cluster is not installed")}
}

// controller is the state of a reconciler between two calls.
type controller struct {
	loop    *install.Loop
	desired *model.Desired
}

// reconcile looks, decides, and carries out the actions of its scopes. It reports whether there was anything to do.
func (c *controller) reconcile(ctx context.Context) (again bool, err error) {
	observed, err := c.loop.Observe(ctx, c.desired)
	if err != nil {
		return false, err
	}
	look := c.loop.Decide(c.desired, observed)
	scopes := []model.Scope{model.ScopeCluster} // those of hosts are another reconciler's
	for _, action := range look.Plan.Actions {
		if strings.HasPrefix(string(action.Scope), "infraenv/") {
			scopes = append(scopes, action.Scope)
		}
	}
	done, err := c.loop.Act(ctx, look, scopes...)
	for _, action := range done {
		fmt.Printf("did %s: %s\n", action.Kind, action.Reason)
	}
	if len(done) == 0 && err == nil {
		report(look.Plan)
	}
	return len(done) > 0, err
}

// report prints what a reconciler would write into the status of its object.
func report(plan model.Plan) {
	fmt.Println("verdict:", plan.Verdict)
	for _, wait := range plan.Waits {
		fmt.Printf("wait for %s: %s\n", wait.Who, wait.For)
	}
	for _, blocker := range plan.Blockers {
		fmt.Printf("blocked (%s): %s; %s\n", blocker.Reason, blocker.Message, blocker.Remedy)
	}
}
