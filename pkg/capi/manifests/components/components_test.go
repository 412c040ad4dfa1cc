package components_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

func filesOf(t *testing.T, o components.Options) map[string][]byte {
	t.Helper()
	list, err := components.Files(o)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range list {
		files[f.Name] = f.Content
	}
	return files
}

// objectsOf reads YAML whose variables have their defaults.
func objectsOf(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for _, document := range strings.Split(string(components.Expand(text, func(string) (string, bool) { return "", false })), "\n---\n") {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if len(o) > 0 {
			objects = append(objects, o)
		}
	}
	return objects
}

func at(o any, path ...any) any {
	for _, step := range path {
		switch name := step.(type) {
		case string:
			fields, _ := o.(map[string]any)
			o = fields[name]
		case int:
			list, _ := o.([]any)
			if name >= len(list) {
				return nil
			}
			o = list[name]
		}
	}
	return o
}

func TestFilesOfARelease(t *testing.T) {
	files := filesOf(t, components.Options{})
	for _, name := range []string{
		"bootstrap-components.yaml", "control-plane-components.yaml", "infrastructure-components.yaml", "metadata.yaml", "clusterctl.yaml", "extension-config.yaml",
		"cluster-template.yaml", "cluster-template-sno.yaml", "cluster-template-compact.yaml", "cluster-template-ha.yaml", "cluster-template-metal3.yaml",
		"cluster-template-agents.yaml", "cluster-template-topology.yaml", "clusterclass-openshift-assisted.yaml",
	} {
		if len(files[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
		delete(files, name)
	}
	for name := range files {
		t.Errorf("%s is not expected", name)
	}
	again := filesOf(t, components.Options{})
	for name, content := range filesOf(t, components.Options{}) {
		if !bytes.Equal(content, again[name]) {
			t.Errorf("%s is another one each time", name)
		}
	}
	if got := filesOf(t, components.Options{Providers: []string{"bootstrap"}}); len(got) != 3 {
		t.Errorf("the bootstrap provider alone has %d files", len(got))
	}
	if _, err := components.Files(components.Options{Providers: []string{"network"}}); err == nil || !strings.Contains(err.Error(), "there are bootstrap, control-plane, infrastructure") {
		t.Errorf("a provider that is not there: %v", err)
	}
}

// TestComponents holds the component files to what clusterctl asks of them: one Namespace, everything
// else that is namespaced in it, the provider's label on every object, a container named manager.
func TestComponents(t *testing.T) {
	for _, options := range []components.Options{{}, {SelfManaged: true}, {Namespaced: true}} {
		files := filesOf(t, options)
		for _, name := range components.Names() {
			t.Run(fmt.Sprintf("%s/self-managed=%t/namespaced=%t", name, options.SelfManaged, options.Namespaced), func(t *testing.T) {
				p, err := components.Of(name)
				if err != nil {
					t.Fatal(err)
				}
				counts := map[string]int{}
				for _, o := range objectsOf(t, files[p.ComponentsFile()]) {
					kind, _ := o["kind"].(string)
					counts[kind]++
					called := fmt.Sprintf("%s %v", kind, at(o, "metadata", "name"))
					if got := at(o, "metadata", "labels", components.LabelKey); got != p.Label() {
						t.Errorf("%s has the provider %v", called, got)
					}
					if namespace := at(o, "metadata", "namespace"); namespace != nil && namespace != p.Namespace() {
						t.Errorf("%s is in %v", called, namespace)
					}
					if kind == "Namespace" && at(o, "metadata", "name") != p.Namespace() {
						t.Errorf("the %s", called)
					}
					if kind == "Deployment" {
						checkDeployment(t, o, p, options)
					}
					if injected := at(o, "metadata", "annotations", "cert-manager.io/inject-ca-from"); options.SelfManaged && injected != nil {
						t.Errorf("%s waits for cert-manager", called)
					}
					if kind == "CustomResourceDefinition" && at(o, "spec", "conversion", "webhook", "clientConfig", "service") != nil {
						checkCalled(t, called, at(o, "spec", "conversion", "webhook", "clientConfig", "service"), p)
					}
					if strings.HasSuffix(kind, "WebhookConfiguration") {
						hooks, _ := o["webhooks"].([]any)
						for _, hook := range hooks {
							checkCalled(t, called, at(hook, "clientConfig", "service"), p)
						}
					}
				}
				want := map[string]int{"Namespace": 1, "ServiceAccount": 1, "Role": 1, "RoleBinding": 1, "Service": 1, "Deployment": 1, "Issuer": 1, "Certificate": 1, "ValidatingWebhookConfiguration": 1}
				if name == "bootstrap" {
					want["Service"] = 2 // of the webhooks, and of media
				}
				if options.SelfManaged {
					want["Issuer"], want["Certificate"] = 0, 0
				}
				for kind, n := range want {
					if counts[kind] != n {
						t.Errorf("there are %d of kind %s, not %d", counts[kind], kind, n)
					}
				}
			})
		}
	}
}

// TestForeignKindsAreTheManagersOfOthers: the API group of the infrastructure is no group of Cluster API's. Its own
// managers are given all that they do with the kinds by a role that is added to theirs, subresources and so finalizers
// included. It is added to no other role: the other providers have the roles that are generated from their markers.
func TestForeignKindsAreTheManagersOfOthers(t *testing.T) {
	for _, options := range []components.Options{{}, {SelfManaged: true}, {Namespaced: true}} {
		for _, name := range components.Names() {
			p, err := components.Of(name)
			if err != nil {
				t.Fatal(err)
			}
			var added []map[string]any
			for _, o := range objectsOf(t, filesOf(t, options)[p.ComponentsFile()]) {
				if at(o, "kind") == "ClusterRole" && at(o, "metadata", "labels", "cluster.x-k8s.io/aggregate-to-manager") == "true" {
					added = append(added, o)
				}
			}
			foreign := !strings.HasSuffix(p.Group, ".cluster.x-k8s.io")
			if foreign != (len(added) == 1) || foreign != (name == "infrastructure") {
				t.Fatalf("%+v: %s has the group %s, and %d roles for others", options, name, p.Group, len(added))
			}
			if !foreign {
				continue
			}
			labels, _ := at(added[0], "metadata", "labels").(map[string]any)
			for label := range labels {
				if strings.HasPrefix(label, "oaictl.io/aggregate-to-") {
					t.Errorf("%+v: the role is added to more than Cluster API's, by %s", options, label)
				}
			}
			rule := at(added[0], "rules", 0)
			if at(rule, "apiGroups", 0) != p.Group || at(rule, "resources", 0) != "*" {
				t.Errorf("the role is for %v", rule)
			}
			verbs, _ := at(rule, "verbs").([]any)
			for _, verb := range []any{"create", "delete", "get", "list", "patch", "update", "watch"} {
				if !slices.Contains(verbs, verb) {
					t.Errorf("nobody may %s", verb)
				}
			}
		}
	}
}

// TestRightsOnKindsOfThePool: the other providers have rights of their own on kinds of the infrastructure provider, by
// their names. Both read them. The control plane's makes machines of a template, and writes labels and owners.
func TestRightsOnKindsOfThePool(t *testing.T) {
	const group = "capi-provider.agent-install.openshift.io"
	reads := []string{"get", "list", "watch"}
	for name, want := range map[string]map[string][]string{
		"bootstrap": {"agentclusters": reads, "agentmachines": reads},
		"control-plane": {
			"agentclusters": reads, "agentmachines": {"create", "get", "list", "patch", "watch"}, "agentmachinetemplates": {"get", "list", "patch", "watch"},
		},
	} {
		p, err := components.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		given := rightsOf(t, p)
		for resource, verbs := range want {
			for _, verb := range verbs {
				if !slices.Contains(given[group+"/"+resource], verb) {
					t.Errorf("%s may not %s %s", name, verb, resource)
				}
			}
		}
		if verbs, all := given[group+"/*"]; all {
			t.Errorf("%s may %v all kinds", name, verbs)
		}
	}
}

// rightsOf are the verbs that the ClusterRoles of a provider give it, by group and resource.
func rightsOf(t *testing.T, p components.Provider) map[string][]string {
	t.Helper()
	given := map[string][]string{}
	for _, o := range objectsOf(t, filesOf(t, components.Options{})[p.ComponentsFile()]) {
		if at(o, "kind") != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					given[group+"/"+resource] = append(given[group+"/"+resource], rule.Verbs...)
				}
			}
		}
	}
	return given
}

