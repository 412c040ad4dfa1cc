package host

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/pki"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

// controller is the assisted-installer-controller of one new cluster, which runs inside it.
type controller struct {
	fleet   *Fleet
	cluster string
	version string
	// takes is how long the operators need from the beginning of finalizing.
	takes time.Duration

	// since is when that part of finalizing began, index how many chapters of
	// it are over, rest that a stage has just begun; olm tells that the
	// operators on top have been started.
	since     time.Time
	index     int
	rest      bool
	operators map[string]models.OperatorMonitorReport
	olm       bool
}

// startController runs the controller of a cluster, unless it runs.
func (f *Fleet) startController(ctx context.Context, args installArgs) {
	if _, running := f.installing.LoadOrStore(args.ClusterID, true); running {
		return
	}
	c := &controller{
		fleet: f, cluster: args.ClusterID, version: args.OpenshiftVersion,
		operators: map[string]models.OperatorMonitorReport{},
		takes:     newJitter(f.cfg.Seed, len(f.all())).of(operatorsTime),
	}
	f.controllers.Go(func() {
		defer f.installing.Delete(args.ClusterID)
		c.run(ctx)
	})
}

func (c *controller) logf(format string, args ...any) { c.fleet.logf("controller: "+format, args...) }

func (c *controller) run(ctx context.Context) {
	c.logf("starts")
	for {
		var cluster clusterView
		err := c.fleet.api.get(ctx, clusterPath(c.cluster), &cluster)
		switch {
		case status(err) == http.StatusNotFound:
			c.logf("ends: the cluster is gone")
			return
		case err != nil:
			c.logf("cannot read the cluster: %v", err)
		case !slices.Contains([]string{"installing", "installing-pending-user-action", "finalizing"}, cluster.Status):
			c.logf("ends: the cluster is %s", cluster.Status)
			if cluster.Status == "error" && !c.since.IsZero() {
				c.cutShort(ctx)
			}
			return
		default:
			for _, h := range cluster.Hosts {
				c.fleet.advance(ctx, h, models.HostStageDone)
			}
			if cluster.Status == "finalizing" {
				c.finalize(ctx)
			}
		}
		if c.fleet.cfg.Clock.Sleep(ctx, nodeTick) != nil {
			return
		}
	}
}

// chapter is a part of finalizing: it returns true once it is over.
type chapter func(ctx context.Context) (bool, error)

// finalize goes to the next stage at most, so that each lasts a while. What fails is tried at the next tick.
func (c *controller) finalize(ctx context.Context) {
	if c.since.IsZero() {
		c.since = c.fleet.now()
	}
	chapters := []chapter{
		c.announce(models.FinalizingStageWaitingForClusterOperators), c.awaitOperators(models.OperatorTypeBuiltin, c.takes),
		c.announce(models.FinalizingStageAddingRouterCa), c.uploadIngressCert,
		c.announce(models.FinalizingStageWaitingForOlmOperatorsCsvInitialization), c.awaitOLM, c.uploadLogs,
		c.announce(models.FinalizingStageDone), c.complete(completion{Success: true}),
	}
	for c.index < len(chapters) {
		over, err := chapters[c.index](ctx)
		if err != nil {
			c.logf("cannot finalize: %v", err)
		}
		if err != nil || !over {
			return
		}
		c.index++
		if c.rest {
			c.rest = false
			return
		}
	}
}

func (c *controller) announce(stage models.FinalizingStage) chapter {
	return func(ctx context.Context) (bool, error) {
		err := c.fleet.api.send(
			ctx, http.MethodPut, clusterPath(c.cluster)+"/progress", models.ClusterFinalizingProgress{FinalizingStage: stage}, nil,
		)
		if err != nil && !refused(err) {
			return false, err
		}
		c.logf("finalizing stage %s", stage)
		c.rest = true
		return true, nil
	}
}

func (c *controller) awaitOperators(kind models.OperatorType, takes time.Duration) chapter {
	return func(ctx context.Context) (bool, error) {
		var all []*models.MonitoredOperator
		path := clusterPath(c.cluster) + "/monitored-operators"
		if err := c.fleet.api.get(ctx, path, &all); err != nil {
			return false, err
		}
		all = slices.DeleteFunc(all, func(o *models.MonitoredOperator) bool { return o.OperatorType != kind })
		spent := c.fleet.now().Sub(c.since)
		waiting := 0
		for i, o := range all {
			due := takes * time.Duration(i+1) / time.Duration(len(all))
			state, text := c.operatorState(o, spent, due)
			if err := c.reportOperator(ctx, o, state, text); err != nil {
				return false, err
			}
			if state != models.OperatorStatusAvailable && (kind == models.OperatorTypeBuiltin || state != models.OperatorStatusFailed) {
				waiting++
			}
		}
		return waiting == 0 && spent >= takes, nil
	}
}

