package create

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// report prints the result and the last words. The error goes on to main, which prints it.
func (o *runOptions) report(result install.Result, log string, desired *model.Desired, machines *bootedMachines, failed error) error {
	cluster := desired.Spec
	doc := o.result(result, log, cluster, failed)
	if o.Globals.Progress != app.ProgressJSON && (result.Observed != nil || o.Globals.Format.Machine()) {
		if err := o.Print(resultOf(doc)); err != nil {
			return errors.Join(failed, err)
		}
	}
	if failed != nil {
		return o.resumable(failed)
	}
	switch {
	case result.Verdict == model.VerdictInstalled:
		o.Say("%s", escape.Text(installedText(desired, result.Plan)))
		if o.Globals.Simulated {
			o.Say("This was a simulation: no machine was changed, and these addresses do not work.")
		}
		if !desired.Options.AddNodes {
			o.sayWays(cluster, result.Observed, doc)
		}
		for _, missing := range result.Plan.Missing {
			o.Say("%s has not registered; it was not required.", missing)
		}
		if next := o.after(result.Plan.Next); next != "" {
			o.Say("Next: %s", next)
		}
	case o.Detach:
		for _, wait := range result.Plan.Waits {
			if !o.wasTold(wait.For) {
				o.Say("waiting for %s", wait.For)
			}
		}
		for _, blocker := range result.Plan.Blockers {
			if !o.wasTold(blocker.Message) {
				o.Say("blocked: %s", blocker.Message)
			}
		}
		o.Say("Next: %s", escape.Text(o.nextDetached(result, desired, machines)))
	}
	return nil
}

// wasTold reports whether an event of this run has said it already.
func (o *runOptions) wasTold(text string) bool {
	return slices.ContainsFunc(o.told, func(message string) bool { return strings.Contains(message, text) })
}

func (o *runOptions) sayWays(cluster *spec.Cluster, observed *model.Observed, doc output.Result) {
	name, login, took := cluster.Metadata.Name+"."+cluster.Spec.BaseDomain, "", ""
	if doc.Password != "" {
		login = "kubeadmin, with the password in " + doc.Password
	}
	if observed != nil && observed.Cluster != nil {
		if c := observed.Cluster; !c.InstallStarted.IsZero() && c.InstallCompleted.After(c.InstallStarted) {
			took = printer.Age(c.InstallCompleted.Sub(c.InstallStarted))
		}
	}
	var text strings.Builder
	app.Facts(&text, "  ", [][2]string{
		{"API", "https://api." + name + ":6443"}, {"Console", "https://console-openshift-console.apps." + name}, {"Login", login},
		{"Install took", took},
	})
	o.Say("%s", escape.Text(strings.TrimSuffix(text.String(), "\n")))
}

// installedText does not claim of added nodes what the service cannot see.
func installedText(desired *model.Desired, plan model.Plan) string {
	name := desired.Spec.Metadata.Name + "." + desired.Spec.Spec.BaseDomain
	switch {
	case !desired.Options.AddNodes:
		return name + " is installed."
	case len(plan.Ready) > 0:
		return escape.Sprintf("Nodes of %s that joined and take work: %s.", name, strings.Join(plan.Ready, ", "))
	case len(plan.Added) == 0:
		return name + " has every host of " + desired.Source() + " already; nothing was added."
	}
	return escape.Sprintf(`%s: installed and rebooted to join %s.
The service cannot see whether a node has joined: its certificate requests may
wait for approval in the cluster, two for each node, one after the other.`, strings.Join(plan.Added, ", "), name)
}

func (o *runOptions) result(result install.Result, log string, cluster *spec.Cluster, failed error) output.Result {
	doc := output.Result{
		Cluster: cluster.Metadata.Name, State: string(model.ClusterUnknown), ExitCode: int(app.CodeOf(failed)),
		Message: result.Plan.Message, Log: log,
	}
	next := result.Plan.Next
	if failed != nil {
		doc.Message, next = app.PlainError(failed), model.FaultOf(failed).Next
	}
	if result.Observed != nil {
		doc.State = string(model.HostAbsent)
	}
	// What else lies there is of another cluster, or of one that is gone.
	if result.Observed != nil && result.Observed.Cluster != nil {
		found := result.Observed.Cluster
		doc.ID, doc.State, doc.Version = found.ID, string(found.State), found.Version
		auth := filepath.Join(o.clusterDir(cluster), "auth")
		switch results := result.Observed.Results; {
		case results.Kubeconfig:
			doc.Kubeconfig = filepath.Join(auth, "kubeconfig")
		case results.NoIngress:
			doc.Kubeconfig = filepath.Join(auth, "kubeconfig-noingress")
		}
		if result.Observed.Results.Password {
			doc.Password = filepath.Join(auth, "kubeadmin-password")
		}
	}
	if failed != nil {
		doc.Next = o.Hint(o.completeAdvice(next))
	} else {
		doc.Next = o.after(next)
	}
	return doc
}

// after is what to type after a run that went well. A simulated cluster has ended with its run.
func (o *runOptions) after(next model.Advice) string {
	if o.Globals.Simulated {
		return o.Hint(app.SimulateAdvice)
	}
	return o.Hint(o.completeAdvice(next))
}

func resultOf(doc output.Result) printer.Result {
	return printer.Result{
		Data:  doc,
		Names: []string{"cluster/" + doc.Cluster},
		Table: func() printer.Table {
			return printer.Table{
				Columns: []printer.Column{{Name: "CLUSTER"}, {Name: "STATE"}, {Name: "VERSION", Wide: true}, {Name: "ID", Wide: true},
					{Name: "LOG", Wide: true}, {Name: "KUBECONFIG", Prose: true}},
				Rows: [][]string{{doc.Cluster, doc.State, doc.Version, doc.ID, doc.Log, doc.Kubeconfig}},
			}
		},
	}
}

// resumable names the exact command where the library speaks of "the same command".
func (o *runOptions) resumable(failed error) error {
	fault, is := errors.AsType[*model.Fault](failed)
	if !is {
		return failed
	}
	advised := *fault
	switch fault.Code {
	case model.CodeInterrupted, model.CodeTerminated, model.CodeTimeout:
		advised.Next = model.Advicef("%s", o.CommandLine())
		if o.Globals.Simulated {
			advised.Next += " (the simulated service ended with this command; the next run starts a new one)"
		}
		return &advised
	}
	if advised.Next = o.completeAdvice(fault.Next); advised.Next == fault.Next {
		return failed
	}
	return &advised
}

// newRunID marks the clusters that this run registers.
func newRunID() string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

func secretsOf(c *spec.Cluster) []spec.Secret {
	secrets := []spec.Secret{c.Spec.PullSecret.Secret()}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		if host.BMC != nil {
			_, password, _ := host.BMC.Credentials.Login()
			secrets = append(secrets, password)
		}
		if host.Fencing != nil {
			_, password, _ := host.Fencing.Credentials.Login()
			secrets = append(secrets, password)
		}
	}
	return secrets
}
