//go:build linux

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

const (
	consoleOperator   = "console"
	consoleCapability = "Console"
	versionOperator   = "cvo" // what the service calls the cluster version operator

	ingressCertSpace = "openshift-config-managed"
	ingressCertName  = "default-ingress-cert"
	ingressCertKey   = "ca-bundle.crt"

	// operatorsReport is the key of the data of a completion that has the states of all cluster operators.
	operatorsReport = "CLUSTER_OPERATORS_REPORT"
)

// finalize does what is left once the service says that the cluster is finalizing, and reports how it ended.
func (c *Controller) finalize(ctx context.Context) {
	err := c.wait(ctx, waiting{"the cluster to be finalizing", generalInterval, longest}, func(ctx context.Context) error {
		cluster, err := c.Service.Cluster(ctx, c.Config.Cluster, false)
		if err != nil {
			return err
		}
		if status := value(cluster.Status); status != models.ClusterStatusFinalizing {
			return missing("the status of the cluster is %s", status)
		}
		return nil
	})
	if err != nil {
		c.ends("finalizing", err)
		return
	}
	data, err := c.postInstall(ctx)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errEnded) {
		c.ends("finalizing", err)
		return
	}
	if err != nil {
		c.status.fail()
		c.Log.Error("the installation failed", said(err))
	} else {
		c.finalizing(ctx, models.FinalizingStageDone)
	}
	c.complete(ctx, err, data)
}

// value is what a pointer points to, or zero.
func value[T any](pointer *T) (out T) {
	if pointer != nil {
		out = *pointer
	}
	return out
}

// finalizing reports a stage, until the service takes it.
func (c *Controller) finalizing(ctx context.Context, stage models.FinalizingStage) {
	c.Log.Info("finalizing", slog.String("stage", string(stage)))
	what := fmt.Sprintf("the service to take the finalizing stage %q", stage)
	err := c.wait(ctx, waiting{what, generalInterval, longest}, func(ctx context.Context) error {
		return c.Service.FinalizingProgress(ctx, c.Config.Cluster, stage)
	})
	if err != nil {
		c.Log.Error("could not report a finalizing stage", said(err))
	}
}

// postInstall returns data for the completion only with an error.
func (c *Controller) postInstall(ctx context.Context) (data map[string]any, err error) {
	c.finalizing(ctx, models.FinalizingStageWaitingForClusterOperators)
	err = c.wait(ctx, waiting{"the cluster operators to be available", progressInterval, longest}, c.lookAtOperators)
	if report := c.reportOperators(ctx); report != nil {
		data = map[string]any{operatorsReport: report}
	}
	if err != nil {
		//nolint:staticcheck // the service shows it as a sentence
		return data, fmt.Errorf("Stopped waiting for cluster operators to be available: %w", err)
	}
	c.finalizing(ctx, models.FinalizingStageAddingRouterCa)
	err = c.wait(ctx, waiting{"the certificate authority of ingress", fetchInterval, longest}, c.addIngressCert)
	if err != nil {
		//nolint:staticcheck // the service shows it as a sentence
		return data, fmt.Errorf("Stopped waiting for router ca data: %w", err)
	}
	if err := c.installOperators(ctx); err != nil {
		// The service has the operators as failed, and the cluster as degraded.
		c.Log.Warn("not all operators of OLM are installed", said(err))
	}
	return nil, nil
}

// complete reports how the installation ended. If the cluster has ended meanwhile, this is tried once only.
func (c *Controller) complete(ctx context.Context, failure error, data map[string]any) {
	info := ""
	if failure != nil {
		info = failure.Error()
	}
	c.Log.Info("completing the installation", slog.Bool("success", failure == nil), word("info", info))
	send := func(ctx context.Context) error {
		return c.Service.CompleteInstallation(ctx, c.Config.Cluster, failure == nil, info, data)
	}
	var err error
	if ctx.Err() != nil {
		err = c.look(context.WithoutCancel(ctx), send)
	} else {
		err = c.wait(ctx, waiting{"the service to take the completion", progressInterval, longest}, send)
	}
	c.ends("finalizing", err)
}