// TestRightsToWatchAHub: the cache of each manager holds the objects of a hub that planes read, in all namespaces.
func TestRightsToWatchAHub(t *testing.T) {
	for _, name := range components.Names() {
		p, err := components.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		given := rightsOf(t, p)
		for _, kind := range []string{
			hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall, hubapi.KindInfraEnv, hubapi.KindNMStateConfig, hubapi.KindAgent,
			hubapi.KindAgentClassification, hubapi.KindBareMetalHost, hubapi.KindConfigMap,
		} {
			resource := hubapi.Resource(kind)
			for _, verb := range []string{"list", "watch"} {
				if !slices.Contains(given[resource.Group+"/"+resource.Resource], verb) {
					t.Errorf("%s may not %s %s", name, verb, resource.Resource)
				}
			}
		}
	}
}

func checkCalled(t *testing.T, what string, service any, p components.Provider) {
	t.Helper()
	if at(service, "name") != p.Service() || at(service, "namespace") != p.Namespace() {
		t.Errorf("%s calls %v", what, service)
	}
}

// checkDeployment holds a manager to the Pod Security Standard restricted, and to what clusterctl
// looks for.
func checkDeployment(t *testing.T, o map[string]any, p components.Provider, options components.Options) {
	t.Helper()
	container := at(o, "spec", "template", "spec", "containers", 0)
	if at(container, "name") != "manager" || at(container, "image") != "ghcr.io/oaictl/oaictl:v0.1.0" {
		t.Errorf("the container is %v of %v", at(container, "name"), at(container, "image"))
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe"} {
		if at(container, probe, "httpGet", "port") != "healthz" {
			t.Errorf("there is no %s", probe)
		}
	}
	if at(container, "resources", "requests", "memory") == nil || at(container, "resources", "limits", "memory") == nil {
		t.Error("resources are not bounded")
	}
	security := at(container, "securityContext")
	if at(security, "allowPrivilegeEscalation") != false || at(security, "readOnlyRootFilesystem") != true || at(security, "capabilities", "drop", 0) != "ALL" ||
		at(o, "spec", "template", "spec", "securityContext", "runAsNonRoot") != true || at(o, "spec", "template", "spec", "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
		t.Errorf("the container is not restricted: %v", security)
	}
	args := fmt.Sprint(at(container, "args"))
	for _, arg := range []string{"[controller --providers=" + p.Name + " ", " --leader-elect "} {
		if !strings.Contains(args, arg) {
			t.Errorf("%q is not in %s", arg, args)
		}
	}
	if got := strings.Contains(args, " --webhook-self-managed "); got != options.SelfManaged {
		t.Errorf("self-managed: %t", got)
	}
}

