package agentmedia

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	pollInterval = 5 * time.Second
	// startTries is for preparations that fail, and startPause what is waited after
	// each.
	startTries = 4
	startPause = 30 * time.Second
)

// StartInstall waits until exactly the required number of the cluster's hosts is ready,
// and starts the installation. It binds hosts without a cluster, and tries again a few
// times if the preparation fails.
func (c *Client) StartInstall(ctx context.Context) (Result, error) {
	required, err := c.required()
	if err != nil {
		return Result{}, err
	}
	deadline := c.deadline("start the installation", pollInterval)
	cluster, err := c.awaitCluster(ctx, deadline)
	if err != nil {
		return Result{}, err
	}
	result := Result{Kind: "cluster", Name: cluster.Name, ID: cluster.ID, Done: unchanged}
	tries, rested := 0, 0
	err = deadline.await(ctx, func() (bool, wait, error) {
		observed, err := c.Service.Observe(ctx, model.Query{ID: cluster.ID}, nil)
		switch {
		case err != nil:
			return false, wait{}, err
		case observed.Cluster == nil:
			return true, wait{}, &model.Fault{Code: model.CodeNotFound, Op: "start the installation", On: cluster.Name, Permanent: true,
				Err: errors.New("the cluster is gone")}
		case observed.Stale != "":
			return false, wait{what: "the service: " + observed.Stale, code: model.CodeTimeout}, nil
		}
		next, on, err := c.startStep(observed, required, tries)
		switch {
		case err != nil || next == stepDone:
			return true, on, err
		case next == stepWait && registered(observed) < required:
			on, err = c.bindHosts(ctx, observed.Cluster, on)
			return false, on, err
		case next == stepWait:
			return false, on, nil
		case rested < tries: // hosts that could not prepare need time, too; what is started then is observed again before
			rested = tries
			what := "another attempt: the service failed to prepare the installation: " + preparationReason(observed.Cluster)
			return false, wait{what: what, code: model.CodeFailed, pause: startPause}, nil
		}
		if on, err = c.start(ctx, observed.Cluster); err == nil {
			result.Done = "started"
			tries++
		}
		return err != nil, on, err
	})
	return result, err
}

func (c *Client) start(ctx context.Context, cluster *model.Cluster) (wait, error) {
	c.Say("starting the installation of cluster %s", cluster.Name)
	err := c.Service.Act(ctx, byID(), model.Action{Kind: model.StartInstall, Scope: model.ScopeCluster, Target: cluster.ID,
		Name: cluster.Name})
	on := wait{what: "the service to start the installation", code: model.CodeTimeout}
	if err == nil || context.Cause(ctx) != nil || !passing(err) {
		return on, err
	}
	on.what += ": " + err.Error() // the next look shows its result
	return on, nil
}

type step int

const (
	stepWait step = iota
	stepStart
	stepDone
)

// startStep decides. tries is how often this run has started.
func (c *Client) startStep(o *model.Observed, required, tries int) (step, wait, error) {
	cluster := o.Cluster
	switch cluster.State {
	case model.ClusterInstalling, model.ClusterNeedsUser, model.ClusterFinalizing, model.ClusterInstalled, model.ClusterAddingHosts:
		return stepDone, wait{}, nil
	case model.ClusterPreparing:
		return stepWait, wait{what: "the service to prepare the installation", code: model.CodeTimeout}, nil
	case model.ClusterFailed, model.ClusterCancelled:
		return stepWait, wait{}, &model.Fault{
			Code: model.CodeFailed, Op: "start the installation", On: cluster.Name, Permanent: true,
			Err: fmt.Errorf("it has ended with the state %s: %s", cluster.Status, cluster.StatusInfo), Next: model.Command("why cluster",
				cluster.Name),
		}
	case model.ClusterUnknown:
		return stepWait, wait{}, &model.Fault{
			Code: model.CodeFailure, Op: "start the installation", On: cluster.Name, Permanent: true,
			Err: fmt.Errorf("the cluster is %s, a state that this version of oaictl does not know", cluster.Status),
		}
	}
	failures, err := readFailures(c.Env.Failures)
	if err != nil {
		return stepWait, wait{}, err
	}
	if len(failures) > 0 {
		return stepWait, wait{
			what: "hosts to be configured: " + failures[0], code: model.CodeBlocked, next: "{agent status}",
		}, nil
	}
	known := 0
	for i := range o.Hosts {
		if o.Hosts[i].State == model.HostReady {
			known++
		}
	}
	switch {
	case known > required:
		return stepWait, wait{
			what: fmt.Sprintf("%s to be removed: %d ready, expected %d", listtext.CountText(known-required, "host"), known, required),
			code: model.CodeNeedsUser, next: "switch off the machines that do not belong to the cluster and delete their hosts, or correct " +
				"the number of hosts",
		}, nil
	case known < required && registered(o) < required:
		return stepWait, wait{
			what: fmt.Sprintf("%s to be ready: %d ready, %d registered", listtext.CountText(required, "host"), known, registered(o)),
			code: model.CodeTimeout,
			next: "boot the machines from the medium, and run the same command again",
		}, nil
	case known < required || cluster.State != model.ClusterReady:
		return stepWait, wait{
			what: fmt.Sprintf("the checks of the service: %d of %d hosts are ready; %s", known, required, cluster.StatusInfo),
			code: model.CodeBlocked,
			next: model.Command("why cluster", cluster.Name),
		}, nil
	case tries >= startTries:
		return stepWait, wait{}, &model.Fault{
			Code: model.CodeFailed, Op: "start the installation", On: cluster.Name,
			Err:  fmt.Errorf("the service failed %d times to prepare it: %s", tries, preparationReason(cluster)),
			Next: model.Command("why cluster", cluster.Name) + ", remove the cause, and run the same command again",
		}
	}
	return stepStart, wait{}, nil
}

