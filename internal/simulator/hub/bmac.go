package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// cooling is an image's age before machines boot it: until then an NMStateConfig may still change it.
const cooling = time.Minute

// reconcileBareMetal does what the service's bare metal controller does where
// the converged flow is not used: it boots a host from the image of its InfraEnv,
// passes what its annotations say on to its Agent, and lets go of its power once
// the machine boots from its own disk.
func (h *hub) reconcileBareMetal(ctx context.Context, k key) error {
	host := h.store.get(hubapi.KindBareMetalHost, k.space, k.id)
	if host == nil {
		return nil
	}
	if host.GetDeletionTimestamp() != nil {
		return h.store.change(ctx, host, func() { apiobject.DropFinalizer(host, hubapi.FinalizerBMAC) })
	}
	env := h.store.get(hubapi.KindInfraEnv, k.space, host.GetLabels()[hubapi.LabelAgentInfraEnv])
	if env == nil {
		return nil // without the label it takes no part
	}
	spec, err := objects.Spec[metal3.BareMetalHostSpec](host)
	if err != nil {
		return err
	}
	agent := h.agentWith(k.space, spec.BootMACAddress)
	if reference, said := host.GetAnnotations()[hubapi.AnnotationBMACClusterReference]; said && agent != nil &&
		apiobject.Text(env, "spec", "clusterRef", "name") != "" {
		// From there on nothing is done: neither for the Agent, nor to let go of the host.
		return fmt.Errorf("the annotation %s refers to cluster %q, but InfraEnv %s/%s is bound to one", hubapi.AnnotationBMACClusterReference,
			reference, k.space, env.GetName())
	}
	if agent != nil && leavesByHand(agent) && host.GetAnnotations()[hubapi.AnnotationBMHDetached] != "" {
		return h.reattach(ctx, host) // its change starts another reconcile
	}
	if err := h.boot(ctx, host, env, agent); err != nil {
		return err
	}
	if !h.config.Metal3 {
		if err := h.power(ctx, host); err != nil {
			return err
		}
	}
	if agent == nil {
		return nil
	}
	return h.instruct(ctx, host, agent, &spec)
}

