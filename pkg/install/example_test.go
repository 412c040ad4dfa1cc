package install_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// labService is a service plane as small as it can be: one cluster, one image
// and one machine, which are a step further at each look.
type labService struct {
	seen model.Observed
}

func (s *labService) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	s.seen.At = s.seen.At.Add(time.Minute)
	s.advance()
	now := s.seen
	now.Hosts = append([]model.Host(nil), s.seen.Hosts...)
	if s.seen.Cluster != nil {
		cluster := *s.seen.Cluster
		now.Cluster = &cluster
	}
	return &now, nil
}

// advance is what the service and the machine do by themselves.
func (s *labService) advance() {
	cluster, hosts := s.seen.Cluster, s.seen.Hosts
	switch {
	case len(s.seen.InfraEnvs) == 0:
	case len(hosts) == 0: // a user boots the image
		s.seen.Hosts = []model.Host{{
			ID: "6b2f", InfraEnvID: "image-1", State: "Ready", Role: "control-plane",
			Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: "52:54:00:aa:00:01"}}},
		}}
		cluster.State = "Ready"
	case cluster.State == "Preparing":
		cluster.State, hosts[0].State = "Installing", "Installing"
		hosts[0].Progress = model.HostProgress{Stage: "Writing image to disk",
			Stages: []string{"Writing image to disk", "Rebooting", "Done"}}
	case cluster.State == "Installing":
		cluster.State, hosts[0].State, hosts[0].Progress.Stage = "Installed", "Installed", "Done"
	}
}

func (s *labService) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	switch a.Kind {
	case "RegisterCluster":
		s.seen.Cluster = &model.Cluster{
			ClusterRef: model.ClusterRef{ID: "cluster-1", Name: a.Name, Owned: true}, State: "Discovering", Settings: a.Settings,
		}
	case "RegisterInfraEnv":
		s.seen.InfraEnvs = []model.InfraEnv{{ID: "image-1", Name: a.Name, ClusterID: a.Target, Owned: true, Settings: a.Settings,
			Image: model.Image{State: "Ready"}}}
	case "UpdateHost":
		s.seen.Hosts[0].Settings = a.Settings
	case "StartInstall":
		s.seen.Cluster.State = "Preparing"
	}
	return nil
}

func (s *labService) Credential(context.Context, string, string) ([]byte, error) {
	return nil, fmt.Errorf("there are none")
}

// lab is what spec.Load makes of a cluster.yaml like this one.
func lab() *model.Desired {
	cluster, err := spec.Parse(context.Background(), "cluster.yaml", []byte(`
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  baseDomain: example.com
  openshift: {version: "4.20"}
  pullSecret: {env: PULL_SECRET}
  topology: {controlPlane: 1}
  network: {machine: [192.168.127.0/24]}
  hosts:
    - {name: node-0, match: {mac: "52:54:00:aa:00:01"}}
`), spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, true }})
	if err != nil {
		panic(err)
	}
	return &model.Desired{Spec: cluster}
}

// atOnce is a clock on which waiting takes no time.
type atOnce struct{ now time.Time }

func (c *atOnce) Now() time.Time { return c.now }

func (c *atOnce) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return context.Cause(ctx)
}

// A plan says what would be done next and writes nothing.
func ExampleClient_Plan() {
	service := &labService{}
	plan, _, err := install.New(service).Plan(context.Background(), lab())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Verdict)
	for _, action := range plan.Actions {
		fmt.Printf("%s: %s\n", action.Kind, action.Reason)
	}
	// Output:
	// working
	// RegisterCluster: there is no cluster lab.example.com
}

// A run reports what happens by events, and ends with the cluster installed or with the reason why not.
func ExampleClient_Run() {
	installer := install.New(&labService{},
		install.Config{Clock: &atOnce{},
			Events: func(e model.Event) {
				switch e.Type {
				case "action":
					fmt.Println("-", e.Message)
				case "host":
					fmt.Println("-", e.Host, "is", e.State)
				case "stage":
					fmt.Println("-", e.Host, "is at:", e.Stage)
				}
			}},
	)
	result, err := installer.Run(context.Background(), lab())
	fmt.Println(result.Verdict, result.ExitCode, err)
	// Output:
	// - register the cluster
	// - register the InfraEnv lab
	// - node-0 is Ready
	// - configure the host node-0
	// - start the installation: the host is ready
	// - node-0 is Installing
	// - node-0 is at: Writing image to disk
	// - node-0 is at: Rebooting
	// - node-0 is at: Done
	// - node-0 is Installed
	// installed 0 <nil>
}

// A Loop looks, decides and acts in turns, and keeps between them what the next turn needs.
func ExampleLoop() {
	ctx, desired := context.Background(), lab()
	loop := install.New(&labService{}).NewLoop()
	for {
		observed, err := loop.Observe(ctx, desired)
		if err != nil {
			fmt.Println(err)
			return
		}
		look := loop.Decide(desired, observed)
		done, err := loop.Act(ctx, look)
		for _, action := range done {
			fmt.Println(action.Kind, err)
		}
		if ended, err := look.Plan.Ended(); ended && len(done) == 0 {
			fmt.Println(look.Plan.Verdict, err)
			return
		}
	}
	// Output:
	// RegisterCluster <nil>
	// RegisterInfraEnv <nil>
	// UpdateHost <nil>
	// StartInstall <nil>
	// installed <nil>
}

// A loop of one's own decides once in each turn, and keeps what it has learned as JSON.
func ExampleMemory() {
	ctx, desired := context.Background(), lab()
	installer := install.New(&labService{})
	kept := []byte("{}")
	for {
		var memory model.Memory
		if err := json.Unmarshal(kept, &memory); err != nil {
			fmt.Println(err)
			return
		}
		observed, err := installer.Observe(ctx, desired, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		memory.Seen(observed, observed.At)
		plan := install.Decide(desired, observed, memory, observed.At)
		memory.Decided(plan)
		if ended, err := plan.Ended(); ended && len(plan.Actions) == 0 {
			fmt.Println(plan.Verdict, err)
			return
		}
		for _, action := range plan.Actions {
			err := installer.Act(ctx, desired, observed, action)
			memory.Note(action, err, observed.At)
			fmt.Println(action.Kind, err)
		}
		kept, _ = json.Marshal(memory)
	}
	// Output:
	// RegisterCluster <nil>
	// RegisterInfraEnv <nil>
	// UpdateHost <nil>
	// StartInstall <nil>
	// installed <nil>
}

// A machine that the file does not name is never installed: the plan has a blocker that says what a person can do.
func ExampleDecide() {
	desired, service := lab(), &labService{}
	for range 3 {
		observed, _ := service.Observe(context.Background(), model.Query{}, nil)
		for _, action := range install.Decide(desired, observed, model.Memory{}, observed.At).Actions {
			_ = service.Act(context.Background(), desired, action)
		}
	}
	service.seen.Hosts[0].Inventory.Interfaces[0].MAC = "52:54:00:ff:ff:ff"
	observed, _ := service.Observe(context.Background(), model.Query{}, nil)

	for _, blocker := range install.Decide(desired, observed, model.Memory{}, observed.At).Blockers {
		fmt.Println(blocker.Reason+":", blocker.Message)
		fmt.Println("remedy:", blocker.Remedy)
	}
	// Output:
	// UnknownHost: 6b2f (MAC 52:54:00:ff:ff:ff) registered, but the file does not name it; the installation would wipe it
	// remedy: power it off and `oaictl delete host 6b2f --yes`, or add it to spec.hosts
}
