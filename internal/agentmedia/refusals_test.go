package agentmedia

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestRefusals hands each step what it must not take. Nothing is written.
func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		step  stepFunc
		spoil func(*medium)
		code  model.Code
		says  string
	}{
		{"no file", (*Client).RegisterCluster, func(m *medium) { m.env.ClusterDeployment += "x" }, model.CodeInput, "cluster-deployment.yamlx: no such file"},
		{"an empty file", (*Client).RegisterCluster, func(m *medium) { m.put("cluster-image-set.yaml", "# nothing\n") }, model.CodeInput, "cluster-image-set.yaml: it is empty"},
		{"no YAML", (*Client).RegisterCluster, func(m *medium) { m.edit("agent-cluster-install.yaml", "networking:\n", "networking: {\n") }, model.CodeInput, "agent-cluster-install.yaml: line "},
		{"an unknown field", (*Client).RegisterCluster, func(m *medium) { m.edit("agent-cluster-install.yaml", "  platformType:", "  platfromType:") },
			model.CodeInput, "line 23, column 3: unknown field spec.platfromType"},
		{"an unknown field in a list", (*Client).RegisterCluster, func(m *medium) { m.edit("agent-cluster-install.yaml", "hostPrefix: 23", "hostPrefx: 23") },
			model.CodeInput, "line 18, column 29: unknown field spec.networking.clusterNetwork[0].hostPrefx"},
		{"a wrong kind of value", (*Client).RegisterCluster, func(m *medium) {
			m.edit("agent-cluster-install.yaml", "controlPlaneAgents: 3", "controlPlaneAgents: three")
		},
			model.CodeInput, "line 24, column 27: spec.provisionRequirements.controlPlaneAgents is a string where it should be a whole number"},
		{"another kind", (*Client).RegisterCluster, func(m *medium) { m.put("cluster-image-set.yaml", infraEnvYAML) }, model.CodeInput, "line 2, column 1: it is an InfraEnv of agent-install.openshift.io/v1beta1; a ClusterImageSet of "},
		{"another group", (*Client).RegisterCluster, func(m *medium) { m.edit("cluster-deployment.yaml", "hive.openshift.io/v1", "hive.example.com/v1") }, model.CodeInput, "hive.openshift.io"},
		{"no kind", (*Client).RegisterCluster, func(m *medium) { m.put("cluster-image-set.yaml", "a: 1\n") }, model.CodeInput, "it has no apiVersion and kind; a ClusterImageSet is expected"},
		{"no kind of another", (*Client).RegisterCluster, func(m *medium) { m.put("agent-cluster-install.yaml", "a: 1\n") }, model.CodeInput, "; an AgentClusterInstall is expected"},
		{"two documents", (*Client).RegisterCluster, func(m *medium) { m.put("cluster-image-set.yaml", imageSetYAML+"---\n"+imageSetYAML) }, model.CodeInput, "it has a second document"},
		{"no release", (*Client).RegisterCluster, func(m *medium) {
			m.put("cluster-image-set.yaml", "apiVersion: hive.openshift.io/v1\nkind: ClusterImageSet\nmetadata: {name: x}\nspec: {}\n")
		}, model.CodeInput, "spec.releaseImage is missing"},
		{"no name", (*Client).RegisterCluster, func(m *medium) { m.edit("cluster-deployment.yaml", "clusterName: lab", "clusterName: ''") }, model.CodeInput, "spec.clusterName is missing"},
		{"no pull secret", (*Client).RegisterCluster, func(m *medium) { m.edit("pull-secret.yaml", ".dockerconfigjson", "dockerconfigjson") }, model.CodeInput, "neither stringData nor data has the key"},
		{"a pull secret that is none", (*Client).RegisterInfraEnv, func(m *medium) { m.edit("pull-secret.yaml", `{"auths"`, `{"oaths"`) }, model.CodeInput, "not JSON with auths"},
		{"addresses that differ", (*Client).RegisterCluster, func(m *medium) {
			m.edit("agent-cluster-install.yaml", "apiVIP: 192.168.127.240", "apiVIP: 192.168.127.9")
		},
			model.CodeInput, "spec.apiVIP is 192.168.127.9 and the first of spec.apiVIPs is 192.168.127.240"},
		{"an unknown platform", (*Client).RegisterCluster, func(m *medium) { m.edit("agent-cluster-install.yaml", "BareMetal", "baremetal") }, model.CodeInput, `spec.platformType is "baremetal"`},
		{"overrides that are none", (*Client).RegisterCluster, func(m *medium) { m.edit("agent-cluster-install.yaml", `{"fips": true}`, `fips`) }, model.CodeInput, "is not a JSON object"},
		{"operators that are none", (*Client).RegisterCluster, func(m *medium) { m.put("operators.yaml", "- nmae: lvm\n") }, model.CodeInput, "operators.yaml: line 1, column 3: unknown field [0].nmae"},
		{"an operator without a name", (*Client).RegisterCluster, func(m *medium) { m.put("operators.yaml", "- name: lvm\n- properties: x\n") }, model.CodeInput, "operator number 2 has no name"},
		{"an extra manifest that is none", (*Client).RegisterCluster, func(m *medium) { m.put("extra/a.yml", "a: [\n") }, model.CodeInput, "a.yml: line "},
		{"a registries.conf that is none", (*Client).RegisterCluster, func(m *medium) { m.put("registries.conf", "[[registry\n") }, model.CodeInput, "registries.conf: line 1"},
		{"labels that differ", (*Client).RegisterInfraEnv, func(m *medium) {
			m.put("nmstateconfig.yaml", "apiVersion: agent-install.openshift.io/v1beta1\nkind: NMStateConfig\nmetadata:\n  name: m-0\n  labels: {a: b}\nspec: {config: {a: b}, interfaces: [{name: e, macAddress: '52:54:00:aa:00:01'}]}\n")
		}, model.CodeInput, "line 5, column 3: NMStateConfig m-0: its metadata.labels map[a:b] are not those"},
		{"no labels", (*Client).RegisterInfraEnv, func(m *medium) {
			m.put("nmstateconfig.yaml", "apiVersion: agent-install.openshift.io/v1beta1\nkind: NMStateConfig\nmetadata: {name: m-0}\nspec: {config: {a: b}}\n")
		}, model.CodeInput, "it has no metadata.labels"},
		{"no selector", (*Client).RegisterInfraEnv, func(m *medium) {
			m.edit("infraenv.yaml", "    matchLabels: {infraenvs.agent-install.openshift.io: lab}\n", "    matchLabels: {}\n")
			m.put("nmstateconfig.yaml", "apiVersion: agent-install.openshift.io/v1beta1\nkind: NMStateConfig\nmetadata: {name: m-0, labels: {a: b}}\nspec: {config: {a: b}}\n")
		}, model.CodeInput, "has no spec.nmStateConfigLabelSelector.matchLabels"},
		{"a kernel argument that is taken away", (*Client).RegisterInfraEnv, func(m *medium) {
			m.edit("infraenv.yaml", "  pullSecretRef", "  kernelArguments: [{operation: delete, value: quiet}]\n  pullSecretRef")
		}, model.CodeInput, "not delete quiet"},
		{"no InfraEnv named", (*Client).Configure, func(*medium) {}, model.CodeNotFound, "INFRA_ENV_ID is not set"},
		{"no InfraEnv named for a node", (*Client).AddNode, func(m *medium) { m.macs = []string{"52:54:00:aa:00:01"} }, model.CodeNotFound, "INFRA_ENV_ID is not set"},
		{"a machine without addresses", (*Client).AddNode, func(m *medium) { m.env.InfraEnvID = "x" }, model.CodeFailure, "no interface with a MAC address"},
		{"no addresses of a host", (*Client).Configure, func(m *medium) { m.put("hostconfig/a/role", "master"); m.env.InfraEnvID = "x" }, model.CodeInput, "mac_addresses: no such file"},
		{"an address that is none", (*Client).Configure, func(m *medium) { m.put("hostconfig/a/mac_addresses", "52:54\n"); m.env.InfraEnvID = "x" }, model.CodeInput, `"52:54" is no MAC address`},
		{"an address of two hosts", (*Client).Configure, func(m *medium) {
			m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
			m.put("hostconfig/b/mac_addresses", "52:54:00:AA:00:01\n")
			m.env.InfraEnvID = "x"
		}, model.CodeInput, "is also an address of a"},
		{"a role that is none", (*Client).Configure, func(m *medium) {
			m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
			m.put("hostconfig/a/role", "boss")
			m.env.InfraEnvID = "x"
		}, model.CodeInput, `"boss" is not a role`},
		{"unknown hints", (*Client).Configure, func(m *medium) {
			m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
			m.put("hostconfig/a/root-device-hints.yaml", "model: x\ndevicename: /dev/sda\n")
			m.env.InfraEnvID = "x"
		}, model.CodeInput, "line 2, column 1: unknown field devicename"},
		{"a hint that the service ignores", (*Client).Configure, func(m *medium) {
			m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
			m.put("hostconfig/a/root-device-hints.yaml", "model: x\nwwnWithExtension: \"0x5001b448b1a00002\"\n")
			m.env.InfraEnvID = "x"
		}, model.CodeInput, "line 2, column 1: wwnWithExtension is not supported by the Assisted Installer"},
		{"fencing without a host", (*Client).Configure, func(m *medium) {
			m.put("hostconfig/fencing-credentials.yaml", "credentials:\n- {address: a, username: b, password: hunter2}\n")
			m.env.InfraEnvID = "x"
		}, model.CodeInput, "hostname or macaddress must identify the host"},
		{"variables that are missing", (*Client).ImportCluster, func(m *medium) { m.env.ClusterName = "lab" }, model.CodeUsage, "not set: CLUSTER_ID, CLUSTER_API_VIP_DNS_NAME"},
		{"no configuration to import", (*Client).ImportCluster, importable, model.CodeInput, "import-cluster-config.json: no such file"},
		{"an unknown field to import", (*Client).ImportCluster, func(m *medium) {
			importable(m)
			m.put("clusterconfig/import-cluster-config.json", `{"networking":{"userManaged":true}}`)
		}, model.CodeInput, "unknown field networking.userManaged"},
		{"an endpoint without an address", (*Client).ImportCluster, func(m *medium) {
			importable(m)
			m.put("clusterconfig/import-cluster-config.json", `{"networking":{}}`)
			m.put("clusterconfig/worker-ignition-endpoint.json", `{"ca_certificate":"eA=="}`)
		}, model.CodeInput, "url is missing"},
		{"no number of hosts", (*Client).StartInstall, func(m *medium) { m.env.AgentClusterInstall += "x" }, model.CodeUsage, "REQUIRED_MASTER_NODES and REQUIRED_WORKER_NODES are not set"},
	}
	m := newMedium(t, auth.None)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			own := *m
			own.T, own.dir, own.told, own.macs = t, t.TempDir(), nil, nil
			for name, text := range map[string]string{
				"cluster-deployment.yaml": deploymentYAML, "agent-cluster-install.yaml": installYAML, "cluster-image-set.yaml": imageSetYAML,
				"infraenv.yaml": infraEnvYAML, "pull-secret.yaml": pullSecretYAML,
			} {
				own.put(name, text)
			}
			own.reset(nil)
			tt.spoil(&own)
			_, err := tt.step(own.client(), t.Context())
			if err == nil || model.FaultOf(err).Code != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("code %d: %v; want %d and %q", model.FaultOf(err).Code, err, tt.code, tt.says)
			}
			if strings.Contains(err.Error(), "dXNlcjpwYXNz") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds a secret: %v", err)
			}
			if made := own.wire.made(); len(made) > 0 {
				t.Errorf("written in spite of that: %v", made)
			}
		})
	}
}

