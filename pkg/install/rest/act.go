package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Act sends the one request that carries out the action; where a host's settings need further requests, those too, in
// order. Errors are *model.Fault. After an Ambiguous one the service may have done what was asked: the next observation
// reads the result.
func (p *Plane) Act(ctx context.Context, desired *model.Desired, action model.Action) error {
	if desired == nil || desired.Spec == nil {
		return planeshared.Refusal(action, errors.New("there is no desired cluster"))
	}
	act := p.over(p.conn.SendingFile(planeshared.OfFile(action.Kind))).actOf(action.Kind)
	if act == nil {
		return planeshared.Refusal(action, fmt.Errorf("the REST service has no action %s", action.Kind))
	}
	// Marked before and after: an observation that runs meanwhile may have read
	// the state from before.
	defer p.touched(desired, action)
	p.touched(desired, action)
	return act(ctx, desired, action)
}

type actFunc func(context.Context, *model.Desired, model.Action) error

func (p *Plane) actOf(kind model.Kind) actFunc {
	switch kind {
	case model.RegisterCluster:
		return p.registerCluster
	case model.ImportCluster:
		return p.importCluster
	case model.WithdrawCluster:
		return p.withdrawCluster
	case model.UpdateCluster:
		return p.updateCluster
	case model.SetOverrides:
		return p.setOverrides
	case model.UploadManifest:
		return p.uploadManifest
	case model.RemoveManifest:
		return p.removeManifest
	case model.IgnoreValidations:
		return p.ignoreValidations
	case model.RegisterInfraEnv:
		return p.registerInfraEnv
	case model.UpdateInfraEnv:
		return p.updateInfraEnv
	case model.WithdrawInfraEnv:
		return p.withdrawInfraEnv
	case model.RenewImage:
		return p.renewImage
	case model.UpdateHost:
		return p.updateHost
	case model.BindHost:
		return p.bindHost
	case model.StartInstall:
		return p.clusterAction("install")
	case model.AllowAddHosts:
		return p.clusterAction("allow-add-hosts")
	case model.InstallHost:
		return p.installHost
	case model.RemoveHost:
		return p.removeHost
	case model.ReturnHost:
		return p.returnHost
	}
	return nil
}

// touched makes the watches read again what an action has changed.
func (p *Plane) touched(desired *model.Desired, action model.Action) {
	parts := []observationPart{clusterRecord}
	switch action.Kind {
	case model.RegisterCluster, model.ImportCluster, model.WithdrawCluster:
		parts = []observationPart{clusterList}
	case model.RegisterInfraEnv, model.UpdateInfraEnv, model.WithdrawInfraEnv, model.RenewImage:
		parts = []observationPart{infraEnvList}
	case model.IgnoreValidations:
		parts = []observationPart{ignoredChecks, clusterRecord} // which may be ready now
	case model.UploadManifest, model.RemoveManifest:
		parts = []observationPart{manifestList}
	case model.UpdateHost, model.BindHost, model.InstallHost, model.RemoveHost, model.ReturnHost:
		parts = []observationPart{hostList}
	case model.StartInstall, model.AllowAddHosts:
		parts = []observationPart{clusterRecord, hostList}
	}
	p.stale(desired.Query(), action.Target, parts...)
}

func (p *Plane) registerCluster(ctx context.Context, desired *model.Desired, action model.Action) error {
	settings := without(action.Settings, model.SettingInstallConfigOverrides, model.SettingTags)
	if settings[model.SettingLoadBalancer].Text() == objects.ClusterManaged {
		delete(settings, model.SettingLoadBalancer) // which older services know nothing else of
	}
	fields, err := p.tables.Cluster.Fields(settings)
	if err != nil {
		return planeshared.Refusal(action, err)
	}
	c := desired.Spec
	fields["name"] = c.Metadata.Name
	if c.Spec.BaseDomain != "" {
		fields["base_dns_domain"] = c.Spec.BaseDomain
	}
	fields["pull_secret"] = c.PullSecret().Reveal()
	fields["tags"] = objects.WriteTags(desired.Options.Run, c.Metadata.Tags)
	_, err = p.register(ctx, transport.Request{
		Op: "register cluster", On: fullName(c), Method: http.MethodPost, Path: "/v2/clusters", Body: fields,
	})
	return err
}

