//go:build linux

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

const (
	// marketplace is the namespace in which OLM runs Jobs that unpack bundles.
	marketplace = "openshift-marketplace"
	// patience is how many looks an operator may be failed at before the service is told so.
	patience = 10
	// monitoredFor is how long an answer of the service about operators is good for the looks that follow.
	monitoredFor = 20 * time.Second
)

// operatorList is the answer of the service about the operators that it monitors.
type operatorList struct {
	mu   sync.Mutex
	at   time.Time
	list []models.MonitoredOperator
}

// allMonitored are the operators that the service monitors, as of the last monitoredFor, or if fresh is set as of now.
func (c *Controller) allMonitored(ctx context.Context, fresh bool) ([]models.MonitoredOperator, error) {
	c.operators.mu.Lock()
	defer c.operators.mu.Unlock()
	if !fresh && !c.operators.at.IsZero() && c.Clock.Now().Sub(c.operators.at) < monitoredFor {
		return c.operators.list, nil
	}
	answer, err := c.Service.MonitoredOperators(ctx, c.Config.Cluster)
	if err != nil {
		return nil, err
	}
	var list []models.MonitoredOperator
	for _, operator := range answer {
		if operator == nil {
			continue
		}
		one := *operator
		if one.Name == "odf" && isVersion48(c.Config.Version) {
			one.Name, one.SubscriptionName = "ocs", "ocs-operator"
		}
		list = append(list, one)
	}
	c.operators.at, c.operators.list = c.Clock.Now(), list
	return list, nil
}

// isVersion48 reports whether a version is OpenShift 4.8, in which the operator odf was called ocs.
func isVersion48(version string) bool { return version == "4.8" || strings.HasPrefix(version, "4.8.") }

// serviceName is what the service calls an operator.
func serviceName(name string) string {
	if name == "ocs" {
		return "odf"
	}
	return name
}

// monitored is one of the operators that the service monitors.
func (c *Controller) monitored(ctx context.Context, name string) (models.MonitoredOperator, error) {
	list, err := c.allMonitored(ctx, false)
	if err != nil {
		return models.MonitoredOperator{}, err
	}
	for _, one := range list {
		if one.Name == name {
			return one, nil
		}
	}
	return models.MonitoredOperator{}, missing("the service does not monitor the operator %s", name)
}

// ofOLM are the operators that OLM installs.
func (c *Controller) ofOLM(ctx context.Context, fresh bool) ([]models.MonitoredOperator, error) {
	list, err := c.allMonitored(ctx, fresh)
	var found []models.MonitoredOperator
	for _, one := range list {
		if one.OperatorType == models.OperatorTypeOlm {
			found = append(found, one)
		}
	}
	return found, err
}

// installOperators waits until OLM has installed its operators, and applies the manifests of the service in between. If that
// does not come about, the service is told that the operators failed; the installation ends nevertheless.
func (c *Controller) installOperators(ctx context.Context) error {
	const initialization = models.FinalizingStageWaitingForOlmOperatorsCsvInitialization
	c.finalizing(ctx, initialization)
	var list []models.MonitoredOperator
	err := c.waitStage(ctx, initialization, waiting{"the list of monitored operators", fetchInterval, longest},
		func(ctx context.Context) (err error) {
			list, err = c.ofOLM(ctx, false)
			return err
		})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		c.Log.Info("OLM installs no operators")
		return nil
	}
	errs := []error{c.waitStage(ctx, initialization, waiting{"the ClusterServiceVersions of operators", generalInterval, longest},
		func(ctx context.Context) error { return c.lookAtVersions(ctx, list) })}

	c.finalizing(ctx, models.FinalizingStageApplyingOlmManifests)
	errs = append(errs, c.waitStage(ctx, models.FinalizingStageApplyingOlmManifests,
		waiting{"the manifests of operators to be applied", generalInterval, longest},
		func(ctx context.Context) error { return c.applyCustom(ctx, list) }))

	c.finalizing(ctx, models.FinalizingStageWaitingForOlmOperatorsCsv)
	errs = append(errs, c.awaitOperators(ctx))
	if err = errors.Join(errs...); err != nil {
		c.failPending(ctx)
	}
	return err
}

// waitStage waits as wait does. The wait ends once the service says that the stage took too long.
func (c *Controller) waitStage(ctx context.Context, stage models.FinalizingStage, w waiting, look func(context.Context) error) error {
	return c.wait(ctx, w, func(ctx context.Context) error {
		err := look(ctx)
		if err == nil {
			return nil
		}
		cluster, failed := c.Service.Cluster(ctx, c.Config.Cluster, false)
		if failed != nil {
			return errors.Join(err, failed)
		}
		if p := cluster.Progress; p != nil && p.FinalizingStage == stage && p.FinalizingStageTimedOut {
			return &lastError{fmt.Errorf("the service says that the stage %q took too long: %w", stage, err)}
		}
		return err
	})
}