// TestVariables holds the component files to variables that have defaults, so that clusterctl init asks
// for none, and templates to those that they say they need.
func TestVariables(t *testing.T) {
	variable := regexp.MustCompile(`\$\{([A-Z_]+)(:=[^}]*)?\}`)
	known := []string{"CLUSTER_NAME", "NAMESPACE", "KUBERNETES_VERSION", "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT"}
	for name, content := range filesOf(t, components.Options{}) {
		for _, found := range variable.FindAllStringSubmatch(string(content), -1) {
			_, about, _ := strings.Cut(string(content), "# Needed: ")
			about, _, _ = strings.Cut(about, "apiVersion:")
			switch prefixed := regexp.MustCompile(`^(OAICTL|OPENSHIFT)_|^(WATCH|AGENTS)_NAMESPACE$`).MatchString(found[1]); {
			case !prefixed && !slices.Contains(known, found[1]):
				t.Errorf("%s has the variable %s, which is nobody's", name, found[1])
			case strings.HasSuffix(name, "-components.yaml") && found[2] == "":
				t.Errorf("%s has the variable %s without a default", name, found[1])
			case found[2] == ":=":
				t.Errorf("%s has the variable %s with an empty default, which clusterctl takes for none", name, found[1])
			case found[2] == "" && !slices.Contains(known, found[1]) && !strings.Contains(about, found[1]):
				t.Errorf("%s needs %s, and does not say so", name, found[1])
			}
		}
		if left := regexp.MustCompile(`\$\{`).FindAll(content, -1); len(left) != len(variable.FindAll(content, -1)) {
			t.Errorf("%s has variables of another form", name)
		}
	}
}