// lookAtOperators returns no error once the operators that the installation waits for are available.
func (c *Controller) lookAtOperators(ctx context.Context) error {
	version, err := c.Cluster.ClusterVersion(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if version.HasCapability(consoleCapability) {
		errs = append(errs, c.checkOperator(ctx, consoleOperator, c.consoleState))
	}
	if c.Config.WaitsForClusterVersion {
		errs = append(errs, c.checkOperator(ctx, versionOperator, c.versionState))
	}
	return errors.Join(errs...)
}

// addIngressCert gives the service the certificate authority of ingress, which makes the final kubeconfig.
func (c *Controller) addIngressCert(ctx context.Context) error {
	data, err := c.Cluster.ConfigMap(ctx, ingressCertSpace, ingressCertName)
	if err != nil {
		return err
	}
	if data[ingressCertKey] == "" {
		return missing("the ConfigMap %s/%s has no %s", ingressCertSpace, ingressCertName, ingressCertKey)
	}
	return c.Service.UploadIngressCert(ctx, c.Config.Cluster, data[ingressCertKey])
}

// reportOperators has the states of all cluster operators, which it also logs.
func (c *Controller) reportOperators(ctx context.Context) []models.OperatorMonitorReport {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Clock.Wall(progressInterval))
	defer cancel()
	operators, err := c.Cluster.ClusterOperators(ctx)
	if err != nil {
		c.Log.Warn("could not list the cluster operators", said(err))
		return nil
	}
	report := make([]models.OperatorMonitorReport, 0, len(operators))
	for _, operator := range operators {
		status, message := stateOf(operator.Status.Conditions)
		c.Log.Info("cluster operator", word("name", operator.Name), slog.String("status", string(status)), word("message", message))
		report = append(report, models.OperatorMonitorReport{Name: operator.Name, Status: status, StatusInfo: message})
	}
	return report
}

// stateOf is what the service calls the state of an operator with these conditions: the first of them that says something
// decides.
func stateOf(conditions []kube.Condition) (models.OperatorStatus, string) {
	for _, c := range conditions {
		holds := c.Status == "True"
		switch {
		case c.Type == "Available" && holds:
			return models.OperatorStatusAvailable, c.Message
		case c.Type == "Progressing" && holds:
			return models.OperatorStatusProgressing, c.Message
		case c.Type == "Degraded" && holds, c.Type == "Available" && c.Status == "False":
			return models.OperatorStatusFailed, c.Message
		}
	}
	return models.OperatorStatusProgressing, ""
}

// operatorState reads the state of an operator in the cluster.
type operatorState func(ctx context.Context) (status models.OperatorStatus, message, version string, err error)

func (c *Controller) consoleState(ctx context.Context) (status models.OperatorStatus, message, version string, err error) {
	operator, err := c.Cluster.ClusterOperator(ctx, consoleOperator)
	if err != nil {
		return "", "", "", err
	}
	if len(operator.Status.Versions) > 0 {
		version = operator.Status.Versions[0].Version
	}
	status, message = stateOf(operator.Status.Conditions)
	return status, message, version, nil
}

func (c *Controller) versionState(ctx context.Context) (status models.OperatorStatus, message, version string, err error) {
	object, err := c.Cluster.ClusterVersion(ctx)
	if err != nil {
		return "", "", "", err
	}
	status, message = stateOf(object.Status.Conditions)
	return status, message, object.Status.Desired.Version, nil
}

// checkOperator returns no error once an operator is available and the service knows. It reports changes to the service.
func (c *Controller) checkOperator(ctx context.Context, name string, read operatorState) error {
	has, err := c.monitored(ctx, name)
	if err != nil {
		return err
	}
	if has.Status == models.OperatorStatusAvailable {
		return nil
	}
	status, message, version, err := read(ctx)
	if err != nil {
		return err
	}
	if status != has.Status || message != "" && message != has.StatusInfo {
		c.Log.Info("an operator changed", word("name", name), slog.String("status", string(status)), word("message", message))
		if err := c.Service.UpdateOperator(ctx, c.Config.Cluster, serviceName(name), version, status, message); err != nil {
			return err
		}
		if status == models.OperatorStatusAvailable {
			return nil
		}
	}
	return errors.New(escape.Sprintf("the operator %s is %s: %s", name, string(status), message))
}
