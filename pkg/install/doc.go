// Package install installs OpenShift clusters on bare metal through an
// Assisted Installer.
//
// Installing is a control loop: look at what is there, decide what is still
// missing, start the next things, look again. The parts of the loop are the
// parts of this package and of its vocabulary, [github.com/oaictl/oaictl/pkg/install/model]:
//
//   - [model.Desired] is what the cluster shall become: a cluster.yaml, read by
//     [github.com/oaictl/oaictl/pkg/install/spec], and what the person running
//     it has allowed.
//   - [model.Observed] is all that is known of the cluster at one moment.
//   - [model.Memory] is what a loop has learned and no observation shows.
//   - [Decide] is a pure function of the three. Its [model.Plan] names what to do next (actions), what the loop can
//     only wait for (waits), what blocks it and who can remove that (blockers), the state in one word (verdict), and when
//     a loop has waited for long enough.
//   - [Service] is the plane that observes and acts. The package
//     [github.com/oaictl/oaictl/pkg/install/rest] speaks to an
//     assisted-service; a small one of your own will do for tests.
//   - [Machines], where there is one, is the plane of management controllers: the package
//     [github.com/oaictl/oaictl/pkg/install/bmc] boots the discovery image through them. Without it a person or
//     another tool boots the machines.
//   - [Client] drives the loop: [Client.Plan] looks once and decides, [Client.Run] goes on until the cluster is
//     installed, has failed or needs a person, [Client.Detach] does what needs no waiting, [Client.Wait] only looks, and
//     [Client.Explain] says what blocks the install. A caller with a loop of its own uses [Client.Observe] and
//     [Client.Act].
//
// Nothing that is needed is kept in memory only: a run that is interrupted, by a context that ends or by a crash,
// undoes nothing, and the next run, on any machine, continues from there. A run of an installed cluster writes nothing.
//
// Each [model.Event] is one thing that happened; together they are the only output.
// Every unsuccessful end is a [model.Fault], with the exit code that [model.FaultOf] reads
// and the advice that [model.NextOf] reads.
//
// Three more things are part of the promise. No machine is installed that the
// cluster.yaml does not name, unless it says acceptUnknownHosts. What oaictl did
// not make is not touched, unless [model.Options].Adopt names it. And no secret is
// in an event, an error or a printed plan.
package install
