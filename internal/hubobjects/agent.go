package hubobjects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// HostSecrets are the names of the Secrets that an Agent refers to.
type HostSecrets struct {
	Namespace string
	Fencing   string
	Token     string
}

// SecretsOf are the names of the Secrets of a host; none without a host.
func SecretsOf(c *spec.Cluster, host *spec.Host, namespace string) HostSecrets {
	if host == nil {
		return HostSecrets{}
	}
	return HostSecrets{Namespace: namespace, Fencing: FencingSecretName(c, host), Token: TokenSecretName(c, host)}
}

// AgentTable is the settings that an Agent holds. Agents are patched: what is empty is
// written as such.
func AgentTable(secrets HostSecrets) Table {
	return Table{
		field(setting.Approved, boolean(), inSpec("approved")...).meaning(false),
		field(setting.Role, role(), inSpec("role")...).meaning(model.RoleOf("")),
		field(setting.Hostname, cleared(), inSpec("hostname")...),
		field(setting.Disk, cleared(), inSpec("installation_disk_id")...).orElse(field(setting.Disk, cleared(), "status", "installation_disk_id")),
		field(setting.Pool, cleared(), inSpec("machineConfigPool")...),
		field(setting.Args, inJSON[[]string]("a JSON list of texts"), inSpec("installerArgs")...),
		field(setting.Ignition, cleared(), inSpec("ignitionConfigOverrides")...),
		field(setting.Labels, keyed(), inSpec("nodeLabels")...),
		field(setting.EndpointHeaders, keyed(), inSpec("ignitionEndpointHTTPHeaders")...),
		row(setting.EndpointToken, nil, func(object Fields, _ string) error {
			return setNamed(object, secrets.Token, "ignitionEndpointTokenReference", Fields{"name": secrets.Token, "namespace": secrets.Namespace})
		}, func(object Fields) (string, bool, error) {
			return setting.TokenSet, textAt(object, inSpec("ignitionEndpointTokenReference", "name")...) != "", nil
		}),
		row(setting.Fencing, nil, func(object Fields, _ string) error {
			return setNamed(object, secrets.Fencing, "fencingCredentialsSecretRef", secrets.Fencing)
		}, unknown),
	}
}

// MachineTable is the settings that a BareMetalHost holds for its Agent, in annotations
// that the bare-metal-agent controller reads. It writes them on the Agent again and again.
func MachineTable(secrets HostSecrets) Table {
	return Table{
		field(setting.Role, role(), annotation(hubapi.AnnotationBMACRole)...),
		field(setting.Hostname, cleared(), annotation(hubapi.AnnotationBMACHostname)...),
		field(setting.Pool, cleared(), annotation(hubapi.AnnotationBMACMachineConfigPool)...),
		field(setting.Args, inJSON[[]string]("a JSON list of texts"), annotation(hubapi.AnnotationBMACInstallerArgs)...),
		field(setting.Ignition, cleared(), annotation(hubapi.AnnotationBMACIgnitionOverrides)...),
		row(setting.Labels, nil, func(object Fields, labels map[string]string) error {
			notes := map[string]string{}
			for key, value := range labels {
				notes[hubapi.AnnotationBMACNodeLabelPrefix+key] = value
			}
			addAnnotations(&unstructured.Unstructured{Object: object}, notes)
			return nil
		}, func(Fields) (map[string]string, bool, error) { return nil, false, nil }),
		row(setting.Fencing, nil, func(object Fields, _ string) error {
			if secrets.Fencing == "" {
				return nil
			}
			return unstructured.SetNestedField(object, secrets.Fencing, annotation(hubapi.AnnotationBMACFencingSecret)...)
		}, unknown),
	}
}

func unknown(Fields) (string, bool, error) { return "", false, nil }

// cleared is a text that is written empty, too.
func cleared() form[string] {
	return form[string]{write: func(v string) any { return v }, read: as[string]}
}

// role is a role in the service's word.
func role() form[install.Role] {
	return form[install.Role]{
		write: func(v install.Role) any { return model.RoleWord(v) },
		read: func(content any) (install.Role, error) {
			word, err := as[string](content)
			return model.RoleOf(word), err
		},
	}
}

// setNamed sets a field that refers to a Secret, where there is one.
func setNamed(object Fields, secret, name string, content any) error {
	if secret == "" {
		return nil
	}
	return setAll(object, Fields{name: content})
}