// Files that are missing are named with the variables that say where they are, and a
// registry that cannot be reached with those that name another.
func TestNextNamesVariables(t *testing.T) {
	m := newMedium(t, auth.None)
	whole := func() *Client {
		own := *m
		own.T, own.dir, own.told, own.macs = t, t.TempDir(), nil, nil
		for name, text := range map[string]string{
			"cluster-deployment.yaml": deploymentYAML, "agent-cluster-install.yaml": installYAML, "cluster-image-set.yaml": imageSetYAML, "pull-secret.yaml": pullSecretYAML,
		} {
			own.put(name, text)
		}
		own.reset(nil)
		return own.client()
	}
	unreachable := whole()
	unreachable.Release = func(context.Context, string, release.Options) (release.Info, error) {
		return release.Info{}, &model.Fault{Code: model.CodeFailure, Op: "read release image", Err: errors.New("lookup quay.io: no such host")}
	}
	elsewhere := whole()
	elsewhere.Env.ClusterDeployment += "x"
	elsewhere.Env.PullSecret += "x"
	noEnv := whole()
	noEnv.Env.InfraEnv += "x"
	for _, test := range []struct {
		client *Client
		step   stepFunc
		code   model.Code
		next   string
	}{
		{unreachable, (*Client).RegisterCluster, model.CodeFailure, "a mirror in OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR, or in registries.conf (CONTAINERS_REGISTRIES_CONF)"},
		{elsewhere, (*Client).RegisterCluster, model.CodeInput, "in another folder, set CLUSTER_DEPLOYMENT_FILE, PULL_SECRET_FILE"},
		{noEnv, (*Client).RegisterInfraEnv, model.CodeInput, "in another folder, set INFRA_ENV_FILE"},
	} {
		_, err := test.step(test.client, t.Context())
		if model.FaultOf(err).Code != test.code || !strings.HasSuffix(model.FaultOf(err).Next.String(), test.next) {
			t.Errorf("code %d: %v\nNext: %s", model.FaultOf(err).Code, err, model.FaultOf(err).Next)
		}
	}
}

