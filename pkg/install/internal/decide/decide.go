package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Decide compares what is desired with what was observed and says what to do
// next, what can only be waited for, what stands in the way, and when a loop has
// waited for long enough. It is pure: the same arguments give the same plan. now is
// a moment on the service's clock. Without memory, of a single look, what the service
// does not date counts as having stood for long.
func Decide(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) model.Plan {
	p := newPlanner(desired, observed, memory, now)
	if memory.Misses > 0 {
		p.deleted()
	} else {
		p.decide()
	}
	p.finish()
	return p.plan
}

// decide goes by the state of the cluster.
func (p *planner) decide() {
	p.others()
	switch {
	case p.observed.Stale != "":
		// An old picture does not show what was written since.
		p.plan.Actions = nil
		p.wait(model.Wait{Key: "service/answer", Scope: model.ScopeCluster, For: "the service to answer: " + p.observed.Stale, Who: model.WhoService})
	case len(p.plan.Blockers) > 0:
	case p.spec.Imported() && (p.cluster == nil || p.cluster.Unmarked || p.cluster.State.BeforeInstall()):
		p.importCluster()
	case p.desired.Options.AddNodes && (p.cluster == nil || p.cluster.State.BeforeInstall()):
		p.notInstalled()
	case p.cluster == nil:
		p.register()
	case p.cluster.State == model.ClusterUnknown:
		p.end(model.VerdictUnknown, fmt.Sprintf("the service says that the cluster is %q, which this oaictl does not know", p.cluster.Status), "oaictl version")
	case p.cluster.State.BeforeInstall() && p.preparationCancelled():
		p.end(model.VerdictCancelled, "the installation was cancelled while it was being prepared, so that nothing was installed", "run the same command again, which starts it anew")
	case p.cluster.State.BeforeInstall():
		p.beforeInstall()
		p.retireMedia()
	case p.cluster.State.Running():
		p.adopt()
		p.running()
		p.retireMedia()
	case p.cluster.State.Installed():
		p.adopt()
		p.installed()
		p.recorded()
		p.retireMedia()
	case p.cluster.State == model.ClusterFailed:
		p.adopt()
		p.failed()
		p.retireMedia()
	case p.cluster.State == model.ClusterCancelled:
		p.adopt()
		p.cancelled()
		p.retireMedia()
	}
}

// planner gathers a plan. Its methods read top to bottom in the order in which
// an install goes.
type planner struct {
	desired  *model.Desired
	spec     *spec.Cluster // as it is desired now: see [Desired.At]
	whole    *spec.Cluster
	observed *model.Observed
	memory   model.Memory
	now      time.Time
	cluster  *model.Cluster
	matches  Matches
	held     bool   // machines are not to be booted yet
	only     string // the host that alone is asked about, "" for all
	explains bool   // also what fails and holds nothing up is asked for
	// bootsFrom is imagesByHost, once it was asked for.
	bootsFrom map[string]string
	plan      model.Plan
}

func newPlanner(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) *planner {
	present := desired.At(observed)
	return &planner{
		desired: present, spec: present.Spec, whole: desired.Spec, observed: observed, memory: memory, now: now, cluster: observed.Cluster,
		matches: MatchHosts(present.Spec.Spec.Hosts, observed),
	}
}

func (p *planner) name() string { return p.spec.Metadata.Name }

func (p *planner) wait(w model.Wait)     { p.plan.Waits = append(p.plan.Waits, w) }
func (p *planner) block(b model.Blocker) { p.plan.Blockers = append(p.plan.Blockers, b) }
func (p *planner) warn(w model.Warning)  { p.plan.Warnings = append(p.plan.Warnings, w) }
func (p *planner) idle() bool            { return len(p.plan.Actions) == 0 }
func (p *planner) unhindered() bool      { return len(p.plan.Blockers) == 0 }
func (p *planner) full() string          { return p.name() + "." + p.spec.Spec.BaseDomain }
func (p *planner) end(v model.Verdict, message, next string) {
	p.plan.Verdict, p.plan.Message, p.plan.Next = v, message, next
}

// act adds something to do, where anything is to be done.
func (p *planner) act(a model.Action) {
	if !p.desired.Options.ReadOnly {
		p.plan.Actions = append(p.plan.Actions, a)
	}
}

// finish leaves out what is not to be done again yet, gives the plan its verdict,
// unless it has one, and says whether a loop ends with it.
func (p *planner) finish() {
	p.remember()
	p.conclude()
	p.limit()
}

// conclude gives the plan its verdict, unless it has one.
func (p *planner) conclude() {
	plan := &p.plan
	switch {
	case plan.Verdict != "":
	case len(plan.Actions) > 0:
		plan.Verdict = model.VerdictWorking
		plan.Message = firstDone(plan.Actions)
	case len(plan.Blockers) > 0:
		plan.Verdict = model.VerdictBlocked
		plan.Message, plan.Next = plan.Blockers[0].Message, plan.Blockers[0].Remedy
	default:
		plan.Verdict = model.VerdictWaiting
		if len(plan.Waits) > 0 {
			plan.Message = "waiting for " + plan.Waits[0].For
		}
	}
}

