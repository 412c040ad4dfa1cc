package bootstrap

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// showHost writes down what the plan says of the InfraEnv and the host. acted is why the last action
// of theirs failed, nil where none did.
func (s *scope) showHost(acted error) {
	if s.way == machines.Pool {
		return
	}
	pending, others := rewording.Node(&s.view.Plan, s.machine.Name)
	if pending.Status == metav1.ConditionTrue || conditions.Has(s.config, pending.Type) { // none of most installations
		conditions.Set(s.config, pending)
		s.news = append(s.news, pending.Type)
	}
	if s.isInstalledElsewhere() {
		const message = "the machine is installed, and the service has no record of it"
		s.set(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionTrue, bootstrapv1.InstalledReason, message)
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionTrue, bootstrapv1.InstalledReason, message)
		return
	}
	s.showInfraEnv(acted)
	if s.host == nil {
		s.config.Status.AgentRef = nil
		s.showAbsent()
		return
	}
	s.config.Status.AgentRef = rewording.Reference(s.host.ID, s.host.InfraEnvID)
	var blockers []string
	for _, b := range s.view.Plan.Blockers {
		if b.Scope != model.ScopeNode.Of(s.machine.Name) && (b.Scope.Host() == s.machine.Name || contains(b.Hosts, s.machine.Name)) {
			blockers = append(blockers, rewording.Sentence(b.Message, b.Remedy))
		}
	}
	blockers = append(append(blockers, rewording.LeftOut(&s.view.Plan, s.machine.Name)...), others...)
	switch {
	case s.settlesIn() > 0:
		message := rewording.Lines(append([]string{"the service is checking the host"}, blockers...))
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionUnknown, bootstrapv1.ValidationsPendingReason, message)
	case len(blockers) > 0:
		s.fail(bootstrapv1.HostValidatedCondition, bootstrapv1.ValidationsFailingReason, rewording.Lines(blockers))
	case s.hasFailed():
		s.fail(bootstrapv1.HostValidatedCondition, bootstrapv1.InstallationFailedReason, s.failure())
	case acted != nil:
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionUnknown, bootstrapv1.ValidationsFailingReason, rewording.Error(acted))
		s.news = append(s.news, bootstrapv1.HostValidatedCondition)
	case s.host.State == model.HostInstalled || s.host.State == model.HostAdded:
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionTrue, bootstrapv1.InstalledReason, s.progress())
	default:
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionTrue, bootstrapv1.ValidationsPassingReason, s.progress())
	}
}

// hasFailed reports whether the host ended without being installed. The service keeps its record as it is then, however
// often the machine registers; what has become a node all the same is well.
func (s *scope) hasFailed() bool {
	return (s.host.State == model.HostFailed || s.host.State == model.HostCancelled) && !s.machine.Status.NodeRef.IsDefined()
}

// failure is why the host ended, and what to do, unless the whole cluster did: its control plane says so then.
func (s *scope) failure() string {
	why := rewording.Short(rewording.Text(cmp.Or(s.host.StatusInfo, s.progress())), longestReason)
	if cluster := s.view.Observed.Cluster; cluster != nil && cluster.State.Stopped() {
		return why
	}
	return why + "; once that is cured, delete its Machine, and another one takes its place"
}

// showAbsent says that the machine has not registered, or why it was taken out of the cluster before the installation
// started: that stays.
func (s *scope) showAbsent() {
	switch why := s.view.LeftOut(s.machine.Name); {
	case why != "":
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionFalse, bootstrapv1.HostLeftOutReason,
			rewording.Short(rewording.Text(why), longestReason)+
				"; once that is cured and the cluster is installed, boot the machine again, and it joins, or delete its Machine")
	case s.wasLeftOut():
	default:
		s.set(bootstrapv1.HostValidatedCondition, metav1.ConditionFalse, bootstrapv1.HostNotRegisteredReason,
			"the machine has not registered in the service yet")
	}
}

// longestReason is how long the message may be about why a machine was left out, or was not installed.
const longestReason = 500

// wasLeftOut reports whether the machine was taken out of the cluster before the installation, and has not registered since.
func (s *scope) wasLeftOut() bool {
	return s.view.LeftOut(s.machine.Name) != "" || conditions.GetReason(s.config,
		bootstrapv1.HostValidatedCondition) == bootstrapv1.HostLeftOutReason
}