// register sends what makes an object, and returns the object's id. An answer without an id is not the service's, and a
// second request would get the same: if the first did make the object, the next look finds it.
func (p *Plane) register(ctx context.Context, r transport.Request) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	if err := p.conn.Do(ctx, r, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		fault := p.conn.Incomplete(r.Op, r.On)
		fault.Permanent = true
		return "", fault
	}
	return made.ID, nil
}

func fullName(c *spec.Cluster) string {
	if c.Spec.BaseDomain == "" {
		return c.Metadata.Name
	}
	return c.Metadata.Name + "." + c.Spec.BaseDomain
}

// withdrawCluster deletes the cluster if, as late as can be, it is empty and this run's.
func (p *Plane) withdrawCluster(ctx context.Context, desired *model.Desired, action model.Action) error {
	wire, err := p.getCluster(ctx, action.Target)
	if transport.Gone(err) {
		return nil
	} else if err != nil {
		return err
	}
	ref := objects.RefOf(wire, desired.Options.Run)
	empty, err := p.isEmpty(ctx, action.Target)
	if err != nil {
		return err
	}
	if !ref.Owned || ref.Run != desired.Options.Run || !empty {
		return planeshared.Refusal(action, errors.New("it is not this run's, or not empty any more"))
	}
	return p.DeleteCluster(ctx, action.Target, install.DeleteOptions{})
}

func (p *Plane) updateCluster(ctx context.Context, desired *model.Desired, action model.Action) error {
	fields, err := p.tables.Cluster.Fields(without(action.Settings, model.SettingTags, model.SettingPullSecret))
	if err != nil {
		return planeshared.Refusal(action, err)
	}
	if action.Settings[model.SettingPullSecret] != "" {
		fields["pull_secret"] = desired.Spec.PullSecret().Reveal()
	}
	if users, adopts := action.Settings[model.SettingTags]; adopts {
		var tags []string
		if err := users.Decode(&tags); err != nil {
			return planeshared.Refusal(action, err)
		}
		mark := "" // it is not this run's to withdraw
		if desired.Options.Exact {
			mark = desired.Options.Run // it is known by that
		}
		fields["tags"] = objects.WriteTags(mark, tags)
	}
	return p.patch(ctx, "update cluster", action.Name, "/v2/clusters/{cluster_id}", map[string]string{"cluster_id": action.Target}, fields)
}

func without(settings model.Settings, drop ...model.Setting) model.Settings {
	out := maps.Clone(settings)
	for _, key := range drop {
		delete(out, key)
	}
	return out
}

func (p *Plane) patch(ctx context.Context, op, on, path string, in map[string]string, fields any) error {
	return p.conn.Do(ctx, transport.Request{Op: op, On: on, Method: http.MethodPatch, Path: path, In: in, Body: fields}, nil)
}

// setOverrides sends the overrides as the operation wants them: a JSON text
// whose content is the JSON document. They replace those from before.
func (p *Plane) setOverrides(ctx context.Context, _ *model.Desired, action model.Action) error {
	document := action.Settings[model.SettingInstallConfigOverrides].Text()
	if document == "" {
		document = "{}" // what clears them
	}
	if !json.Valid([]byte(document)) {
		return planeshared.Refusal(action, errors.New("the install-config overrides are not JSON"))
	}
	return p.patch(ctx, "set install-config overrides of", action.Name, "/v2/clusters/{cluster_id}/install-config",
		map[string]string{"cluster_id": action.Target}, document)
}

func (p *Plane) clusterAction(verb string) actFunc {
	return func(ctx context.Context, _ *model.Desired, action model.Action) error {
		return p.clusterVerb(ctx, verb, action.Target)
	}
}

func (p *Plane) clusterVerb(ctx context.Context, verb, id string) error {
	return p.conn.Do(ctx, transport.Request{
		Op: verb + " cluster", On: id, Method: http.MethodPost, Path: "/v2/clusters/{cluster_id}/actions/" + verb,
		In: map[string]string{"cluster_id": id},
	}, nil)
}

