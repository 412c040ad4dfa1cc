package agentmedia

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ImportCluster makes a record of the installed cluster that the medium adds nodes to,
// with its networking, if the service has none. One half made is completed.
func (c *Client) ImportCluster(ctx context.Context) (Result, error) {
	if err := c.importVariables(); err != nil {
		return Result{}, err
	}
	settings, err := readImport(c.Env.ClusterConfig)
	if err != nil {
		return Result{}, err
	}
	find := func() (*model.Cluster, error) {
		found, err := c.Service.ImportedClusters(ctx, c.Env.ClusterID)
		return only("cluster", found, err, clusterLabel)
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
	absent := model.Settings{}
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
	return result, c.Service.Act(ctx, byID(), model.Action{
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
	return &model.Fault{
		Code: model.CodeUsage, Op: "import cluster", Permanent: true, Err: fmt.Errorf("not set: %s", strings.Join(absent, ", ")),
		Next: model.Advice("set " + strings.Join(absent, ", ") + " in the environment"),
	}
}

func readImport(folder string) (model.Settings, error) {
	var config struct {
		Networking struct {
			UserManagedNetworking *bool `json:"userManagedNetworking"`
		} `json:"networking"`
	}
	path := filepath.Join(folder, "import-cluster-config.json")
	if err := readOne(path, &config); err != nil {
		return nil, err
	}
	settings := model.Settings{model.SettingUserManaged: model.ValueOf(false)}
	if managed := config.Networking.UserManagedNetworking; managed != nil {
		settings[model.SettingUserManaged] = model.ValueOf(*managed)
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
	settings[model.SettingIgnitionEndpoint] = model.ValueOf(value)
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

const addPoll = 10 * time.Second

// installTries is how often a host is installed that the service goes on to call known.
const installTries = 3

// AddNode installs this machine into the imported cluster, as soon as its host is
// known.
func (c *Client) AddNode(ctx context.Context) (Result, error) {
	infraEnv, err := c.infraEnvID()
	if err != nil {
		return Result{}, err
	}
	macs, err := c.machineMACs()
	if err != nil {
		return Result{}, err
	}
	var result Result
	tries := 0
	err = c.deadline("add this node", addPoll).await(ctx, func() (bool, wait, error) {
		hosts, err := c.Service.ListHosts(ctx, infraEnv)
		if err != nil {
			return false, wait{}, err
		}
		host := hostWith(hosts, (&hostConfig{macs: macs}).has) // nil until it has reported its interfaces
		next, on, err := addStep(host, tries)
		if err != nil || next == stepWait {
			return err != nil, on, err
		}
		result = Result{Kind: "host", Name: host.Hostname, ID: host.ID, Done: cmp.Or(result.Done, unchanged)}
		if next == stepDone {
			return true, wait{}, nil
		}
		c.Say("installing host %s", host.Hostname)
		err = c.Service.Act(ctx, byID(), model.Action{
			Kind: model.InstallHost, Scope: model.ScopeHost.Of(host.Hostname), Target: host.ID, InfraEnv: infraEnv, Name: host.Hostname,
		})
		if err != nil && (!passing(err) || context.Cause(ctx) != nil) {
			return true, wait{}, err
		}
		tries++
		result.Done = "installing"
		return false, wait{what: "the service to start the installation", code: model.CodeTimeout}, nil
	})
	return result, err
}

// hostWith is the first host with a wanted MAC address, nil for none.
func hostWith(hosts []model.Host, wanted func(mac string) bool) *model.Host {
	i := slices.IndexFunc(hosts, func(h model.Host) bool {
		return slices.ContainsFunc(h.Inventory.Interfaces, func(nic model.Interface) bool { return wanted(nic.MAC) })
	})
	if i < 0 {
		return nil
	}
	return &hosts[i]
}

// addStep decides. A host that the service still calls known was not accepted for installing, no matter what the
// service answered.
func addStep(host *model.Host, tries int) (step, wait, error) {
	if host == nil {
		return stepWait, wait{what: "this machine to register", code: model.CodeTimeout,
			next: "check the network of the machine and the agent's log"}, nil
	}
	fault := func(code model.Code, format string, arguments ...any) error {
		return &model.Fault{Code: code, Op: "add this node", On: host.Hostname, Permanent: true, Err: fmt.Errorf(format, arguments...)}
	}
	switch host.State {
	case model.HostInstalling, model.HostInstalled, model.HostAdded, model.HostPreparing, model.HostNeedsUser:
		return stepDone, wait{}, nil
	case model.HostFailed, model.HostCancelled:
		return stepWait, wait{}, fault(model.CodeFailed, "it has ended with the state %s: %s", host.Status, host.StatusInfo)
	case model.HostUnknown:
		return stepWait, wait{}, fault(model.CodeFailure, "the host is %s, a state that this version of oaictl does not know", host.Status)
	case model.HostUnbound:
		return stepWait, wait{}, fault(model.CodeNotFound,
			"its InfraEnv belongs to no cluster: import the cluster before the InfraEnv is registered")
	case model.HostReady:
		if tries >= installTries {
			return stepWait, wait{}, fault(model.CodeFailure, "oaictl asked the service %d times to install it, but the "+
				"installation has not started", tries)
		}
		return stepStart, wait{}, nil
	case model.HostBlocked:
		return stepWait, wait{what: "the checks of the service: " + host.StatusInfo, code: model.CodeBlocked, next: "{agent status}"}, nil
	}
	return stepWait, wait{what: "this machine to be ready: it is " + host.Status, code: model.CodeTimeout}, nil
}