func importable(m *medium) {
	m.env.ClusterID, m.env.ClusterName, m.env.APIName = "5f8a1b52-3c33-4c6e-9a2f-0d8c53a3e111", "lab", "api.lab.example.com"
}

func TestReadEnvironmentRefuses(t *testing.T) {
	for name, value := range map[string]string{"WORKFLOW_TYPE": "upgrade", "IMAGE_TYPE_ISO": "full", "REQUIRED_MASTER_NODES": "three", "REQUIRED_WORKER_NODES": "-2"} {
		_, err := ReadEnvironment(func(n string) (string, bool) { return value, n == name })
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestSeveralOfAKind(t *testing.T) {
	m := newMedium(t, auth.None)
	for _, name := range []string{"lab", "other"} {
		for _, kind := range []model.Action{
			{Kind: model.RegisterCluster, Name: name, Settings: model.Settings{model.SettingVersion: model.ValueOf("4.20")}},
			{Kind: model.RegisterInfraEnv, Name: name, Settings: model.Settings{model.SettingVersion: model.ValueOf("4.20")}},
		} {
			desired := byID()
			desired.Spec.Metadata.Name, desired.Spec.Spec.PullSecret = name, spec.NewSecret(pullSecret).Source()
			if err := m.client().Service.Act(t.Context(), desired, kind); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.wire.made()
	for name, step := range map[string]stepFunc{"cluster": (*Client).RegisterCluster, "infraenv": (*Client).RegisterInfraEnv, "start": (*Client).StartInstall} {
		_, err := step(m.client(), t.Context())
		if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "found multiple") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("written in spite of that: %v", made)
	}
}

func TestAnotherClusterIsThere(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterCluster, "registered")
	m.edit("cluster-deployment.yaml", "clusterName: lab", "clusterName: other")
	m.wire.made()
	_, err := m.client().RegisterCluster(t.Context())
	if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "a cluster of another name already: lab") {
		t.Error(err)
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("written in spite of that: %v", made)
	}
}

// TestOverridesThatAreRefused has a key that the service does not know.
func TestOverridesThatAreRefused(t *testing.T) {
	m := newMedium(t, auth.None)
	m.edit("agent-cluster-install.yaml", `{"fips": true}`, `{"fipsx": true}`)
	for range 2 { // the second finds the cluster there
		_, err := m.client().RegisterCluster(t.Context())
		if model.FaultOf(err).Code != model.CodeInput || !strings.HasPrefix(err.Error(), "read "+m.env.AgentClusterInstall+": the service refuses the annotation agent-install.openshift.io/install-config-overrides: ") ||
			!strings.Contains(err.Error(), "fipsx") || strings.Contains(model.FaultOf(err).Next.String(), "too old") {
			t.Errorf("code %d: %v\nNext: %s", model.FaultOf(err).Code, err, model.FaultOf(err).Next)
		}
	}
	m.edit("agent-cluster-install.yaml", `{"fipsx": true}`, `{"fips": true}`)
	m.must((*Client).RegisterCluster, "completed")
}

func TestManifestOfAnotherContent(t *testing.T) {
	m := newMedium(t, auth.None)
	m.put("extra/a.yaml", "a: 1\n")
	m.must((*Client).RegisterCluster, "registered")
	m.put("extra/a.yaml", "a: 2\n")
	m.put("extra/b.yaml", "b: 1\n")
	m.wire.made()
	_, err := m.client().RegisterCluster(t.Context())
	if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "openshift/a.yaml: the cluster has one with that name, but its content is different") {
		t.Error(err)
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("written in spite of that: %v", made)
	}
}

