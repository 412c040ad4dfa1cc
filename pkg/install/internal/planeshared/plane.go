// Package planeshared is what the service planes share: how they judge actions, and how they
// read what agents report.
package planeshared

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// OfFile reports whether what an action of a kind writes comes from the user's file, so that a refusal of it is the
// file's fault.
func OfFile(kind model.Kind) bool {
	switch kind {
	case model.RegisterCluster, model.ImportCluster, model.UpdateCluster, model.SetOverrides, model.UploadManifest, model.IgnoreValidations,
		model.RegisterInfraEnv, model.UpdateInfraEnv, model.RegisterHost, model.UpdateHost:
		return true
	}
	return false
}

// Refusal is the error for an action that cannot be sent at all.
func Refusal(action model.Action, err error) error {
	return &model.Fault{Code: model.CodeFailure, Op: string(action.Kind), On: action.Name, Permanent: true, Err: err}
}

// Only is the one of several things that a person may mean by a text, or the fault that
// there is not exactly one: none is its error where there is none.
func Only[T any](kind, text string, none error, found []T, name func(T) string) (T, error) {
	var nothing T
	switch len(found) {
	case 0:
		return nothing, none
	case 1:
		return found[0], nil
	}
	names := make([]string, 0, len(found))
	for _, f := range found {
		names = append(names, name(f))
	}
	return nothing, &model.Fault{
		Code: model.CodeNotFound, Op: "find " + kind, On: text, Permanent: true,
		Err: fmt.Errorf("there are several: %s", strings.Join(names, ", ")), Next: "use the id",
	}
}

// SetEventQuery sets the parameters of a page of the service's event log, save for what the events are about.
func SetEventQuery(query url.Values, filter install.EventFilter, offset int) {
	query.Set("order", "ascending")
	if filter.Newest {
		query.Set("order", "descending")
	}
	query.Set("limit", "500")
	if filter.Limit > 0 {
		query.Set("limit", strconv.Itoa(filter.Limit))
	}
	if offset > 0 {
		query.Set("offset", strconv.Itoa(offset))
	}
	if filter.Message != "" {
		query.Set("message", filter.Message)
	}
	if len(filter.Severities) > 0 { // of a repeated parameter the last would count
		query.Set("severities", strings.Join(filter.Severities, ","))
	}
}

// BMCAddress is the management controller's address; agents say 0.0.0.0 and
// ::/0 for none.
func BMCAddress(candidates ...string) string {
	for _, text := range candidates {
		bare, _, _ := strings.Cut(text, "/")
		if address, err := netip.ParseAddr(bare); err == nil && !address.IsUnspecified() {
			return address.String()
		}
	}
	return ""
}

// SortNetworks brings static networks into the order of their first MAC addresses.
func SortNetworks(networks []model.StaticNetwork) {
	first := func(n model.StaticNetwork) string {
		if len(n.MACs) == 0 {
			return n.YAML
		}
		return n.MACs[0].MAC
	}
	slices.SortStableFunc(networks, func(a, b model.StaticNetwork) int { return cmp.Compare(first(a), first(b)) })
}

// Refined splits the state that the service calls insufficient: a cluster that was never evaluated is a draft, one with
// hosts that are still to come or still being discovered waits for them, and only then do its validations count. hosts
// are those of the cluster.
func Refined(state model.ClusterState, validations []model.Validation, hosts []model.Host) model.ClusterState {
	if state != model.ClusterBlocked {
		return state
	}
	if len(validations) == 0 {
		return model.ClusterDraft
	}
	for i := range hosts {
		switch hosts[i].State {
		case model.HostDiscovering, model.HostBinding, model.HostUnbound:
		default:
			return state
		}
	}
	return model.ClusterDiscovering
}
