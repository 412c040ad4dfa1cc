//go:build e2e && unix

package performance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// caller speaks to a service.
type caller struct{ base string }

func (c caller) do(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/api/assisted-install"+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

func (c caller) removeHosts(ctx context.Context, infraEnv string) {
	var hosts []struct{ ID string }
	path := "/v2/infra-envs/" + infraEnv + "/hosts"
	_ = c.do(ctx, http.MethodGet, path, nil, &hosts)
	for _, h := range hosts {
		_ = c.do(ctx, http.MethodDelete, path+"/"+h.ID, nil, nil)
	}
}

// seen is what a script reads of a cluster.
type seen struct {
	ID     string
	Status string
	Hosts  []seenHost
}

type seenHost struct {
	ID         string
	Inventory  string
	InfraEnvID string `json:"infra_env_id"`
}

// plainScript installs a cluster as a script would that expects no failure.
func plainScript(ctx context.Context, address, file string) error {
	cluster, err := spec.Load(ctx, file, spec.Env{ReadFile: os.ReadFile})
	if err != nil {
		return err
	}
	api := caller{base: address}
	var made seen
	if err := api.do(ctx, http.MethodPost, "/v2/clusters", map[string]any{
		"name": cluster.Metadata.Name, "openshift_version": cluster.Spec.OpenShift.Version, "base_dns_domain": cluster.Spec.BaseDomain,
		"pull_secret": cluster.PullSecret().Reveal(), "high_availability_mode": "Full", "additional_ntp_source": "pool.ntp.org",
		"api_vips": []any{map[string]any{"ip": "192.168.127.100"}}, "ingress_vips": []any{map[string]any{"ip": "192.168.127.101"}},
	}, &made); err != nil {
		return err
	}
	if err := api.do(ctx, http.MethodPost, "/v2/infra-envs", map[string]any{
		"name": cluster.Metadata.Name, "cluster_id": made.ID, "pull_secret": cluster.PullSecret().Reveal(), "cpu_architecture": "x86_64",
		"openshift_version": cluster.Spec.OpenShift.Version, "image_type": "full-iso",
	}, nil); err != nil {
		return err
	}
	is := "/v2/clusters/" + made.ID
	until := func(reached func(seen) bool) (now seen, err error) {
		for {
			if err = api.do(ctx, http.MethodGet, is, nil, &now); err != nil || reached(now) {
				return now, err
			}
			if err = clock.Real().Sleep(ctx, pollInterval); err != nil {
				return now, err
			}
			now = seen{}
		}
	}
	known, err := until(func(now seen) bool {
		return len(now.Hosts) == len(cluster.Spec.Hosts) && !slices.ContainsFunc(now.Hosts, func(h seenHost) bool { return h.Inventory == "" })
	})
	if err != nil {
		return err
	}
	for _, h := range known.Hosts {
		for _, meant := range cluster.Spec.Hosts {
			if !strings.Contains(h.Inventory, meant.Match.MAC) {
				continue
			}
			role := map[string]string{"control-plane": "master", "worker": "worker"}[string(meant.Role)]
			change := map[string]any{"host_name": meant.Name, "host_role": role, "node_labels": labels(meant.Labels)}
			if err := api.do(ctx, http.MethodPatch, "/v2/infra-envs/"+h.InfraEnvID+"/hosts/"+h.ID, change, nil); err != nil {
				return err
			}
		}
	}
	if _, err := until(func(now seen) bool { return now.Status == "ready" }); err != nil {
		return err
	}
	if err := api.do(ctx, http.MethodPost, is+"/actions/install", nil, nil); err != nil {
		return err
	}
	if _, err := until(func(now seen) bool { return now.Status == "installed" }); err != nil {
		return err
	}
	return api.do(ctx, http.MethodGet, is+"/credentials", nil, &struct{}{})
}

func labels(all map[string]string) []map[string]string {
	var out []map[string]string
	for key, value := range all {
		out = append(out, map[string]string{"key": key, "value": value})
	}
	return out
}