// TestRefusedTokens shows that a client that is not let in gets that error, and never the result of a search that finds
// nothing.
func TestRefusedTokens(t *testing.T) {
	m := newMedium(t, auth.AgentInstallerLocal)
	for name, step := range map[string]stepFunc{"cluster": (*Client).RegisterCluster, "infraenv": (*Client).RegisterInfraEnv, "start": (*Client).StartInstall} {
		for _, source := range []rest.TokenSource{nil, RawToken(spec.NewSecret("not.a.token"))} {
			m.auth = source
			_, err := step(m.client(), t.Context())
			if model.FaultOf(err).Code != model.CodeAuth {
				t.Errorf("%s: code %d, %v", name, model.FaultOf(err).Code, err)
			}
			if err != nil && strings.Contains(err.Error(), "not.a.token") {
				t.Errorf("the error holds the token: %v", err)
			}
		}
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("written in spite of that: %v", made)
	}
	token, err := m.users.Mint(auth.Grant{Scheme: auth.UserAuth})
	if err != nil {
		t.Fatal(err)
	}
	m.auth = RawToken(spec.NewSecret(token))
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
}

// patient is a clock that leaps over every wait.
type patient struct {
	at    time.Time
	slept []time.Duration
}

func (p *patient) Now() time.Time                     { return p.at }
func (p *patient) Wall(d time.Duration) time.Duration { return d }
func (p *patient) Sleep(ctx context.Context, d time.Duration) error {
	p.slept, p.at = append(p.slept, d), p.at.Add(d)
	return context.Cause(ctx)
}