// TestTemplatesOfMachines holds every template to what keeps an install on bare metal alive.
func TestTemplatesOfMachines(t *testing.T) {
	for name, content := range filesOf(t, components.Options{}) {
		if !strings.HasPrefix(name, "cluster-template") && !strings.HasPrefix(name, "clusterclass-") {
			continue
		}
		checks, text := 0, string(content)
		for line := range strings.Lines(text) {
			if seconds, is := strings.CutPrefix(strings.TrimSpace(line), "nodeStartupTimeoutSeconds: "); is {
				checks++
				if seconds != "7200" {
					t.Errorf("%s gives up on a node after %s s", name, seconds)
				}
			}
		}
		if topology := name == "cluster-template-topology.yaml"; !topology && checks == 0 {
			t.Errorf("%s has no MachineHealthCheck", name)
		} else if !topology && !strings.Contains(text, "type: OnDelete") {
			t.Errorf("%s replaces workers that are upgraded", name)
		}
		if strings.HasPrefix(name, "cluster-template") && !strings.Contains(text, "cluster-api-autoscaler-node-group-max-size") {
			t.Errorf("%s says nothing to the autoscaler", name)
		}
		if class := strings.HasPrefix(name, "clusterclass-"); class && (strings.Contains(text, "${") || strings.Contains(text, "namespace:")) {
			t.Errorf("%s has variables of clusterctl, or namespaces", name)
		}
	}
}

