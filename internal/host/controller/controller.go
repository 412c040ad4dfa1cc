//go:build linux

// Package controller is the assisted-installer-controller: a Job in the new cluster that reports to the service which hosts
// have become nodes, approves their requests for certificates, waits for operators and completes the installation.
//
// It leaves out what the original does against a race of releases around 4.5, in which another Service took the address of the
// cluster's DNS: for that the controller would need the right to delete any Service. It does not approve all requests for
// certificates either, see lookAtRequests.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Controller is one run of the controller. Its exported fields are set before Run, all of them.
type Controller struct {
	Config  Config
	Service Service
	Cluster Cluster
	// Administrator makes a client from the kubeconfig of the administrator.
	Administrator func(kubeconfig []byte) (Administrator, error)
	Runner        machine.Runner
	Files         hostfile.Files
	// Temporary is the folder for temporary files, os.TempDir().
	Temporary string
	Clock     clock.Clock
	Log       *slog.Logger
	// Recent is the end of the log so far, such as that of a Tail.
	Recent func() []byte

	// counting is the context of counts of reboots. The end of the installation does not end them: the last node is ready shortly
	// before.
	counting    context.Context
	agentBased  bool
	applied     chan struct{} // closed when the manifests of the agent-based installer are applied, or never will be
	initializes bool          // nodes do not wait for a cloud provider
	bootstrap   []byte        // a kubeconfig of the administrator that the machine has; nil if it has none
	running     sync.WaitGroup
	status      status
	operators   operatorList
	gathered    gathered
	began       time.Time       // used by one goroutine alone, as noticed is
	noticed     map[string]bool // requests and the reasons why they are not approved
	admin       struct {
		mu     sync.Mutex
		client Administrator
	}

	mu   sync.Mutex
	seen known
}

const (
	readyEvent    = "AssistedControllerIsReady"
	readyInterval = time.Second
	readyLimit    = 70 * time.Minute
	// hostsLimit is how long the service may take to say which hosts the cluster has. That of the agent-based installer is taken to
	// have ended then.
	hostsLimit = 2 * time.Minute
	// unauthorizedLimit is how many answers in a row may say that the token is not good.
	unauthorizedLimit = 3
)

// errEnded ends the work beside when the service says that the cluster has ended.
var errEnded = errors.New("the installation ended")

// ErrGivenUp is the error of a cluster that the service does not have any more, or does not show to this token.
var ErrGivenUp = errors.New("the service does not have this cluster any more, or does not accept the token")

// Run works until the service says that the installation ended. It returns an error wrapping ErrGivenUp if the service will
// never say so: the Job is not to start the controller again then.
func (c *Controller) Run(ctx context.Context) error {
	counting, stopCounting := context.WithCancel(ctx)
	defer stopCounting()
	working, stop := context.WithCancelCause(ctx)
	c.counting, c.noticed, c.applied = counting, map[string]bool{}, make(chan struct{})
	c.agentBased = c.invoker(ctx) == invokerAgent
	run := c.runWithService
	if c.agentBased {
		run = c.runAgentBased
	}
	err := run(working)
	if err == nil {
		stop(errEnded)
	} else {
		stop(err)
	}
	given := errors.Is(err, ErrGivenUp)
	if given {
		stopCounting()
	}
	c.running.Wait()
	// The service of the agent-based installer has ended by now.
	if !given && !c.agentBased && ctx.Err() == nil && c.knows().cluster != nil {
		c.uploadFinalLogs(ctx)
	}
	if c.gathered.scratch != nil {
		err = errors.Join(err, c.gathered.scratch.Remove())
	}
	return err
}

func (c *Controller) runWithService(ctx context.Context) error {
	cluster, err := c.becomeReady(ctx, readyLimit)
	if err != nil {
		return err
	}
	c.initializes = c.removesTaint(ctx, platformOf(cluster), cluster, false)
	c.start(ctx, "following nodes", c.followNodes)
	c.start(ctx, "finalizing", c.finalize)
	c.startCommon(ctx, platformOf(cluster))
	return c.awaitEnd(ctx)
}

