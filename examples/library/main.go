// Command installer shows how a program of one's own installs a cluster with
// oaictl's library: it reads a cluster.yaml, connects to an assisted-service,
// prints what is to be done, and does it.
//
//	installer -service-url http://127.0.0.1:8090 -f ../compact/cluster.yaml -plan
//	installer -service-url http://127.0.0.1:8090 -f ../compact/cluster.yaml -dir results
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type options struct {
	serviceURL string
	file       string
	dir        string
	plan       bool
	poll       time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.serviceURL, "service-url", "http://127.0.0.1:8090", "`URL` of the assisted-service")
	flag.StringVar(&o.file, "f", "cluster.yaml", "`file` that says what to install")
	flag.StringVar(&o.dir, "dir", ".", "`folder` for the kubeconfig and the password")
	flag.BoolVar(&o.plan, "plan", false, "only say what would be done")
	flag.DurationVar(&o.poll, "poll", 0, "time between two looks at the service; 0 adapts it")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "installer:", err)
		if next := model.FaultOf(err).Next; next != "" {
			fmt.Fprintln(os.Stderr, "next:", next)
		}
		os.Exit(int(model.FaultOf(err).Code))
	}
}

func run(ctx context.Context, o options) error {
	// A file that is not right is an error that lists every mistake with its
	// place; nothing has been asked of the service by then.
	cluster, err := spec.Load(ctx, o.file, spec.OSEnv())
	if err != nil {
		return err
	}

	// What to identify with is the importer's choice. Without any of it, as
	// here where the variable is unset, the service is spoken to openly.
	auth, err := rest.Credentials{Token: spec.NewSecret(os.Getenv("TOKEN"))}.Authorise(nil, "", nil)
	if err != nil {
		return err
	}
	service, err := rest.New(rest.Config{URL: o.serviceURL, Auth: auth, UserAgent: "installer-example"})
	if err != nil {
		return err
	}

	installer := install.New(service,
		install.Config{Files: install.Directory(o.dir),
			PollInterval: o.poll,
			Events: func(e model.Event) {
				fmt.Printf("%s %-10s %-6s %s\n", e.Time.Format(time.TimeOnly), e.Type, e.Host, e.Message)
			}},
	)
	desired := &model.Desired{Spec: cluster, Options: model.Options{Run: "example"}}

	if o.plan {
		return printPlan(ctx, installer, desired)
	}
	// Run returns when the cluster is installed, or with an error whose code
	// says why not. It may be stopped at any time; the next run goes on.
	result, err := installer.Run(ctx, desired)
	if err != nil {
		return err
	}
	fmt.Printf("%s: the kubeconfig is under %s\n", result.Verdict, o.dir)
	return nil
}

// printPlan decides once and writes nothing.
func printPlan(ctx context.Context, installer *install.Client, desired *model.Desired) error {
	plan, _, err := installer.Plan(ctx, desired)
	if err != nil {
		return err
	}
	fmt.Println("verdict:", plan.Verdict)
	for _, action := range plan.Actions {
		fmt.Printf("do:      %s (%s)\n", action.Key, action.Reason)
	}
	for _, wait := range plan.Waits {
		fmt.Println("wait:   ", wait.For)
	}
	for _, blocker := range plan.Blockers {
		fmt.Println("blocked:", blocker.Message)
	}
	return nil
}
