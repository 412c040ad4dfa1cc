package inmedia

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ImportCluster makes a record of the installed cluster that the medium adds
// nodes to, if the service has none, and tells it how that cluster is networked.
// A record that an earlier run left half made is completed.
func (c *Client) ImportCluster(ctx context.Context) (Result, error) {
	if err := c.importVariables(); err != nil {
		return Result{}, err
	}
	settings, err := readImport(c.Env.ClusterConfig)
	if err != nil {
		return Result{}, err
	}
	find := func() (*install.Cluster, error) {
		found, err := c.Service.ImportedClusters(ctx, c.Env.ClusterID)
		return only("cluster", found, err, func(c *install.Cluster) string { return fmt.Sprintf("%s (%s, %s)", c.ID, c.Name, c.Status) })
	}
	done := unchanged
	cluster, err := find()
	if err != nil {
		return Result{}, err
	}
	if cluster == nil {
		c.Say("importing cluster %s with the API %s", c.Env.ClusterName, c.Env.APIName)
		params := rest.Import{Name: c.Env.ClusterName, APIName: c.Env.APIName, OpenShiftID: c.Env.ClusterID}
		if cluster, err = create(ctx, func() error { return c.Service.ImportCluster(ctx, params) }, find); err != nil {
			return Result{}, err
		}
		done = "imported"
	}
	absent := install.Settings{}
	for setting, value := range settings {
		if cluster.Settings[setting] != value {
			absent[setting] = value
		}
	}
	result := Result{Kind: "cluster", Name: cluster.Name, ID: cluster.ID, Done: done}
	if len(absent) == 0 {
		return result, nil
	}
	c.Say("configuring the imported cluster %s", cluster.Name)
	if done == unchanged {
		result.Done = "completed"
	}
	return result, c.Service.Act(ctx, byID(), install.Action{
		Kind: model.UpdateCluster, Scope: model.ScopeCluster, Target: cluster.ID, Name: cluster.Name, Settings: absent,
	})
}

func (c *Client) importVariables() error {
	var absent []string
	for _, variable := range []struct{ name, value string }{
		{"CLUSTER_ID", c.Env.ClusterID}, {"CLUSTER_NAME", c.Env.ClusterName}, {"CLUSTER_API_VIP_DNS_NAME", c.Env.APIName},
	} {
		if variable.value == "" {
			absent = append(absent, variable.name)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return &install.Fault{
		Code: install.CodeUsage, Op: "import cluster", Permanent: true, Err: fmt.Errorf("not set: %s", strings.Join(absent, ", ")),
		Next: install.Advice("set " + strings.Join(absent, ", ") + " in the environment"),
	}
}

func readImport(folder string) (install.Settings, error) {
	var config struct {
		Networking struct {
			UserManagedNetworking *bool `json:"userManagedNetworking"`
		} `json:"networking"`
	}
	path := filepath.Join(folder, "import-cluster-config.json")
	if err := readOne(path, &config); err != nil {
		return nil, err
	}
	settings := install.Settings{setting.UserManaged: setting.ValueOf(false)}
	if managed := config.Networking.UserManagedNetworking; managed != nil {
		settings[setting.UserManaged] = setting.ValueOf(*managed)
	}
	var endpoint struct {
		URL string `json:"url"`
		CA  string `json:"ca_certificate"`
	}
	path = filepath.Join(folder, "worker-ignition-endpoint.json")
	if err := readOne(path, &endpoint); missing(err) {
		return settings, nil
	} else if err != nil {
		return nil, err
	}
	value := spec.IgnitionEndpoint{URL: endpoint.URL}
	if endpoint.URL == "" {
		return nil, badFile(path, errors.New("url is missing"))
	}
	if endpoint.CA != "" {
		pem, err := base64.StdEncoding.DecodeString(endpoint.CA)
		if err != nil {
			return nil, badFile(path, errors.New("ca_certificate is not base64"))
		}
		value.CA = &spec.PublicSource{Inline: string(pem)}
	}
	settings[setting.IgnEndpoint] = setting.ValueOf(value)
	return settings, nil
}

// readOne reads a file with one JSON object; an empty file is an error.
func readOne(path string, into any) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	docs, err := documents(path, data)
	switch {
	case err != nil:
		return err
	case len(docs) != 1:
		return badFile(path, errors.New("it should hold one JSON object"))
	}
	return docs[0].strict(into)
}
