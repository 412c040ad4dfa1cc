package install

import (
	"context"
	"fmt"
	"sync"
)

// sideBySide is how many scopes are acted on at once.
const sideBySide = 8

// phrase is the kind as a person says it.
func (k Kind) phrase() string {
	switch k {
	case RegisterCluster:
		return "register the cluster"
	case ImportCluster:
		return "import the installed cluster"
	case WithdrawCluster:
		return "withdraw this run's duplicate"
	case UpdateCluster:
		return "update the cluster"
	case SetOverrides:
		return "set the install-config overrides"
	case UploadManifest:
		return "upload the manifest"
	case RemoveManifest:
		return "remove the manifest"
	case IgnoreValidations:
		return "set the ignored validations"
	case RegisterInfraEnv:
		return "register the InfraEnv"
	case UpdateInfraEnv:
		return "update the InfraEnv"
	case WithdrawInfraEnv:
		return "withdraw the InfraEnv"
	case RenewImage:
		return "renew the discovery image's URL"
	case RegisterHost:
		return "have the service boot the host"
	case UpdateHost:
		return "configure the host"
	case BindHost:
		return "bind the host"
	case StartInstall:
		return "start the installation"
	case AllowAddHosts:
		return "let hosts be added"
	case InstallHost:
		return "install the host"
	case NudgeCluster:
		return "touch the cluster, so that the service looks at it again"
	case RecordInstalled:
		return "record that the cluster is installed"
	case SaveNoIngress, SaveKubeconfig:
		return "save the kubeconfig"
	case SavePassword:
		return "save the kubeadmin password"
	case InsertMedia:
		return "insert the discovery image into the virtual drive of"
	case SetBootOnce:
		return "set one boot from the virtual drive of"
	case PowerOn:
		return "switch on"
	case PowerOff:
		return "switch off"
	case EjectMedia:
		return "eject the discovery image from the virtual drive of"
	case RestoreBoot:
		return "restore the boot order of"
	}
	return string(k)
}

// act carries out a plan's actions: those of one scope in their order, scopes
// side by side. It returns how many succeeded.
func (r *run) act(ctx context.Context, actions []Action) int {
	var scopes []Scope
	byScope := map[Scope][]Action{}
	for _, a := range actions {
		if byScope[a.Scope] == nil {
			scopes = append(scopes, a.Scope)
		}
		byScope[a.Scope] = append(byScope[a.Scope], a)
	}
	var (
		group sync.WaitGroup
		done  int
		mu    sync.Mutex
		slots = make(chan struct{}, sideBySide)
	)
	for _, scope := range scopes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			for _, a := range byScope[scope] {
				err := r.one(ctx, a)
				if err != nil {
					return // what follows in this scope stands on it
				}
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return done
}

// one carries out one action and tells of it.
func (r *run) one(ctx context.Context, a Action) error {
	err := r.Installer.act(ctx, r.desired, r.latest.Observed, a, r.tell)
	if context.Cause(ctx) != nil && err != nil {
		return err // the run is being left; nothing was refused
	}
	event := Event{Type: EventAction, Host: hostOf(a.Scope), Key: a.Key, State: "done", Reason: string(a.Kind), Message: a.describe()}
	if err != nil {
		event.State, event.Severity = "failed", SeverityWarning
		if forGood(err) {
			event.Severity = SeverityError
		}
		event.Message = fmt.Sprintf("could not %s: %v", a.task(), err)
		event.Next = NextOf(err)
	}
	r.noting.Lock()
	r.memory.Note(a, err, r.now())
	r.noting.Unlock()
	r.tell(event)
	return err
}

// task is the action as a person says it: what is done to a machine makes no
// sense without the machine's name.
func (a Action) task() string {
	if a.Kind.byMachines() {
		return a.Kind.phrase() + " " + a.Name
	}
	return a.Kind.phrase()
}

// describe is the action as it is told of once it is done.
func (a Action) describe() string {
	switch a.Kind {
	case UploadManifest, RemoveManifest, RegisterHost, UpdateHost, BindHost, RegisterInfraEnv, UpdateInfraEnv, WithdrawInfraEnv, InstallHost:
		return fmt.Sprintf("%s %s", a.Kind.phrase(), a.Name)
	case StartInstall, NudgeCluster:
		return a.task() + ": " + a.Reason
	}
	return a.task()
}