// startCommon starts what both kinds of installation do.
func (c *Controller) startCommon(ctx context.Context, platform models.PlatformType) {
	c.logPlatform(platform)
	if platform == models.PlatformTypeBaremetal {
		c.start(ctx, "linking machines", c.linkMachines)
	}
	c.start(ctx, "uploading logs", c.uploadLogs)
	c.start(ctx, "labelling nodes", c.labelNodes)
}

// start does something beside, until it ends or ctx does.
func (c *Controller) start(ctx context.Context, what string, do func(context.Context)) {
	c.Log.Info("started", slog.String("step", what))
	c.running.Go(func() { do(ctx) })
}

// beside does something beside, and returns a function that waits for its end.
func (c *Controller) beside(ctx context.Context, what string, do func(context.Context)) (wait func()) {
	c.Log.Info("started", slog.String("step", what))
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	return running.Wait
}

// ends logs how a step ended.
func (c *Controller) ends(what string, err error) {
	if err != nil {
		c.Log.Warn("ended", slog.String("step", what), said(err))
		return
	}
	c.Log.Info("ended", slog.String("step", what))
}

// becomeReady waits until both the service and the API server answer, and says so by an Event, for which the installer of the
// bootstrap machine waits.
func (c *Controller) becomeReady(ctx context.Context, limit time.Duration) (*models.Cluster, error) {
	var cluster *models.Cluster
	err := c.wait(ctx, waiting{"the service and the API server to answer", readyInterval, limit}, func(ctx context.Context) (err error) {
		if cluster, err = c.Service.Cluster(ctx, c.Config.Cluster, false); err != nil {
			return fmt.Errorf("ask the service: %w", err)
		}
		if _, err := c.Cluster.Nodes(ctx); err != nil {
			return fmt.Errorf("ask the API server: %w", err)
		}
		err = c.Cluster.CreateEvent(ctx, kube.Notice{
			Namespace: c.Config.Namespace, Name: readyEvent, Reason: readyEvent, At: c.Clock.Now(),
			About:   kube.Reference{Namespace: c.Config.Namespace, Name: jobName},
			Message: "Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start",
		})
		if err != nil && !kube.AlreadyExists(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.cluster = cluster
	return cluster, nil
}

// awaitEnd waits until the service says that the installation ended. The first look comes after the interval.
func (c *Controller) awaitEnd(ctx context.Context) error {
	if err := c.Clock.Sleep(ctx, progressInterval); err != nil {
		return err
	}
	unauthorized := 0
	return c.wait(ctx, waiting{"the installation to end", progressInterval, 2 * longest}, func(ctx context.Context) error {
		cluster, err := c.Service.Cluster(ctx, c.Config.Cluster, false)
		if service.HasStatus(err, http.StatusUnauthorized) {
			unauthorized++
		}
		switch {
		case service.HasStatus(err, http.StatusNotFound), unauthorized >= unauthorizedLimit:
			return &lastError{fmt.Errorf("%w: %w", ErrGivenUp, err)}
		case err != nil:
			return err
		}
		unauthorized = 0
		switch status := value(cluster.Status); status {
		case models.ClusterStatusError:
			c.status.fail()
			fallthrough
		case models.ClusterStatusCancelled, models.ClusterStatusInstalled, models.ClusterStatusAddingHosts:
			c.Log.Info("the installation ended", slog.String("status", status))
			return nil
		default:
			return missing("the status of the cluster is %s", status)
		}
	})
}

// hosts are those of the cluster as the service has them now, without those of some statuses.
func (c *Controller) hosts(ctx context.Context, without ...string) ([]host, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Clock.Wall(hostsLimit))
	defer cancel()
	cluster, err := c.Service.Cluster(ctx, c.Config.Cluster, true)
	if err != nil {
		c.mu.Lock()
		c.seen.lost = c.agentBased
		c.mu.Unlock()
		return nil, err
	}
	all, unread := hostsOf(cluster, models.HostStatusDisabled)
	if unread != nil {
		c.Log.Warn("the service sent something about hosts that cannot be read", said(unread))
	}
	c.mu.Lock()
	c.seen = known{cluster: cluster, hosts: all}
	c.mu.Unlock()
	hosts, _ := hostsOf(cluster, without...)
	return hosts, nil
}

// knows is what the service said last.
func (c *Controller) knows() known {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}
