package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

const hostPath = "/v2/infra-envs/{infra_env_id}/hosts/{host_id}"

func hostIn(action model.Action) map[string]string {
	return map[string]string{"infra_env_id": action.InfraEnv, "host_id": action.Target}
}

// updateHost sets role, name, disks, labels, pool and fencing in one
// transaction, then installer arguments and Ignition, which have requests of
// their own. All of them may be sent again.
func (p *Plane) updateHost(ctx context.Context, desired *model.Desired, action model.Action) error {
	fields, err := p.hostFields(ctx, desired, action)
	if err != nil {
		return planeshared.Refusal(action, err)
	}
	if len(fields) > 0 {
		if err := p.patch(ctx, "update host", action.Name, hostPath, hostIn(action), fields); err != nil {
			return err
		}
	}
	if v, set := action.Settings[model.SettingInstallerArgs]; set {
		args := []string{}
		if err := v.Decode(&args); err != nil {
			return planeshared.Refusal(action, err)
		}
		if err := p.patch(ctx, "set installer arguments of", action.Name, hostPath+"/installer-args", hostIn(action),
			map[string]any{"args": append([]string{}, args...)}); err != nil {
			return err
		}
	}
	if v, set := action.Settings[model.SettingIgnition]; set {
		return p.patch(ctx, "set Ignition of", action.Name, hostPath+"/ignition", hostIn(action), map[string]any{"config": v.Text()})
	}
	return nil
}

func (p *Plane) hostFields(ctx context.Context, desired *model.Desired, action model.Action) (map[string]any, error) {
	fields, err := p.tables.Host.Fields(without(action.Settings, model.SettingInstallerArgs, model.SettingIgnition, model.SettingFencing,
		model.SettingEndpointToken, model.SettingHostExtra))
	if err != nil {
		return nil, err
	}
	extra := map[string]any{}
	if v, set := action.Settings[model.SettingHostExtra]; set {
		if err := v.Decode(&extra); err != nil {
			return nil, err
		}
	}
	if v, set := action.Settings[model.SettingKeepDisks]; set {
		var keep []string
		if err := v.Decode(&keep); err != nil {
			return nil, err
		}
		gone, err := p.disksToRelease(ctx, desired, action.Target, keep)
		if err != nil {
			return nil, err
		}
		if all := append(objects.SkipFormatting(keep, true), objects.SkipFormatting(gone, false)...); len(all) > 0 {
			fields["disks_skip_formatting"] = all
		}
	}
	host := desired.Spec.Host(action.Name)
	if host == nil {
		name, _ := strings.CutPrefix(string(action.Scope), "host/")
		host = desired.Spec.Host(name)
	}
	if host == nil {
		maps.Copy(fields, extra)
		return fields, nil
	}
	if v, set := action.Settings[model.SettingFencing]; set {
		if fields["fencing_credentials"], err = objects.Fencing(host, v.Text()); err != nil {
			return nil, err
		}
	}
	if _, set := action.Settings[model.SettingEndpointToken]; set {
		if host.IgnitionEndpoint == nil || host.IgnitionEndpoint.Token == nil {
			return nil, fmt.Errorf("host %s has no ignitionEndpoint.token", host.Name)
		}
		fields["ignition_endpoint_token"] = host.IgnitionEndpoint.Token.Secret().Reveal()
	}
	maps.Copy(fields, extra) // in the service's own words, and so the last one
	return fields, nil
}

// disksToRelease are disks that are kept and shall not be: the request has to say so of each.
func (p *Plane) disksToRelease(ctx context.Context, desired *model.Desired, hostID string, keep []string) ([]string, error) {
	_, kept, err := p.forActions(ctx, desired)
	return slices.DeleteFunc(slices.Clone(kept[hostID]), func(id string) bool { return slices.Contains(keep, id) }), err
}

// forActions is what the last observation of a cluster says to actions: its id, and which disks
// the service does not format, by host. A cluster that was not observed is observed now.
func (p *Plane) forActions(ctx context.Context, desired *model.Desired) (id string, kept map[string][]string, err error) {
	query := desired.Query()
	w := p.watchOf(query)
	if id, kept = w.forActions(); id == "" {
		_, err = p.Observe(ctx, query, nil)
		id, kept = w.forActions()
	}
	return id, kept, err
}

func (p *Plane) bindHost(ctx context.Context, desired *model.Desired, action model.Action) error {
	id, _, err := p.forActions(ctx, desired)
	switch {
	case err != nil:
		return err
	case id == "":
		return planeshared.Refusal(action, errors.New("the service has no cluster to bind to"))
	}
	return p.conn.Do(ctx, transport.Request{
		Op: "bind host", On: action.Name, Method: http.MethodPost, Path: hostPath + "/actions/bind",
		In: hostIn(action), Body: map[string]any{"cluster_id": id},
	}, nil)
}

func (p *Plane) installHost(ctx context.Context, _ *model.Desired, action model.Action) error {
	return p.conn.Do(ctx, transport.Request{
		Op: "install host", On: action.Name, Method: http.MethodPost, Path: hostPath + "/actions/install", In: hostIn(action),
	}, nil)
}

// returnHost takes a host out of its cluster, and leaves it to the InfraEnv that it came from.
func (p *Plane) returnHost(ctx context.Context, _ *model.Desired, action model.Action) error {
	return p.conn.Do(ctx, transport.Request{
		Op: "unbind host", On: action.Name, Method: http.MethodPost, Path: hostPath + "/actions/unbind", In: hostIn(action),
	}, nil)
}

// removeHost has the service forget a host. The cluster that it was part of is not asked.
func (p *Plane) removeHost(ctx context.Context, _ *model.Desired, action model.Action) error {
	err := p.DeleteHost(ctx, action.InfraEnv, action.Target, install.DeleteOptions{})
	if transport.Gone(err) {
		return nil
	}
	return err
}