// registered is how many hosts the cluster has, without unbound ones of its InfraEnv.
func registered(o *model.Observed) int { return len(o.Hosts) - len(unbound(o.Hosts)) }

func preparationReason(cluster *model.Cluster) string {
	return cmp.Or(cluster.Preparation.Reason, cluster.StatusInfo)
}

// required is the number of hosts: what the units say, else the AgentClusterInstall.
func (c *Client) required() (int, error) {
	controlPlane, arbiters, workers := c.Env.ControlPlane, c.Env.Arbiters, c.Env.Workers
	if controlPlane < 0 || workers < 0 || arbiters < 0 {
		manifest, err := object[hive.AgentClusterInstall](c.Env.AgentClusterInstall, hubapi.KindAgentClusterInstall)
		switch {
		case err == nil:
			said := manifest.Spec.ProvisionRequirements
			for _, count := range []struct {
				to   *int
				said int
			}{{&controlPlane, said.ControlPlaneAgents}, {&arbiters, said.ArbiterAgents}, {&workers, said.WorkerAgents}} {
				if *count.to < 0 {
					*count.to = count.said
				}
			}
		case missing(err) && controlPlane >= 0 && workers >= 0:
			arbiters = 0 // units of releases before arbiters name the other two only
		case missing(err):
			return 0, &model.Fault{
				Code: model.CodeUsage, Op: "count the hosts to be installed", Permanent: true,
				Next: "set REQUIRED_MASTER_NODES and REQUIRED_WORKER_NODES",
				Err:  fmt.Errorf("REQUIRED_MASTER_NODES and REQUIRED_WORKER_NODES are not set, and there is no %s", c.Env.AgentClusterInstall),
			}
		default:
			return 0, err
		}
	}
	total := controlPlane + arbiters + workers
	if total == 0 {
		return 0, &model.Fault{Code: model.CodeInput, Op: "count the hosts to be installed", Permanent: true,
			Err: errors.New("the medium asks for none")}
	}
	return total, nil
}

// boundable is the one state in which the service binds a host.
const boundable = "known-unbound"

// unbound are hosts whose InfraEnv was registered before the cluster was.
func unbound(hosts []model.Host) []model.Host {
	var found []model.Host
	for _, host := range hosts {
		if host.State == model.HostUnbound {
			found = append(found, host)
		}
	}
	return found
}

// bindHosts binds hosts without a cluster, each as soon as the service takes it, and
// gives what of that is waited for, or otherwise.
func (c *Client) bindHosts(ctx context.Context, cluster *model.Cluster, otherwise wait) (wait, error) {
	infraEnv, err := c.infraEnv(ctx)
	if err != nil || infraEnv == nil || infraEnv.ClusterID != "" {
		return otherwise, err
	}
	hosts, err := c.Service.ListHosts(ctx, infraEnv.ID)
	if err != nil {
		return otherwise, err
	}
	waiting := unbound(hosts)
	if len(waiting) == 0 {
		return otherwise, nil
	}
	for _, host := range waiting {
		if host.Status != boundable {
			continue
		}
		c.Say("binding host %s to cluster %s", host.Hostname, cluster.Name)
		if err := c.Service.BindHost(ctx, infraEnv.ID, host.ID, cluster.ID); err != nil {
			return otherwise, err
		}
	}
	on := wait{what: fmt.Sprintf("%s without a cluster to be bound to %s", listtext.CountText(len(waiting), "host"), cluster.Name),
		code: model.CodeTimeout}
	if i := slices.IndexFunc(waiting, func(h model.Host) bool { return h.Status != boundable && h.Inventory.Known }); i >= 0 {
		on.what += fmt.Sprintf("; %s is %s: %s", waiting[i].Hostname, waiting[i].Status, waiting[i].StatusInfo)
		on.code, on.next = model.CodeBlocked, "{agent status}"
	}
	return on, nil
}