// TestImagesOfMetal3 holds templates of Metal3's machines to what its kinds ask of an image: before v1.14, a checksum
// that may be empty for a live ISO.
func TestImagesOfMetal3(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "test", "crds", "metal3", "metal3machinetemplates.infrastructure.cluster.x-k8s.io.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	required := map[any][]any{}
	versions, _ := at(objectsOf(t, text)[0], "spec", "versions").([]any)
	for _, version := range versions {
		image := []any{"schema", "openAPIV3Schema", "properties", "spec", "properties", "template", "properties", "spec", "properties", "image", "required"}
		required[at(version, "name")], _ = at(version, image...).([]any)
	}
	seen := 0
	for name, content := range filesOf(t, components.Options{}) {
		if !strings.HasPrefix(name, "cluster-template") && !strings.HasPrefix(name, "clusterclass-") {
			continue
		}
		for _, o := range objectsOf(t, content) {
			if at(o, "kind") != "Metal3MachineTemplate" {
				continue
			}
			seen++
			_, version, _ := strings.Cut(fmt.Sprint(o["apiVersion"]), "/")
			fields := required[version]
			if len(fields) == 0 {
				t.Fatalf("%s: version %s of Metal3's kinds asks for nothing", name, version)
			}
			image, _ := at(o, "spec", "template", "spec", "image").(map[string]any)
			for _, field := range fields {
				if _, is := image[fmt.Sprint(field)].(string); !is {
					t.Errorf("%s: the image of %v has no %v", name, at(o, "metadata", "name"), field)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no template has Metal3's machines")
	}
}

// TestHealthChecksReplaceOne computes as Cluster API does up to how many unhealthy Machines of so many are replaced: one
// of however many, and never more at once. A percentage is rounded down there, for few Machines to none.
func TestHealthChecksReplaceOne(t *testing.T) {
	var checks int
	hold := func(what string, trigger any, counts ...int) {
		t.Helper()
		checks++
		if at(trigger, "unhealthyInRange") != nil {
			t.Fatalf("%s: a range comes before the limit", what)
		}
		text, err := yaml.Marshal(at(trigger, "unhealthyLessThanOrEqualTo"))
		if err != nil {
			t.Fatal(err)
		}
		var limit intstr.IntOrString
		if err := yaml.Unmarshal(text, &limit); err != nil {
			t.Fatal(err)
		}
		for _, machines := range counts {
			if most, err := intstr.GetScaledValueFromIntOrPercent(&limit, machines, false); err != nil || most != 1 {
				t.Errorf("%s: up to %d unhealthy Machines of %d are replaced by %s, %v", what, most, machines, limit.String(), err)
			}
		}
	}
	workers, controlPlane := []int{1, 2, 3, 5, 10}, []int{2, 3, 4, 5}
	for name, content := range filesOf(t, components.Options{}) {
		if !strings.HasPrefix(name, "cluster-template") && !strings.HasPrefix(name, "clusterclass-") {
			continue
		}
		for _, o := range objectsOf(t, content) {
			trigger := []any{"remediation", "triggerIf"}
			switch called := fmt.Sprintf("%s, %v", name, at(o, "metadata", "name")); o["kind"] {
			case "MachineHealthCheck":
				counts := workers
				if strings.HasSuffix(called, "-control-plane") {
					counts = controlPlane
				}
				hold(called, at(at(o, "spec"), trigger...), counts...)
			case "ClusterClass":
				hold(called+" of workers", at(at(o, "spec", "workers", "machineDeployments", 0, "healthCheck"), trigger...), workers...)
				hold(called+" of the control plane", at(at(o, "spec", "controlPlane", "healthCheck"), trigger...), controlPlane...)
			}
		}
	}
	if checks < 13 {
		t.Errorf("there are %d health checks", checks)
	}
}

func TestRepository(t *testing.T) {
	files, err := components.Repository("/work/repository", components.Options{Version: "v0.1.2"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		if f.Name == components.ClusterctlFile && !strings.Contains(string(f.Content), `url: "/work/repository/infrastructure-agent/v0.1.2/infrastructure-components.yaml"`) {
			t.Errorf("clusterctl finds providers by\n%s", f.Content)
		}
	}
	for _, name := range []string{
		"bootstrap-openshift-assisted/v0.1.2/bootstrap-components.yaml", "control-plane-openshift-assisted/v0.1.2/metadata.yaml", "infrastructure-agent/v0.1.2/cluster-template-ha.yaml",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s among %q", name, names)
		}
	}
}

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) { return "given", name == "A" }
	for text, want := range map[string]string{
		"${A:=1} ${B:=1} ${A} ${C}":   "given 1 given ${C}",
		`x: "${B:=}" $A $$ ${B:=a/b}`: `x: "" $A $$ a/b`,
	} {
		if got := string(components.Expand([]byte(text), lookup)); got != want {
			t.Errorf("%s becomes %s, not %s", text, got, want)
		}
	}
}

// TestRightsWhereThePoolIs: in the namespace of a pool a provider looks at hosts, and at what they have booted. Only
// the provider that takes hosts may change them, and no provider may list the Secrets there.
func TestRightsWhereThePoolIs(t *testing.T) {
	looked := map[string]string{
		"agent-install.openshift.io/agents": "list watch", "agent-install.openshift.io/infraenvs": "list watch", "agent-install.openshift.io/nmstateconfigs": "list watch",
		"metal3.io/baremetalhosts": "get list watch",
	}
	taken := maps.Clone(looked)
	taken["agent-install.openshift.io/agents"], taken["metal3.io/baremetalhosts"], taken["/secrets"] = "get list patch watch", "get list patch watch", "create get patch"
	files := filesOf(t, components.Options{Namespaced: true})
	for name, want := range map[string]map[string]string{"bootstrap": looked, "control-plane": looked, "infrastructure": taken} {
		p, err := components.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, o := range objectsOf(t, files[p.ComponentsFile()]) {
			if at(o, "kind") != "ClusterRole" || at(o, "metadata", "name") != "oaictl-"+name+"-agents" {
				continue
			}
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						got[group+"/"+resource] += strings.Join(rule.Verbs, " ")
					}
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s may %v, and should %v", name, got, want)
		}
	}
}
