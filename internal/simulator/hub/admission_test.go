package hub

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/hub/webhook"
)

// parse makes an object of a kind out of YAML.
func parse(t *testing.T, k objects.Kind, text string) *apiobject.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	o := &apiobject.Object{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.YAMLToJSON([]byte(text)) // numbers as the API has them
	if err == nil {
		err = o.UnmarshalJSON([]byte(strings.Replace(string(data), "{", `{"kind":"`+string(k)+`","apiVersion":"x/v1",`, 1)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// verdict is a status code, and words that the refusal has; 0 is a yes.
type verdict struct {
	code  int32
	words string
}

func (v verdict) check(t *testing.T, name string, err error) {
	t.Helper()
	if v.code == 0 {
		if err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
		return
	}
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != v.code || !strings.Contains(err.Error(), v.words) {
		t.Errorf("%s: have %v, not a %d with %q", name, err, v.code, v.words)
	}
}

func TestInstallRules(t *testing.T) {
	ok := verdict{}
	for name, row := range map[string]struct {
		old, now string
		verdict
	}{
		"nothing said":                    {"", "spec: {provisionRequirements: {controlPlaneAgents: 3}}", ok},
		"single node with our network":    {"", "spec: {networking: {userManagedNetworking: false}, provisionRequirements: {controlPlaneAgents: 1}}", verdict{409, "SNO"}},
		"single node, user's network":     {"", "spec: {networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 1}}", ok},
		"single master with workers":      {"", "spec: {networking: {userManagedNetworking: false}, provisionRequirements: {controlPlaneAgents: 1, workerAgents: 2}}", ok},
		"bare metal, user's network":      {"", "spec: {platformType: BareMetal, networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}", verdict{409, "Can't set baremetal platform"}},
		"bare metal on a single node":     {"", "spec: {platformType: BareMetal, provisionRequirements: {controlPlaneAgents: 1}}", verdict{409, "single node"}},
		"none with our network":           {"", "spec: {platformType: None, networking: {userManagedNetworking: false}, provisionRequirements: {controlPlaneAgents: 3}}", verdict{409, "Can't set none platform"}},
		"external without its settings":   {"", "spec: {platformType: External, networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}", verdict{409, "platform type"}},
		"external with its settings":      {"", "spec: {platformType: External, external: {platformName: oci}, provisionRequirements: {controlPlaneAgents: 3}}", ok},
		"external settings elsewhere":     {"", "spec: {external: {platformName: oci}, provisionRequirements: {controlPlaneAgents: 3}}", verdict{409, "platform type"}},
		"Nutanix, user's network":         {"", "spec: {platformType: Nutanix, networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}", verdict{409, "Can't set nutanix platform"}},
		"vSphere, user's network":         {"", "spec: {platformType: VSphere, networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}", ok},
		"another image set":               {"spec: {imageSetRef: {name: a}}", "spec: {imageSetRef: {name: b}}", verdict{400, "ImageSetRef"}},
		"an image set at last":            {"spec: {sshPublicKey: a}", "spec: {imageSetRef: {name: b}}", verdict{400, "ImageSetRef"}},
		"platform left out, judged by it": {"spec: {platformType: BareMetal, provisionRequirements: {controlPlaneAgents: 3}}", "spec: {networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}", verdict{409, "Can't set baremetal platform"}},
		"before the start": {"spec: {apiVIPs: [a]}\nstatus: {conditions: [{type: Completed, status: 'False', reason: InstallationNotStarted}]}",
			"spec: {apiVIPs: [b]}", ok},
		"after the start": {"spec: {apiVIPs: [a]}\nstatus: {conditions: [{type: Completed, status: 'False', reason: InstallationInProgress}]}",
			"spec: {apiVIPs: [b]}", verdict{400, "apiVIPs"}},
		"what may change after the start": {"spec: {apiVIPs: [a]}\nstatus: {conditions: [{type: Completed, status: 'False', reason: InstallationInProgress}]}",
			"spec: {apiVIPs: [a], clusterMetadata: {infraID: x}, ignitionEndpoint: {url: u}, holdInstallation: false, compute: []}", ok},
		"counts while it installs": {"spec: {provisionRequirements: {controlPlaneAgents: 3}}\nstatus: {conditions: [{type: Completed, status: 'False', reason: InstallationInProgress}]}",
			"spec: {provisionRequirements: {controlPlaneAgents: 3, workerAgents: 1}}", verdict{400, "provisionRequirements"}},
		"counts when it is installed": {"spec: {provisionRequirements: {controlPlaneAgents: 3}}\nstatus: {conditions: [{type: Completed, status: 'True', reason: InstallationCompleted}]}",
			"spec: {provisionRequirements: {controlPlaneAgents: 3, workerAgents: 1}}", ok},
	} {
		row.check(t, name, webhook.ValidateInstall(parse(t, hubapi.KindAgentClusterInstall, row.old), parse(t, hubapi.KindAgentClusterInstall, row.now)))
	}
}

func TestDefaultUserManaged(t *testing.T) {
	for name, row := range map[string]struct {
		now  string
		want any
	}{
		"three nodes":      {"spec: {networking: {}, provisionRequirements: {controlPlaneAgents: 3}}", false},
		"one node":         {"spec: {networking: {}, provisionRequirements: {controlPlaneAgents: 1}}", true},
		"bare metal":       {"spec: {platformType: BareMetal, networking: {}, provisionRequirements: {controlPlaneAgents: 3}}", false},
		"none":             {"spec: {platformType: None, networking: {}, provisionRequirements: {controlPlaneAgents: 3}}", true},
		"external":         {"spec: {platformType: External, networking: {}, provisionRequirements: {controlPlaneAgents: 3}}", true},
		"vSphere":          {"spec: {platformType: VSphere, networking: {}, provisionRequirements: {controlPlaneAgents: 3}}", nil},
		"said":             {"spec: {networking: {userManagedNetworking: true}, provisionRequirements: {controlPlaneAgents: 3}}", true},
		"begun, left open": {"spec: {networking: {}, provisionRequirements: {controlPlaneAgents: 3}}\nstatus: {conditions: [{type: Completed, status: 'False', reason: InstallationInProgress}]}", nil},
	} {
		o := parse(t, hubapi.KindAgentClusterInstall, row.now)
		if _, err := webhook.DefaultInstall(o); err != nil {
			t.Fatal(err)
		}
		networking := o.Object["spec"].(map[string]any)["networking"].(map[string]any)
		if have := networking["userManagedNetworking"]; have != row.want {
			t.Errorf("%s: have %v, not %v", name, have, row.want)
		}
	}
}

func TestOtherRules(t *testing.T) {
	ok := verdict{}
	admitter := &admitter{hive: true, installed: func(ref *hubapi.Reference) bool { return ref.Name == "done" },
		deny: []Denial{{Kind: "Agent", Name: "bad", Message: "not this one"}}}
	for name, row := range map[string]struct {
		kind      objects.Kind
		operation string
		old, now  string
		verdict
	}{
		"InfraEnv with both": {hubapi.KindInfraEnv, "CREATE", "", "spec: {clusterRef: {name: a, namespace: b}, osImageVersion: '4.20'}", verdict{400, "not both"}},
		"two kinds of NTP":   {hubapi.KindInfraEnv, "CREATE", "", "spec: {ntpSources: [a], additionalNTPSources: [b]}", ok},
		"cluster added":      {hubapi.KindInfraEnv, "UPDATE", "spec: {}", "spec: {clusterRef: {name: a, namespace: b}}", verdict{400, "ClusterRef"}},
		"cluster removed":    {hubapi.KindInfraEnv, "UPDATE", "spec: {clusterRef: {name: a, namespace: b}}", "spec: {}", verdict{400, "ClusterRef"}},
		"key changed":        {hubapi.KindInfraEnv, "UPDATE", "spec: {clusterRef: {name: a, namespace: b}}", "spec: {clusterRef: {name: a, namespace: b}, sshAuthorizedKey: k}", ok},
		"other architecture": {hubapi.KindInfraEnv, "UPDATE", "spec: {cpuArchitecture: x86_64}", "spec: {cpuArchitecture: arm64}", verdict{400, "CpuArchitecture"}},
		"image too early":    {hubapi.KindInfraEnv, "UPDATE", "spec: {clusterRef: {name: a, namespace: b}}", "spec: {clusterRef: {name: a, namespace: b}, osImageVersion: '4.20'}", verdict{400, "installed"}},
		"image for day 2":    {hubapi.KindInfraEnv, "UPDATE", "spec: {clusterRef: {name: done, namespace: b}}", "spec: {clusterRef: {name: done, namespace: b}, osImageVersion: '4.20'}", ok},

		"disk twice":          {hubapi.KindAgent, "UPDATE", "spec: {}", "spec: {installation_disk_id: a, installation_disk_path: b}", verdict{400, "not both"}},
		"bound while known":   {hubapi.KindAgent, "UPDATE", "status: {debugInfo: {state: known-unbound}}", "spec: {clusterDeploymentName: {name: a, namespace: b}}", ok},
		"unbound while busy":  {hubapi.KindAgent, "UPDATE", "spec: {clusterDeploymentName: {name: a, namespace: b}}\nstatus: {debugInfo: {state: installing-in-progress}}", "spec: {}", verdict{400, "ClusterDeploymentName"}},
		"day 2 given up":      {hubapi.KindAgent, "UPDATE", "spec: {clusterDeploymentName: {name: a, namespace: b}}\nstatus: {kind: AddToExistingClusterHost, debugInfo: {state: installing}}", "spec: {}", ok},
		"denied by a trouble": {hubapi.KindAgent, "UPDATE", "metadata: {name: bad}", "metadata: {name: bad}", verdict{403, "not this one"}},

		"reserved label":   {hubapi.KindAgentClassification, "CREATE", "", "spec: {labelKey: a, labelValue: QUERYERROR-x, query: .cpu}", verdict{400, "QUERYERROR"}},
		"no label":         {hubapi.KindAgentClassification, "CREATE", "", "spec: {labelKey: a, labelValue: '-', query: .cpu}", verdict{400, "spec: Invalid value: \"-\""}},
		"no query":         {hubapi.KindAgentClassification, "CREATE", "", "spec: {labelKey: a, labelValue: b, query: '.cpu |'}", verdict{400, "spec: Invalid value: \".cpu |\": unexpected EOF"}},
		"unknown function": {hubapi.KindAgentClassification, "CREATE", "", "spec: {labelKey: a, labelValue: b, query: nonsense(.cpu)}", ok},
		"label changed":    {hubapi.KindAgentClassification, "UPDATE", "spec: {labelKey: a, labelValue: b, query: .}", "spec: {labelKey: a, labelValue: c, query: .}", verdict{400, "Label modified"}},
		"a classification": {hubapi.KindAgentClassification, "CREATE", "", "spec: {labelKey: size, labelValue: big, query: '.cpu.count > 8'}", ok},

		"cluster without pull secret": {hubapi.KindClusterDeployment, "CREATE", "", "spec: {clusterInstallRef: {group: extensions.hive.openshift.io, kind: AgentClusterInstall}}", ok},
		"a cluster":                   {hubapi.KindClusterDeployment, "CREATE", "", "spec: {pullSecretRef: {name: p}, clusterInstallRef: {group: extensions.hive.openshift.io, kind: AgentClusterInstall}}", ok},
		"other contract":              {hubapi.KindClusterDeployment, "CREATE", "", "spec: {pullSecretRef: {name: p}, clusterInstallRef: {group: x, kind: other}}", verdict{422, `spec.clusterInstallRef.kind: Unsupported value: "other": supported values: "extensions.hive.openshift.io/v1beta1, Kind=AgentClusterInstall"`}},
		"too long a name":             {hubapi.KindClusterDeployment, "CREATE", "", "spec: {clusterName: " + strings.Repeat("a", 64) + ", pullSecretRef: {name: p}}", verdict{400, "Invalid cluster name (.spec.clusterName): must be no more than 63 characters"}},
		"two ways":                    {hubapi.KindClusterDeployment, "CREATE", "", "spec: {pullSecretRef: {name: p}, provisioning: {}, clusterInstallRef: {group: extensions.hive.openshift.io, kind: AgentClusterInstall}}", verdict{422, "spec.provisioning: Forbidden: provisioning and clusterInstallRef cannot be set at the same time"}},
		"installed without metadata":  {hubapi.KindClusterDeployment, "UPDATE", "spec: {}", "spec: {installed: true}", verdict{422, "spec.clusterMetadata: Required value: installed cluster must have cluster metadata"}},
		"no way to install":           {hubapi.KindClusterDeployment, "CREATE", "", "spec: {}", verdict{422, "spec.provisioning: Required value: provisioning is required if not installed"}},
		"domain changed":              {hubapi.KindClusterDeployment, "UPDATE", "spec: {baseDomain: a}", "spec: {baseDomain: b}", verdict{400, "baseDomain"}},
		"selector changed":            {hubapi.KindClusterDeployment, "UPDATE", "spec: {platform: {agentBareMetal: {agentSelector: {}}}}", "spec: {platform: {agentBareMetal: {agentSelector: {matchLabels: {a: b}}}}}", ok},
		"installed":                   {hubapi.KindClusterDeployment, "UPDATE", "spec: {installed: false}", "spec: {installed: true, clusterMetadata: {clusterID: a, infraID: b, adminKubeconfigSecretRef: {name: c}}}", ok},
		"uninstalled":                 {hubapi.KindClusterDeployment, "UPDATE", "spec: {installed: true, clusterMetadata: {clusterID: a, infraID: b, adminKubeconfigSecretRef: {name: c}}}", "spec: {installed: false}", verdict{422, "spec.installed: Invalid value: false: cannot make uninstalled once installed"}},
		"metadata changed":            {hubapi.KindClusterDeployment, "UPDATE", "spec: {installed: true, clusterMetadata: {clusterID: a, infraID: b, adminKubeconfigSecretRef: {name: c}}}", "spec: {installed: true, clusterMetadata: {clusterID: x, infraID: b, adminKubeconfigSecretRef: {name: c}}}", verdict{422, "field is immutable"}},
		"protected":                   {hubapi.KindClusterDeployment, "DELETE", "metadata: {annotations: {hive.openshift.io/protected-delete: 'true'}}", "", verdict{422, `metadata.annotations.hive.openshift.io/protected-delete: Invalid value: "true": cannot delete while annotation is present`}},
		"not protected":               {hubapi.KindClusterDeployment, "DELETE", "metadata: {annotations: {hive.openshift.io/protected-delete: 'false'}}", "", ok},
	} {
		old, now := parse(t, row.kind, row.old), parse(t, row.kind, row.now)
		id := ""
		if now != nil {
			id = now.GetName()
		}
		row.check(t, name, admitter.judge(row.kind, row.operation, id, old, now))
	}
}
