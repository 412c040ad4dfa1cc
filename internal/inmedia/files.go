package inmedia

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
)

// Files are where things lie on the medium, and where the steps leave what the
// next unit reads.
type Files struct {
	ClusterDeployment   string
	AgentClusterInstall string
	InfraEnv            string
	PullSecret          string
	ClusterImageSet     string
	NMStateConfig       string // may be missing
	Operators           string // may be missing
	ExtraManifests      string // folder, may be missing
	HostConfig          string // folder, may be missing
	ClusterConfig       string // folder with what is known of a cluster to import
	Registries          string // registries.conf, may be missing

	// ClientConfig is written: CLUSTER_ID=… or INFRA_ENV_ID=…, for the
	// EnvironmentFile= of units.
	ClientConfig string
	// Failures is written while hosts cannot be configured, a line each, and
	// removed once all are.
	Failures string
}

// Workflow is what the medium is for.
type Workflow string

// The workflows of agent-based media.
const (
	Install  Workflow = "install"
	AddNodes Workflow = "addnodes"
)

// Environment is what the units say in variables.
type Environment struct {
	Files
	ImageType     string // full-iso or minimal-iso
	ReleaseMirror string // a reference to try before that of the ClusterImageSet
	InfraEnvID    string
	Workflow      Workflow
	// Of a cluster to import: what it calls itself, its name, and its API's.
	ClusterID, ClusterName, APIName string
	// How many hosts an installation starts with. Negative: what the
	// AgentClusterInstall says.
	ControlPlane, Arbiters, Workers int
}

// elsewhere joins errors about files. Where some are not there, it names the variables
// that say where else they are.
func (f *Files) elsewhere(errs ...error) error {
	all := errors.Join(errs...)
	if all == nil {
		return nil
	}
	var variables []string
	for _, err := range errs {
		fault, is := errors.AsType[*install.Fault](err)
		if !is || !missing(err) {
			continue
		}
		if name := f.variableOf(fault.On); name != "" {
			variables = append(variables, name)
		}
	}
	if len(variables) == 0 {
		return all
	}
	return &install.Fault{
		Code: install.CodeOf(all), Permanent: true, Err: all,
		Next: install.Advice("if they are elsewhere, say where in " + strings.Join(variables, ", ")),
	}
}

// variableOf is the variable that says where a file that has to be there is, "" for
// none.
func (f *Files) variableOf(path string) string {
	return map[string]string{
		f.ClusterDeployment: variableDeployment, f.AgentClusterInstall: variableInstall, f.InfraEnv: variableInfraEnv,
		f.PullSecret: variablePullSecret, f.ClusterImageSet: variableImageSet,
	}[path]
}

// The variables of the files that have to be there.
const (
	variableDeployment = "CLUSTER_DEPLOYMENT_FILE"
	variableInstall    = "AGENT_CLUSTER_INSTALL_FILE"
	variableInfraEnv   = "INFRA_ENV_FILE"
	variablePullSecret = "PULL_SECRET_FILE"
	variableImageSet   = "CLUSTER_IMAGE_SET_FILE"
	variableMirror     = "OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR"
	variableRegistries = "CONTAINERS_REGISTRIES_CONF"
)

// Lookup is the value of a variable, and whether it is set.
type Lookup func(name string) (string, bool)

// ReadEnvironment reads the variables that the units set; a variable that is
// empty counts as one that is not set. An error names the variable.
func ReadEnvironment(lookup Lookup) (Environment, error) {
	get := func(name, otherwise string) string {
		if value, set := lookup(name); set && strings.TrimSpace(value) != "" {
			return strings.TrimSpace(value)
		}
		return otherwise
	}
	e := Environment{
		Files:         readFiles(get),
		ImageType:     get("IMAGE_TYPE_ISO", "full-iso"),
		ReleaseMirror: get(variableMirror, ""),
		InfraEnvID:    get("INFRA_ENV_ID", ""),
		Workflow:      Workflow(get("WORKFLOW_TYPE", string(Install))),
		ClusterID:     get("CLUSTER_ID", ""), ClusterName: get("CLUSTER_NAME", ""), APIName: get("CLUSTER_API_VIP_DNS_NAME", ""),
	}
	if e.Workflow != Install && e.Workflow != AddNodes {
		return Environment{}, fmt.Errorf("WORKFLOW_TYPE is %q, and not %s or %s", e.Workflow, Install, AddNodes)
	}
	if e.ImageType != "full-iso" && e.ImageType != "minimal-iso" {
		return Environment{}, fmt.Errorf("IMAGE_TYPE_ISO is %q, and not full-iso or minimal-iso", e.ImageType)
	}
	for _, count := range []struct {
		name string
		to   *int
	}{{"REQUIRED_MASTER_NODES", &e.ControlPlane}, {"REQUIRED_ARBITER_NODES", &e.Arbiters}, {"REQUIRED_WORKER_NODES", &e.Workers}} {
		n, err := strconv.Atoi(get(count.name, "-1"))
		if err != nil || n < -1 {
			return Environment{}, fmt.Errorf("%s is %q, and no number of hosts", count.name, get(count.name, ""))
		}
		*count.to = n
	}
	return e, nil
}

// DefaultFiles are where things lie where no variable says otherwise.
func DefaultFiles() Files { return readFiles(func(_, otherwise string) string { return otherwise }) }

func readFiles(get func(name, otherwise string) string) Files {
	manifest := func(variable, name string) string { return get(variable, filepath.Join("/manifests", name)) }
	return Files{
		ClusterDeployment:   manifest(variableDeployment, "cluster-deployment.yaml"),
		AgentClusterInstall: manifest(variableInstall, "agent-cluster-install.yaml"),
		InfraEnv:            manifest(variableInfraEnv, "infraenv.yaml"),
		PullSecret:          manifest(variablePullSecret, "pull-secret.yaml"),
		ClusterImageSet:     manifest(variableImageSet, "cluster-image-set.yaml"),
		NMStateConfig:       manifest("NMSTATE_CONFIG_FILE", "nmstateconfig.yaml"),
		Operators:           manifest("OPERATOR_INSTALL_FILE", "operators.yaml"),
		ExtraManifests:      get("EXTRA_MANIFESTS_PATH", "/extra-manifests"),
		HostConfig:          get("HOST_CONFIG_DIR", "/etc/assisted/hostconfig"),
		ClusterConfig:       get("CLUSTER_CONFIG_DIR", "/clusterconfig"),
		Registries:          get(variableRegistries, "/etc/containers/registries.conf"),
		ClientConfig:        "/etc/assisted/client_config",
		Failures:            "/var/run/agent-installer/host-config-failures",
	}
}
