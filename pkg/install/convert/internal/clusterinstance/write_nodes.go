package clusterinstance

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/target"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// nodeMetal3 is how metal3 treats the machine.
func nodeMetal3(out objects.Fields, host *spec.Host) {
	if host.BMC == nil {
		return
	}
	notes := map[string]string{}
	objects.Metal3Fields(host.BMC.Metal3, out, notes)
	if word := notes[hubapi.AnnotationBMHInspect]; word != "" {
		out["ironicInspect"] = word
		delete(notes, hubapi.AnnotationBMHInspect)
	}
	if pool := host.MachineConfigPool; pool != "" {
		notes[hubapi.AnnotationBMACMachineConfigPool] = pool
	}
	if len(notes) > 0 {
		out["extraAnnotations"] = objects.Fields{hubapi.KindBareMetalHost: objects.AnyMap(notes)}
	}
}

// rolesOf is what each host becomes: what the file says, or, in the order of the
// file, the control plane until it is full, then workers.
func rolesOf(c *spec.Cluster) map[string]spec.Role {
	free := c.ControlPlaneCount()
	for _, host := range c.Spec.Hosts {
		if host.Role == spec.ControlPlane {
			free--
		}
	}
	roles := map[string]spec.Role{}
	for _, host := range c.Spec.Hosts {
		switch {
		case host.Role != spec.Auto && host.Role != "":
			roles[host.Name] = host.Role
		case free > 0:
			roles[host.Name], free = spec.ControlPlane, free-1
		default:
			roles[host.Name] = spec.Worker
		}
	}
	return roles
}

// node is a machine, and the Secret with the credentials of its BMC, by which
// SiteConfig boots it.
func (w *writer) node(host *spec.Host, role spec.Role) (out objects.Fields, credentials []*unstructured.Unstructured) {
	c := w.Maker.Cluster
	out = objects.Fields{
		"hostName":              target.HostnameOf(host),
		"role":                  objects.RoleWord(role),
		"automatedCleaningMode": "disabled",
		"templateRefs":          []any{objects.Fields{"name": nodeTemplates, "namespace": templateNamespace}},
	}
	if role != host.Role {
		w.LoseHost(host, "role", string(host.Role), "a node has a role: it is made "+string(role))
	}
	credentials = w.nodeBMC(out, host)
	objects.Put(out, "bootMACAddress", cmp.Or(append(target.MACsOf(c, host), "")...))
	objects.Put(out, "cpuArchitecture", objects.Metal3Arch(host.Arch))
	if hints := objects.HintFields(host.Disk.Hints); len(hints) > 0 {
		out["rootDeviceHints"] = hints
	}
	config, interfaces, static, err := objects.NMStateOf(c, host)
	switch {
	case err != nil:
		w.RefuseHost(host, "net.nmstate", err.Error(), "")
	case static:
		out["nodeNetwork"] = objects.Fields{"config": config, "interfaces": objects.InterfaceFields(interfaces)}
	}
	if len(host.Labels) > 0 {
		out["nodeLabels"] = objects.AnyMap(host.Labels)
	}
	objects.Put(out, "installerArgs", objects.InstallerArgs(host))
	objects.Put(out, "ignitionConfigOverride", w.HostIgnition(host))
	nodeMetal3(out, host)
	return out, credentials
}

// nodeBMC is how the machine is booted; one that is not said is lost, for every
// node has one.
func (w *writer) nodeBMC(out objects.Fields, host *spec.Host) []*unstructured.Unstructured {
	if host.BMC == nil {
		w.LoseHost(host, "bmc", nil, "is missing: SiteConfig boots every node by its BMC; add bmcAddress and bmcCredentialsName")
		return nil
	}
	name := objects.BMCSecretName(w.Maker.Cluster, host)
	out["bmcAddress"] = w.AddressOrLoss(host)
	out["bmcCredentialsName"] = objects.Fields{"name": name}
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, known := host.BMC.Credentials.Login()
	if !w.Secrets || !known || password.IsZero() {
		w.LoseHost(host, "bmc.credentials", loss.Plain(host.BMC.Credentials), "secrets were not asked for, or stand on a hub in part; the Secret "+name+" has to be there")
		return nil
	}
	return w.Secret(name, "Opaque", map[string]string{"username": user, "password": password.Reveal()})
}