// firstDone is what is done first, and how much comes after it.
func firstDone(actions []model.Action) string {
	text := "about to " + actions[0].Describe()
	if more := len(actions) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// others looks at clusters of the same name: duplicates of our own and those
// that may be somebody else's.
func (p *planner) others() {
	var foreign []model.ClusterRef
	for _, other := range p.observed.Others {
		switch {
		case !other.Owned:
			foreign = append(foreign, other)
		case p.desired.Options.Run != "" && other.Run == p.desired.Options.Run && other.Empty:
			p.act(model.Action{
				Key: "cluster/withdraw/" + other.ID, Scope: model.ScopeCluster, Kind: model.WithdrawCluster, Target: other.ID, Name: p.name(),
				Reason: "another run registered the same cluster earlier; this run's is still empty", Destructive: true,
			})
		default:
			p.warn(model.Warning{
				Key: "cluster/duplicate/" + other.ID, Scope: model.ScopeCluster, Reason: "DuplicateCluster",
				Message: fmt.Sprintf("there is a second cluster %s made by oaictl: %s (%s)", p.full(), other.ID, other.Status),
				Next:    "oaictl delete cluster " + other.ID,
			})
		}
	}
	switch {
	case p.cluster != nil && !p.cluster.Owned && p.cluster.ID != p.desired.Options.Adopt && !p.cluster.Unmarked:
		foreign = append(foreign, p.cluster.ClusterRef)
		p.foreign(foreign)
	case p.cluster == nil && p.desired.Options.Adopt != "":
		p.block(model.Blocker{
			Key: "cluster/adopt", Scope: model.ScopeCluster, Reason: "AdoptNotFound", Cure: model.CureOwner,
			Message: fmt.Sprintf("there is no cluster %s with the id %s to adopt", p.full(), p.desired.Options.Adopt),
			Remedy:  "oaictl get clusters",
		})
	case p.cluster == nil && len(foreign) > 0:
		p.foreign(foreign)
	}
}

// register makes the cluster.
func (p *planner) register() {
	settings := setting.OfCluster(p.spec)
	p.act(model.Action{
		Key: "cluster/register", Scope: model.ScopeCluster, Kind: model.RegisterCluster, Name: p.name(),
		Reason: "the service has no cluster " + p.full(), Settings: settings, Changes: allChanges("", settings),
	})
}

// beforeInstall brings cluster, image and hosts to what the file says, and
// starts the install when all of it is so.
func (p *planner) beforeInstall() {
	p.configureCluster()
	p.images()
	p.hosts()
	p.unknownHosts()
	p.clusterChecks()
	p.resend()
	p.start()
	p.otherwise("the service to check the cluster and its hosts")
}

// otherwise says what is waited for where nothing else does: nobody is to wait
// without knowing for what.
func (p *planner) otherwise(what string) {
	if p.idle() && p.unhindered() && len(p.plan.Waits) == 0 {
		p.wait(model.Wait{Key: "cluster/service", Scope: model.ScopeCluster, For: what, Since: p.cluster.StatusSince, Who: model.WhoService})
	}
}

// configureCluster brings the cluster's own settings to what the file says:
// before any host registers, since some can't be changed after.
func (p *planner) configureCluster() {
	want := setting.OfCluster(p.spec)
	delete(want, setting.Tags) // the service takes them at registration only
	update := model.Action{
		Key: "cluster/update", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name(),
		Reason: "the cluster differs from the file", Settings: model.Settings{},
	}
	for _, d := range p.clusterDifferences(want) {
		if p.toWrite(d) && !p.barredByImage(d) {
			update.Settings[d.Setting] = d.Want
			update.Changes = append(update.Changes, changeOf(d, ""))
		}
	}
	if bundles := want[setting.Bundles]; bundles != "" && update.Settings[setting.Operators] != "" {
		update.Settings[setting.Bundles] = bundles // both together are what there shall be
	}
	if !p.cluster.Owned {
		tags, change := p.ownMark()
		update.Settings[setting.Tags] = tags
		update.Changes = append(update.Changes, change)
	}
	if len(update.Settings) > 0 {
		p.act(update)
	}
	p.overrides()
	p.manifests()
	p.ignored()
}

// overrides sends what has no field of its own as install-config overrides.
func (p *planner) overrides() {
	want, err := p.spec.InstallConfigOverrides()
	if err != nil {
		p.block(model.Blocker{
			Key: "cluster/overrides", Scope: model.ScopeCluster, Reason: "BadOverrides", Cure: model.CureNow, Field: string(setting.InstallConfig),
			Message: fmt.Sprintf("make the install-config overrides: %v", err), Remedy: "oaictl validate -f FILE",
		})
		return
	}
	settings := model.Settings{setting.InstallConfig: setting.ValueOf(want)}
	if want == "" {
		return // an absent field is left alone
	}
	for _, d := range setting.Differences(settings, p.cluster.Settings) {
		p.act(model.Action{
			Key: "cluster/overrides", Scope: model.ScopeCluster, Kind: model.SetOverrides, Target: p.cluster.ID, Name: p.name(),
			Reason: "the install-config overrides differ from the file", Settings: settings, Changes: []model.Change{changeOf(d, "")},
		})
	}
}

// resend sends again the secrets that the service does not give back to be
// compared. It can't be seen whether that was done: memory has it.
func (p *planner) resend() {
	if !p.desired.Options.ResendSecrets || !p.idle() {
		return
	}
	send := func(scope model.Scope, kind model.Kind, target, infraEnv, name string, secrets model.Settings) {
		key := string(scope) + model.ResendSuffix
		if p.memory.Resent[key] {
			return
		}
		p.act(model.Action{
			Key: key, Scope: scope, Kind: kind, Target: target, InfraEnv: infraEnv, Name: name, Reason: "--resend-secrets",
			Settings: secrets, Changes: redactedChanges(secrets),
		})
	}
	pullSecret := model.Settings{setting.PullSecret: setting.ValueOf(resent)}
	send(model.ScopeCluster, model.UpdateCluster, p.cluster.ID, "", p.name(), pullSecret)
	for _, env := range p.observed.InfraEnvs {
		if env.Owned && p.mayResend(&env) {
			send(model.InfraEnvScope(env.Name), model.UpdateInfraEnv, env.ID, "", env.Name, pullSecret)
		}
	}
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		secrets := setting.Secrets(setting.OfHost(want, "", nil))
		if have := p.matches.ByName[want.Name]; have != nil && len(secrets) > 0 {
			send(model.HostScope(want.Name), model.UpdateHost, have.ID, have.InfraEnvID, want.Name, secrets)
		}
	}
}