// agentWith finds the Agent with a network card; of several, the newest.
func (h *hub) agentWith(space, mac string) *apiobject.Object {
	var found []*apiobject.Object
	for _, agent := range h.store.list(hubapi.KindAgent, space) {
		nics, _, _ := unstructured.NestedSlice(agent.Object, "status", "inventory", "interfaces")
		if mac != "" && agent.GetDeletionTimestamp() == nil && slices.ContainsFunc(nics, func(n any) bool {
			nic, _ := n.(map[string]any)
			text, _ := nic["macAddress"].(string)
			return strings.EqualFold(text, mac)
		}) {
			found = append(found, agent)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MaxFunc(found, func(a, b *apiobject.Object) int {
		return cmp.Compare(a.GetCreationTimestamp().UnixNano(), b.GetCreationTimestamp().UnixNano())
	})
}

// leavesByHand says whether an Agent was unbound from an installed cluster and waits for its machine
// to boot the discovery image again.
func leavesByHand(agent *apiobject.Object) bool {
	return apiobject.Condition(agent, hubapi.ConditionBound)["reason"] == hubapi.ReasonUnbindingByHand
}

// reattach gives a host back to the operator of bare metal, without its image: it is deprovisioned, and
// boots the image anew once it is available.
func (h *hub) reattach(ctx context.Context, host *apiobject.Object) error {
	return h.store.change(ctx, host, func() {
		notes := host.GetAnnotations()
		delete(notes, hubapi.AnnotationBMHDetached)
		host.SetAnnotations(notes)
		unstructured.RemoveNestedField(host.Object, "spec", "image")
	})
}

// boot has a host booted from the image, or detached once its machine boots from its own disk. A host
// that is detached is left alone, and one that is neither new nor available loses its image first.
func (h *hub) boot(ctx context.Context, host, env, agent *apiobject.Object) error {
	return h.store.change(ctx, host, func() {
		apiobject.AddFinalizer(host, hubapi.FinalizerBMAC)
		notes := labels.Merge(host.GetAnnotations(), labels.Set{hubapi.AnnotationBMHInspect: "disabled"})
		spec, _, _ := unstructured.NestedMap(host.Object, "spec")
		spec["automatedCleaningMode"] = "disabled"
		leaving := []string{"Rebooting", "Joined", "Done", "Failed"}
		installs := agent != nil && !leavesByHand(agent) && slices.Contains(leaving, apiobject.Text(agent, "status", "progress", "currentStage"))
		url, state := apiobject.Text(env, "status", "isoDownloadURL"), apiobject.Text(host, "status", "provisioning", "state")
		switch {
		case installs && notes[hubapi.AnnotationBMACManageProvisioned] != yesText:
			notes[hubapi.AnnotationBMHDetached] = "assisted-service-controller"
		case installs || notes[hubapi.AnnotationBMHDetached] != "" || url == "" || apiobject.Text(host, "spec", "image", "url") == url ||
			!h.cool(env, host):
		case h.config.Metal3 && state != "" && state != "ready" && state != "available":
			delete(spec, "image")
		default:
			spec["online"] = true
			spec["image"] = map[string]any{"url": url, "format": "live-iso"}
		}
		host.SetAnnotations(notes)
		host.Object["spec"] = spec
	})
}

func (h *hub) cool(env, host *apiobject.Object) bool {
	made, err := time.Parse(time.RFC3339, apiobject.Text(env, "status", "createdTime"))
	if err != nil {
		return false
	}
	if rest := cooling - h.clock.Now().Sub(made); rest > 0 {
		h.requeueAfter(keyOf(hubapi.KindBareMetalHost, host), rest)
		return false
	}
	return true
}

// instruct approves an Agent and has it say, at every look, what the annotations of its host say.
func (h *hub) instruct(ctx context.Context, host, agent *apiobject.Object, spec *metal3.BareMetalHostSpec) error {
	notes := host.GetAnnotations()
	fields, _, _ := unstructured.NestedMap(agent.Object, "spec")
	fields["approved"] = true
	for note, name := range map[string]string{
		hubapi.AnnotationBMACRole: "role", hubapi.AnnotationBMACHostname: "hostname", hubapi.AnnotationBMACMachineConfigPool: "machineConfigPool",
		hubapi.AnnotationBMACInstallerArgs: "installerArgs", hubapi.AnnotationBMACIgnitionOverrides: "ignitionConfigOverrides",
	} {
		if text, said := notes[note]; said {
			fields[name] = text
		}
	}
	if ref, said := notes[hubapi.AnnotationBMACClusterReference]; said {
		delete(fields, "clusterDeploymentName")
		if space, name, ok := strings.Cut(ref, "/"); ok {
			fields["clusterDeploymentName"] = map[string]any{"namespace": space, "name": name}
		}
	}
	if secret := notes[hubapi.AnnotationBMACFencingSecret]; secret != "" {
		fields["fencingCredentialsSecretRef"] = secret
	}
	if disk := hintedDisk(agent, spec.RootDeviceHints); disk != "" {
		fields["installation_disk_id"] = disk
	}
	marks := labels.Merge(agent.GetLabels(), labels.Set{hubapi.LabelAgentBMH: host.GetName()})
	nodes, _, _ := unstructured.NestedMap(fields, "nodeLabels")
	for note, text := range notes {
		if name, ok := strings.CutPrefix(note, hubapi.AnnotationBMACAgentLabelPrefix); ok {
			marks[name] = text
		}
		if name, ok := strings.CutPrefix(note, hubapi.AnnotationBMACNodeLabelPrefix); ok {
			if nodes == nil {
				nodes = map[string]any{}
			}
			nodes[name] = text
			fields["nodeLabels"] = nodes
		}
	}
	return h.store.change(ctx, agent, func() {
		agent.SetLabels(marks)
		agent.Object["spec"] = fields
	})
}

// noDisk is what an Agent is told where no disk fits the hints; it then says that there is no such disk.
const noDisk = "/dev/not-found-by-hints"

// hintedDisk finds the disk that hints describe: of those that may be installed on and fit all of them a multipath
// device, else the first.
func hintedDisk(agent *apiobject.Object, hints *metal3.RootDeviceHints) string {
	if hints == nil {
		return ""
	}
	var inv agentinstall.HostInventory
	fields, found, _ := unstructured.NestedMap(agent.Object, "status", "inventory")
	if !found || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &inv) != nil {
		return ""
	}
	chosen := noDisk
	for _, d := range inv.Disks {
		if e := d.InstallationEligibility; e == nil || !e.Eligible || !hinted(&d, hints) {
			continue
		}
		if strings.EqualFold(d.DriveType, "Multipath") {
			return d.ID
		}
		if chosen == noDisk {
			chosen = d.ID
		}
	}
	return chosen
}

// hinted says whether a disk fits hints. Extensions of the world-wide name are not read.
func hinted(d *agentinstall.HostDisk, hints *metal3.RootDeviceHints) bool {
	const gigabyte = 1_000_000_000
	same := func(hint string, values ...string) bool { return hint == "" || slices.Contains(values, hint) }
	within := func(hint, value string) bool { return hint == "" || strings.Contains(value, hint) }
	return same(hints.DeviceName, d.Path, d.ByPath) && same(hints.HCTL, d.HCTL) && same(hints.SerialNumber, d.Serial) &&
		same(hints.WWN, d.WWN) && within(hints.Model, d.Model) && within(hints.Vendor, d.Vendor) &&
		d.SizeBytes/gigabyte >= int64(hints.MinSizeGigabytes) &&
		(hints.Rotational == nil || *hints.Rotational == strings.EqualFold(d.DriveType, "HDD"))
}

// power does for a BareMetalHost what the operator of bare metal does: it says
// that the machine is on and what it was booted with. The machines themselves
// boot as soon as there is an image, with an operator or without.
func (h *hub) power(ctx context.Context, host *apiobject.Object) error {
	status := apiobject.Status(host)
	provisioning, _, _ := unstructured.NestedMap(host.Object, "status", "provisioning")
	if provisioning == nil {
		provisioning = map[string]any{"ID": ""}
	}
	image, booted, _ := unstructured.NestedMap(host.Object, "spec", "image")
	status["operationalStatus"], status["poweredOn"] = "OK", apiobject.Truth(host, "spec", "online")
	status["errorCount"], status["errorMessage"] = int64(0), ""
	delete(provisioning, "image")
	switch {
	case booted:
		provisioning["state"], provisioning["image"] = "provisioned", map[string]any{"url": image["url"], "format": image["format"]}
	default:
		provisioning["state"] = "available"
	}
	if host.GetAnnotations()[hubapi.AnnotationBMHDetached] != "" {
		status["operationalStatus"] = "detached"
	}
	status["provisioning"] = provisioning
	return h.writeStatus(ctx, host, status)
}