func (c *controller) operatorState(o *models.MonitoredOperator, spent, due time.Duration) (state models.OperatorStatus, text string) {
	if trouble, says := c.fleet.operatorTrouble(o.Name, spent); trouble {
		if o.OperatorType != models.OperatorTypeBuiltin && spent >= olmOperatorsTime*5 {
			return models.OperatorStatusFailed, "ClusterServiceVersion did not succeed in time"
		}
		return models.OperatorStatusProgressing, says
	}
	if spent < due {
		return models.OperatorStatusProgressing, "working towards " + c.version
	}
	return models.OperatorStatusAvailable, "all is well"
}

func (f *Fleet) operatorTrouble(name string, spent time.Duration) (trouble bool, says string) {
	for _, r := range f.cfg.Scenario.HostRules() {
		if r.Do != scenario.DoOperatorsTimeout {
			continue
		}
		names := r.Args.Strings("operators")
		if len(names) == 0 {
			names = []string{"console"}
		}
		if slices.Contains(names, name) && (r.For() == 0 || spent < r.For()) {
			return true, r.Args.String("reason", "deployment is not available: 0 of 2 replicas are ready")
		}
	}
	return false, ""
}

func (c *controller) reportOperator(ctx context.Context, o *models.MonitoredOperator, state models.OperatorStatus, text string) error {
	if c.operators[o.Name].Status == state {
		return nil
	}
	report := models.OperatorMonitorReport{Name: o.Name, Status: state, StatusInfo: text, Version: c.version}
	if err := c.fleet.api.send(ctx, http.MethodPut, clusterPath(c.cluster)+"/monitored-operators", report, nil); err != nil {
		return fmt.Errorf("reporting operator %s: %w", o.Name, err)
	}
	c.operators[o.Name] = report
	return nil
}

// cutShort ends a controller with its cluster: it sends its logs, and notes its stage.
func (c *controller) cutShort(ctx context.Context) {
	byName := func(a, b models.OperatorMonitorReport) int { return strings.Compare(a.Name, b.Name) }
	verdict := completion{
		ErrorInfo: "Stopped waiting for cluster operators to be available: context canceled",
		Data:      map[string][]models.OperatorMonitorReport{"CLUSTER_OPERATORS_REPORT": slices.SortedFunc(maps.Values(c.operators), byName)},
	}
	for _, do := range []chapter{c.uploadLogs, c.complete(verdict)} {
		if _, err := do(ctx); err != nil {
			c.logf("cannot finish: %v", err)
		}
	}
}

func (c *controller) awaitOLM(ctx context.Context) (bool, error) {
	if !c.olm {
		var all []*models.MonitoredOperator
		if err := c.fleet.api.get(ctx, clusterPath(c.cluster)+"/monitored-operators", &all); err != nil {
			return false, err
		}
		if !slices.ContainsFunc(all, func(o *models.MonitoredOperator) bool { return o.OperatorType == models.OperatorTypeOlm }) {
			return true, nil
		}
		for _, stage := range []models.FinalizingStage{
			models.FinalizingStageApplyingOlmManifests, models.FinalizingStageWaitingForOlmOperatorsCsv,
		} {
			if _, err := c.announce(stage)(ctx); err != nil {
				return false, err
			}
		}
		c.olm = true
		c.since = c.fleet.now()
	}
	return c.awaitOperators(models.OperatorTypeOlm, olmOperatorsTime)(ctx)
}

func (c *controller) complete(verdict completion) chapter {
	return func(ctx context.Context) (bool, error) {
		err := c.fleet.api.send(ctx, http.MethodPost, clusterPath(c.cluster)+"/actions/complete-installation", verdict, nil)
		if err != nil {
			return false, err
		}
		c.logf("completes the installation, success: %t", verdict.Success)
		return true, nil
	}
}

// uploadIngressCert gives the service the CA of the cluster's routes, which makes the final kubeconfig.
func (c *controller) uploadIngressCert(ctx context.Context) (bool, error) {
	cert, err := newIngressCert(c.fleet.serviceTime())
	if err != nil {
		return false, err
	}
	err = c.fleet.api.send(ctx, http.MethodPost, clusterPath(c.cluster)+"/uploads/ingress-cert", cert, nil)
	return err == nil, err
}

func newIngressCert(now time.Time) (string, error) {
	authority, err := pki.Make(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: fmt.Sprintf("ingress-operator@%d", now.Unix())},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(2, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return "", fmt.Errorf("making the ingress CA: %w", err)
	}
	return string(authority.CertPEM), nil
}
