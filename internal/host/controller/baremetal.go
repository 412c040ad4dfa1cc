//go:build linux

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/host/kube"
)

const (
	pausedAnnotation = "baremetalhost.metal3.io/paused"
	statusAnnotation = "baremetalhost.metal3.io/status"
)

// linkMachines tells the Machine API that machines are provisioned, and of which BareMetalHost each Machine of a worker is.
func (c *Controller) linkMachines(ctx context.Context) {
	err := c.wait(ctx, waiting{"all BareMetalHosts to be linked with Machines", generalInterval, longest}, c.lookAtMachines)
	c.ends("linking machines", err)
}

func (c *Controller) lookAtMachines(ctx context.Context) error {
	hosts, err := c.Cluster.BareMetalHosts(ctx)
	if err != nil {
		return err
	}
	machines, err := c.Cluster.Machines(ctx)
	if err != nil {
		return err
	}
	provisions, err := c.Cluster.HasProvisioning(ctx)
	if err != nil {
		return err
	}
	free := freeMachines(hosts, machines)
	var errs []error
	for i := range hosts {
		if provisions {
			free, err = c.linkProvisioned(ctx, hosts[i], free)
		} else {
			free, err = c.linkUnmanaged(ctx, hosts[i], free)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// freeMachines are the Machines of workers that no BareMetalHost has.
func freeMachines(hosts []kube.BareMetalHost, machines []kube.Machine) []kube.Machine {
	return slices.DeleteFunc(slices.Clone(machines), func(m kube.Machine) bool {
		return !m.Worker() || slices.ContainsFunc(hosts, func(h kube.BareMetalHost) bool {
			return h.Spec.Consumer != nil && h.Spec.Consumer.Name == m.Name
		})
	})
}

// linkProvisioned is for a cluster that provisions machines itself: those of the installation are provisioned already.
func (c *Controller) linkProvisioned(ctx context.Context, h kube.BareMetalHost, free []kube.Machine) ([]kube.Machine, error) {
	if state := h.Status.Provisioning.State; state != "" && state != "unmanaged" {
		return free, nil
	}
	spec, annotations := map[string]any{}, map[string]any{}
	if !h.Spec.ExternallyProvisioned {
		spec["externallyProvisioned"] = true
	}
	if _, paused := h.Annotations[pausedAnnotation]; paused {
		annotations[pausedAnnotation] = nil
	}
	return c.link(ctx, h, free, spec, annotations)
}

// linkUnmanaged is for a cluster that provisions no machines: the status of a BareMetalHost stays what its annotation says.
func (c *Controller) linkUnmanaged(ctx context.Context, h kube.BareMetalHost, free []kube.Machine) ([]kube.Machine, error) {
	text, annotated := h.Annotations[statusAnnotation]
	annotations := map[string]any{}
	if annotated {
		annotations[statusAnnotation] = nil
	}
	if text != "" {
		status, err := statusOf(text, c.Clock.Now())
		if err == nil {
			err = c.Cluster.PatchBareMetalHost(ctx, h.Name, map[string]any{"status": status}, "status")
		}
		if err != nil {
			return free, fmt.Errorf("set the status of the BareMetalHost %q to its annotation: %w", h.Name, err)
		}
		if h, err = c.Cluster.BareMetalHost(ctx, h.Name); err != nil {
			return free, err
		}
	}
	return c.link(ctx, h, free, map[string]any{}, annotations)
}

// link writes what has changed of a BareMetalHost, and gives it a Machine if it has none. It returns the Machines that are
// still free. The BareMetalHost must not have changed since it was read.
func (c *Controller) link(ctx context.Context, h kube.BareMetalHost, free []kube.Machine, spec, annotations map[string]any,
) ([]kube.Machine, error) {
	if h.Spec.Consumer == nil {
		if len(free) == 0 {
			return free, fmt.Errorf("the BareMetalHost %q has no Machine: the MachineSet has made none for it yet", h.Name)
		}
		spec["consumerRef"] = free[0].Reference()
		free = free[1:]
	}
	if len(spec) == 0 && len(annotations) == 0 {
		return free, nil
	}
	change := map[string]any{"metadata": map[string]any{"resourceVersion": h.ResourceVersion, "annotations": annotations}}
	if len(spec) > 0 {
		change["spec"] = spec
	}
	c.Log.Info("updating a BareMetalHost", word("name", h.Name))
	return free, c.Cluster.PatchBareMetalHost(ctx, h.Name, change, "")
}

// statusOf is the status in an annotation, with the fields that the API server requires.
func statusOf(text string, now time.Time) (map[string]any, error) {
	var status map[string]any
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return nil, fmt.Errorf("read the annotation %s: %w", statusAnnotation, err)
	}
	out := map[string]any{
		"errorCount": 0, "errorMessage": "", "goodCredentials": map[string]any{}, "hardwareProfile": "", "operationHistory": map[string]any{},
		"operationalStatus": "", "poweredOn": false, "provisioning": map[string]any{"ID": "", "state": ""},
		"triedCredentials": map[string]any{},
	}
	maps.Copy(out, status)
	if out["lastUpdated"] == nil {
		out["lastUpdated"] = now.UTC().Format(time.RFC3339)
	}
	return out, nil
}