type refusing struct{ asked int }

func (r *refusing) RoundTrip(*http.Request) (*http.Response, error) {
	r.asked++
	return nil, errors.New("dial tcp 127.0.0.1:8090: connect: connection refused")
}

// TestNobodyAnswers bounds how often, and for how long, each step tries.
func TestNobodyAnswers(t *testing.T) {
	m := newMedium(t, auth.None)
	m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
	m.macs = []string{"52:54:00:aa:00:01"}
	importable(m)
	m.put("clusterconfig/import-cluster-config.json", `{"networking":{}}`)
	m.env.InfraEnvID = "5f8a1b52-3c33-4c6e-9a2f-0d8c53a3e222"
	tests := map[string]struct {
		step stepFunc
		code model.Code
		most int
	}{
		"cluster":   {(*Client).RegisterCluster, model.CodeFailure, 4},
		"infraenv":  {(*Client).RegisterInfraEnv, model.CodeFailure, 4},
		"import":    {(*Client).ImportCluster, model.CodeFailure, 4},
		"start":     {(*Client).StartInstall, model.CodeTimeout, 800},
		"configure": {(*Client).Configure, model.CodeTimeout, 200},
		"add-node":  {(*Client).AddNode, model.CodeTimeout, 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			clock, wire := &patient{at: time.Unix(1e9, 0)}, &refusing{}
			plane, err := rest.New(rest.Config{URL: m.url, HTTPClient: &http.Client{Transport: wire}, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			client := m.client()
			client.Service, client.Clock, client.Timeout = plane, clock, 20*time.Minute
			_, err = tt.step(client, t.Context())
			if model.FaultOf(err).Code != tt.code || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
			}
			if waited := clock.at.Sub(time.Unix(1e9, 0)); wire.asked == 0 || wire.asked > tt.most || waited > 21*time.Minute {
				t.Errorf("asked %d times in %s", wire.asked, waited)
			}
		})
	}
}