// registerInfraEnv always says the version, since the service would take its
// newest one otherwise, and the architecture if it is known. Target is the
// cluster that its hosts belong to from the start.
func (p *Plane) registerInfraEnv(ctx context.Context, desired *model.Desired, action model.Action) error {
	c := desired.Spec.ForInfraEnv(action.Name)
	if c.Existing() != "" && c.PullSecret().IsZero() { // which such a file may leave out
		return &model.Fault{
			Code: model.CodeInput, Op: "register InfraEnv", On: action.Name, Permanent: true,
			Err:  errors.New("a new discovery image needs the pull secret, which is not given"),
			Next: "give --pull-secret FILE, or write spec.pullSecret into the file, and run the same command again",
		}
	}
	settings := maps.Clone(action.Settings)
	if settings == nil {
		settings = model.Settings{}
	}
	if settings[model.SettingVersion] == "" && settings[model.SettingOSVersion] == "" && c.Spec.OpenShift.Version != "" {
		settings[model.SettingVersion] = model.ValueOf(c.Spec.OpenShift.Version)
	}
	if settings[model.SettingArch].Text() == string(spec.Multi) {
		delete(settings, model.SettingArch) // an image is for one architecture
	}
	fields, err := p.tables.InfraEnv.Fields(settings)
	if err != nil {
		return planeshared.Refusal(action, err)
	}
	fields["name"] = action.Name
	fields["pull_secret"] = c.PullSecret().Reveal()
	if action.Target != "" {
		fields["cluster_id"] = action.Target
	}
	maps.Copy(fields, c.Spec.Overrides.InfraEnv)
	id, err := p.register(ctx, transport.Request{
		Op: "register InfraEnv", On: action.Name, Method: http.MethodPost, Path: "/v2/infra-envs", Body: fields,
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made[id] = true
	return nil
}

// withdrawInfraEnv deletes an InfraEnv of ours; the service refuses while hosts belong to it.
func (p *Plane) withdrawInfraEnv(ctx context.Context, _ *model.Desired, action model.Action) error {
	err := p.DeleteInfraEnv(ctx, action.Target, install.DeleteOptions{})
	if transport.Gone(err) {
		return nil
	}
	return err
}

func (p *Plane) updateInfraEnv(ctx context.Context, desired *model.Desired, action model.Action) error {
	fields, err := p.tables.InfraEnv.Fields(without(action.Settings, model.SettingArch, model.SettingPullSecret))
	if err != nil {
		return planeshared.Refusal(action, err)
	}
	if action.Settings[model.SettingPullSecret] != "" {
		fields["pull_secret"] = desired.Spec.ForInfraEnv(action.Name).PullSecret().Reveal()
	}
	for name := range desired.Spec.Spec.Overrides.InfraEnv { // as when it was registered
		delete(fields, name)
	}
	if _, has := fields["proxy"]; has {
		return p.updateProxy(ctx, action, fields)
	}
	return p.conn.Do(ctx, infraEnvPatch(action, fields), nil)
}

func infraEnvPatch(action model.Action, fields any) transport.Request {
	return transport.Request{
		Op: "update InfraEnv", On: action.Name, Method: http.MethodPatch, Path: "/v2/infra-envs/{infra_env_id}",
		In: map[string]string{"infra_env_id": action.Target}, Body: fields,
	}
}

// updateProxy writes what has a proxy among it, and looks whether that was taken: the
// service drops a proxy whose addresses, joined, are those of the last one it was sent,
// and says nothing. What it drops it takes after another one.
func (p *Plane) updateProxy(ctx context.Context, action model.Action, fields map[string]any) error {
	var want spec.Proxy
	if err := action.Settings[model.SettingProxy].Decode(&want); err != nil {
		return planeshared.Refusal(action, err)
	}
	var now objects.InfraEnv
	err := p.conn.Do(ctx, infraEnvPatch(action, fields), &now)
	if err != nil || now.Proxy == nil || clustersettings.Same(model.SettingProxy, action.Settings[model.SettingProxy],
		p.tables.InfraEnv.Settings(&now)[model.SettingProxy]) {
		return err
	}
	another := want
	another.No = append(slices.Clone(want.No), "localhost")
	for _, proxy := range []spec.Proxy{another, want} {
		fields, err := p.tables.InfraEnv.Fields(model.Settings{model.SettingProxy: model.ValueOf(proxy)})
		if err != nil {
			return planeshared.Refusal(action, err)
		}
		if err := p.conn.Do(ctx, infraEnvPatch(action, fields), nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) renewImage(ctx context.Context, _ *model.Desired, action model.Action) error {
	_, _, err := p.DownloadISOURL(ctx, action.Target)
	return err
}