// resent is the value of a secret's setting: the secret itself is read from
// the desired cluster.
const resent = "resend"

// manifests uploads the extra manifests that the service has not, or not so.
func (p *planner) manifests() {
	for _, m := range p.spec.ManifestFiles() {
		name := string(m.Folder) + "/" + m.Name
		have, there := p.cluster.Manifests[name]
		sum := setting.Digest([]byte(m.Content))
		if there && (have == "" || have == sum) {
			continue
		}
		p.act(model.Action{
			Key: "cluster/manifest/" + name, Scope: model.ScopeCluster, Kind: model.UploadManifest, Target: p.cluster.ID, Name: name,
			Reason:  "the service does not have this manifest",
			Changes: []model.Change{{Field: "spec.manifests", To: name}},
		})
	}
	p.surplusManifests()
}

// surplusManifests removes, from a cluster that oaictl has made, the manifests that
// users uploaded where the file says that there are none. Where it names some, others
// are only told of, since it cannot be seen who uploaded them; where it says nothing of
// manifests, all are left alone.
func (p *planner) surplusManifests() {
	if p.spec.Spec.Manifests == nil || !p.cluster.Owned {
		return
	}
	named := map[string]bool{}
	for _, m := range p.spec.ManifestFiles() {
		named[string(m.Folder)+"/"+m.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.cluster.Manifests)) {
		switch {
		case named[name]:
		case len(p.spec.Spec.Manifests) > 0:
			p.warn(model.Warning{
				Key: "manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift",
				Message: fmt.Sprintf("the service has the manifest %s, which the file does not name; it goes into the cluster", name),
			})
		default:
			p.act(model.Action{
				Key: "cluster/manifest/" + name + "/remove", Scope: model.ScopeCluster, Kind: model.RemoveManifest, Target: p.cluster.ID, Name: name,
				Reason: "the file says that there are no manifests", Changes: []model.Change{{Field: "spec.manifests", From: name}},
			})
		}
	}
}

// ignored sets which validations may fail.
func (p *planner) ignored() {
	settings := setting.IgnoredOf(p.spec)
	for _, d := range setting.Differences(settings, p.cluster.Settings) {
		p.act(model.Action{
			Key: "cluster/ignore", Scope: model.ScopeCluster, Kind: model.IgnoreValidations, Target: p.cluster.ID, Name: p.name(),
			Reason: "the ignored validations differ from the file", Settings: settings, Changes: []model.Change{changeOf(d, "")},
		})
	}
}

func (p *planner) drift(scope model.Scope, d setting.Difference, why string) {
	p.driftOf(scope, "", d, why)
}

// driftOf reports a difference that is not written. prefix is the path that the
// setting is relative to.
func (p *planner) driftOf(scope model.Scope, prefix string, d setting.Difference, why string) {
	p.warn(model.Warning{
		Key: "drift/" + string(scope) + "/" + string(d.Setting), Scope: scope, Reason: "Drift",
		Message: fmt.Sprintf("%s%s is %s in the file and %s in the service; it %s", prefix, d.Setting, orNothing(d.Want.Show(d.Setting)), orNothing(d.Have.Show(d.Setting)), why),
	})
}

func orNothing(text string) string { return cmp.Or(text, "nothing") }

// allChanges lists the settings of a new object as changes from nothing.
func allChanges(prefix string, settings model.Settings) []model.Change {
	var changes []model.Change
	for name, value := range settings {
		changes = append(changes, changeOf(setting.Difference{Setting: name, Want: value}, prefix))
	}
	slices.SortFunc(changes, func(a, b model.Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}