// lookAtVersions returns no error once each operator has a ClusterServiceVersion.
func (c *Controller) lookAtVersions(ctx context.Context, list []models.MonitoredOperator) error {
	var errs []error
	for i := range list {
		errs = append(errs, c.initialized(ctx, &list[i]))
	}
	return errors.Join(errs...)
}

// initialized returns no error if an operator has a ClusterServiceVersion.
func (c *Controller) initialized(ctx context.Context, operator *models.MonitoredOperator) error {
	if err := c.retryUnpacking(ctx, operator); err != nil {
		c.Log.Warn("could not remove what failed of an operator", word("operator", operator.Name), said(err))
	}
	_, err := c.Cluster.CurrentServiceVersion(ctx, operator.Namespace, operator.SubscriptionName)
	return err
}

// retryUnpacking removes failed Jobs of OLM, and the failed InstallPlans of an operator. Subscriptions that are made early in
// an installation may fail, and OLM does not try again before its InstallPlan is gone.
func (c *Controller) retryUnpacking(ctx context.Context, operator *models.MonitoredOperator) error {
	jobs, err := c.Cluster.Jobs(ctx, marketplace)
	if err != nil {
		return err
	}
	for i := range jobs {
		if !jobs[i].Failed() {
			continue
		}
		c.Log.Info("deleting a failed job", word("job", jobs[i].Name))
		if err := c.Cluster.DeleteJob(ctx, marketplace, jobs[i].Name); err != nil {
			return err
		}
	}
	plans, err := c.Cluster.InstallPlans(ctx, operator.Namespace)
	if err != nil {
		return err
	}
	for i := range plans {
		if plans[i].Status.Phase != "Failed" || !plans[i].OwnedBy(operator.SubscriptionName) {
			continue
		}
		c.Log.Info("deleting a failed InstallPlan", word("plan", plans[i].Name))
		if err := c.Cluster.DeleteInstallPlan(ctx, operator.Namespace, plans[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// awaitOperators waits until each operator is available, or has been failed for long.
func (c *Controller) awaitOperators(ctx context.Context) error {
	all, err := c.ofOLM(ctx, true)
	if err != nil {
		return err
	}
	left := map[string]models.MonitoredOperator{}
	for _, one := range unsettled(all) {
		left[one.Name] = one
	}
	failures := map[string]int{}
	return c.waitStage(ctx, models.FinalizingStageWaitingForOlmOperatorsCsv,
		waiting{"the operators of OLM to be installed", generalInterval, longest}, func(ctx context.Context) error {
			var errs []error
			for _, one := range all {
				if _, waits := left[one.Name]; !waits {
					continue
				}
				if err := c.checkOperator(ctx, one.Name, c.versionOf(one, failures)); err != nil {
					errs = append(errs, err)
					continue
				}
				delete(left, one.Name)
			}
			return errors.Join(errs...)
		})
}

// unsettled are the operators that are neither available nor failed.
func unsettled(all []models.MonitoredOperator) []models.MonitoredOperator {
	var found []models.MonitoredOperator
	for _, one := range all {
		if one.Status != models.OperatorStatusAvailable && one.Status != models.OperatorStatusFailed {
			found = append(found, one)
		}
	}
	return found
}

// versionOf reads the state of an operator of OLM. A failure is an error until it has been seen often: OLM may try again.
func (c *Controller) versionOf(operator models.MonitoredOperator, failures map[string]int) operatorState {
	return func(ctx context.Context) (models.OperatorStatus, string, string, error) {
		version, err := c.Cluster.CurrentServiceVersion(ctx, operator.Namespace, operator.SubscriptionName)
		if err != nil {
			return "", "", "", err
		}
		status := models.OperatorStatusProgressing
		switch version.Status.Phase {
		case "Succeeded":
			status = models.OperatorStatusAvailable
		case "Failed":
			if failures[operator.Name]++; failures[operator.Name] <= patience {
				return "", "", "", errors.New(escape.Sprintf("the operator %s is failed, as of look %d of %d: %s", operator.Name,
					failures[operator.Name], patience, version.Status.Message))
			}
			status = models.OperatorStatusFailed
			c.status.failOperator(operator.Name)
		}
		return status, version.Status.Message, version.Spec.Version, nil
	}
}

// failPending tells the service that the operators failed that are not installed yet, so that it ends the installation.
func (c *Controller) failPending(ctx context.Context) {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errEnded) {
		return
	}
	err := c.wait(context.WithoutCancel(ctx), waiting{"the service to take failed operators", generalInterval, patience * generalInterval},
		func(ctx context.Context) error {
			all, err := c.ofOLM(ctx, true)
			if err != nil {
				return err
			}
			for _, one := range unsettled(all) {
				c.Log.Warn("an operator was not installed in time", word("operator", one.Name), slog.String("status", string(one.Status)))
				c.status.failOperator(one.Name)
				err := c.Service.UpdateOperator(ctx, c.Config.Cluster, serviceName(one.Name), one.Version, models.OperatorStatusFailed,
					"Waiting for operator timed out")
				if err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		c.Log.Error("could not report failed operators", said(err))
	}
}