// settlesIn is how long it takes until what fails of the host counts; 0 where it does.
func (s *scope) settlesIn() time.Duration { return clusterloop.SettlesIn(s.host, s.view.Observed.At) }

// isInstalledElsewhere reports whether the machine was installed by another service, or by one that has no record of it
// any more: after a move. A machine that takes part in an installation, or that has an InfraEnv, is yet to register,
// though its infrastructure may have given it a provider id.
func (s *scope) isInstalledElsewhere() bool {
	if s.host != nil || s.machine.Spec.ProviderID == "" || s.wasLeftOut() {
		return false
	}
	return s.machine.Status.NodeRef.IsDefined() || s.isHeld() && s.view.InfraEnv(s.config.Name) == nil
}

// bootsFromDisk reports whether the machine has left the discovery system for good, no matter which image there is now.
func (s *scope) bootsFromDisk() bool {
	if s.isInstalledElsewhere() || s.machine.Status.NodeRef.IsDefined() {
		return true
	}
	return s.host != nil && (s.host.HasRebooted() || s.host.State == model.HostInstalled || s.host.State == model.HostAdded)
}

// progress is what the host is doing, in the service's words.
func (s *scope) progress() string {
	if s.host.Progress.Stage != "" {
		return string(s.host.State) + ": " + s.host.Progress.Stage
	}
	return string(s.host.State)
}

func (s *scope) showInfraEnv(acted error) {
	env := s.view.InfraEnv(s.config.Name)
	if env == nil {
		s.config.Status.InfraEnvRef = nil
	} else {
		s.config.Status.InfraEnvRef = rewording.Reference(env.ID, "")
	}
	switch reason, message, passes := s.imageTrouble(env, acted); {
	case reason == "":
		s.set(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionTrue, bootstrapv1.InfraEnvReadyCondition, "")
	case s.bootsFromDisk(): // a node that runs is Ready
		s.set(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionTrue, bootstrapv1.InstalledReason,
			"the machine boots from its disk, and needs no discovery image")
	case passes:
		s.set(bootstrapv1.InfraEnvReadyCondition, metav1.ConditionFalse, reason, message)
	default:
		s.fail(bootstrapv1.InfraEnvReadyCondition, reason, message)
	}
}

// imageTrouble is why the machine cannot boot its discovery image, and whether that passes by itself; no reason where
// it can.
func (s *scope) imageTrouble(env *model.InfraEnv, acted error) (reason, message string, passes bool) {
	for _, b := range s.view.Plan.Blockers {
		if b.Scope == model.ScopeInfraEnv.Of(s.config.Name) {
			return bootstrapv1.InfraEnvFailedReason, rewording.Sentence(b.Message, b.Remedy), false
		}
	}
	switch {
	case env == nil && acted != nil:
		return bootstrapv1.InfraEnvFailedReason, rewording.Error(acted), false
	case env == nil:
		lines := append([]string{"the InfraEnv is not made yet"}, s.hindrances()...)
		return bootstrapv1.WaitingForInfraEnvReason, rewording.Lines(lines), len(lines) == 1
	case env.Image.State == model.ImageReady:
		return "", "", true
	case env.Image.State == model.ImageFailed:
		return bootstrapv1.InfraEnvFailedReason, env.Image.Info, false
	}
	return bootstrapv1.WaitingForInfraEnvReason, "the discovery image is being made", true
}

// hindrances are what blocks the cluster or the host, and may be why there is no InfraEnv.
func (s *scope) hindrances() []string {
	var lines []string
	for _, b := range s.view.Plan.Blockers {
		if b.Scope == model.ScopeCluster || b.Scope.Host() == s.machine.Name {
			lines = append(lines, rewording.Sentence(b.Message, b.Remedy))
		}
	}
	return lines
}

// isUnmade reports whether the machine waits for the InfraEnv. What keeps it from being made is reported on the control
// plane alone.
func (s *scope) isUnmade() bool {
	return s.way != machines.Pool && s.view.InfraEnv(s.config.Name) == nil && conditions.IsFalse(s.config, bootstrapv1.InfraEnvReadyCondition)
}

func contains(list []string, text string) bool {
	for _, s := range list {
		if s == text {
			return true
		}
	}
	return false
}
