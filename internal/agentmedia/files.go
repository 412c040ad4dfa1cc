package agentmedia

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Files are where things lie on the medium, and where the steps leave what the
// next unit reads: in what a variable of the units says, or by default here.
type Files struct {
	ClusterDeployment   string `env:"CLUSTER_DEPLOYMENT_FILE" default:"/manifests/cluster-deployment.yaml" required:"true"`
	AgentClusterInstall string `env:"AGENT_CLUSTER_INSTALL_FILE" default:"/manifests/agent-cluster-install.yaml" required:"true"`
	InfraEnv            string `env:"INFRA_ENV_FILE" default:"/manifests/infraenv.yaml" required:"true"`
	PullSecret          string `env:"PULL_SECRET_FILE" default:"/manifests/pull-secret.yaml" required:"true"`
	ClusterImageSet     string `env:"CLUSTER_IMAGE_SET_FILE" default:"/manifests/cluster-image-set.yaml" required:"true"`
	NMStateConfig       string `env:"NMSTATE_CONFIG_FILE" default:"/manifests/nmstateconfig.yaml"`
	Operators           string `env:"OPERATOR_INSTALL_FILE" default:"/manifests/operators.yaml"`
	ExtraManifests      string `env:"EXTRA_MANIFESTS_PATH" default:"/extra-manifests"`    // folder
	HostConfig          string `env:"HOST_CONFIG_DIR" default:"/etc/assisted/hostconfig"` // folder
	ClusterConfig       string `env:"CLUSTER_CONFIG_DIR" default:"/clusterconfig"`        // folder with what is known of a cluster to import
	Registries          string `env:"CONTAINERS_REGISTRIES_CONF" default:"/etc/containers/registries.conf"`

	// ClientConfig is written: CLUSTER_ID=… or INFRA_ENV_ID=…, for the
	// EnvironmentFile= of units.
	ClientConfig string `default:"/etc/assisted/client_config"`
	// Failures is written while hosts cannot be configured, a line each, and
	// removed once all are.
	Failures string `default:"/var/run/agent-installer/host-config-failures"`
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
	ImageType     string   `env:"IMAGE_TYPE_ISO" default:"full-iso"`      // or minimal-iso
	ReleaseMirror string   `env:"OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR"` // a reference to try before that of the ClusterImageSet
	InfraEnvID    string   `env:"INFRA_ENV_ID"`
	Workflow      Workflow `env:"WORKFLOW_TYPE" default:"install"`
	// Of a cluster to import: what it calls itself, its name, and its API's.
	ClusterID   string `env:"CLUSTER_ID"`
	ClusterName string `env:"CLUSTER_NAME"`
	APIName     string `env:"CLUSTER_API_VIP_DNS_NAME"`
	// How many hosts an installation starts with. Negative: what the
	// AgentClusterInstall says.
	ControlPlane int `env:"REQUIRED_MASTER_NODES" default:"-1"`
	Arbiters     int `env:"REQUIRED_ARBITER_NODES" default:"-1"`
	Workers      int `env:"REQUIRED_WORKER_NODES" default:"-1"`
}

// elsewhere joins errors about files, and names the variables of those that are
// missing.
func (f *Files) elsewhere(errs ...error) error {
	all := errors.Join(errs...)
	if all == nil {
		return nil
	}
	var variables []string
	for _, err := range errs {
		fault, is := errors.AsType[*model.Fault](err)
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
	return &model.Fault{
		Code: model.FaultOf(all).Code, Permanent: true, Err: all,
		Next: model.Advice("if they are in another folder, set " + strings.Join(variables, ", ")),
	}
}

// variableOf is the variable of a file that has to be there, "" for none.
func (f *Files) variableOf(path string) string {
	for field, value := range reflect.ValueOf(f).Elem().Fields() {
		if field.Tag.Get("required") != "" && value.String() == path {
			return field.Tag.Get("env")
		}
	}
	return ""
}

// Lookup is the value of a variable, and whether it is set.
type Lookup func(name string) (string, bool)

// ReadEnvironment reads the units' variables; an empty one counts as not set.
func ReadEnvironment(lookup Lookup) (Environment, error) {
	var e Environment
	err := readVariables(lookup, reflect.ValueOf(&e).Elem())
	switch {
	case e.Workflow != Install && e.Workflow != AddNodes:
		return Environment{}, fmt.Errorf("WORKFLOW_TYPE is %q, but must be %s or %s", e.Workflow, Install, AddNodes)
	case e.ImageType != "full-iso" && e.ImageType != "minimal-iso":
		return Environment{}, fmt.Errorf("IMAGE_TYPE_ISO is %q, but must be full-iso or minimal-iso", e.ImageType)
	case err != nil:
		return Environment{}, err
	}
	return e, nil
}

// DefaultFiles are where things lie where no variable says otherwise.
func DefaultFiles() (f Files) {
	_ = readVariables(func(string) (string, bool) { return "", false }, reflect.ValueOf(&f).Elem()) // files are no numbers
	return f
}

func readVariables(lookup Lookup, into reflect.Value) (err error) {
	for field, value := range into.Fields() {
		name := field.Tag.Get("env")
		text := field.Tag.Get("default")
		if said, set := lookup(name); set && strings.TrimSpace(said) != "" {
			text = strings.TrimSpace(said)
		}
		switch value.Kind() {
		case reflect.Struct:
			err = cmp.Or(err, readVariables(lookup, value))
		case reflect.Int:
			n, wrong := strconv.Atoi(text)
			if (wrong != nil || n < -1) && err == nil {
				err = fmt.Errorf("%s is %q, which is not a number of hosts", name, text)
			}
			value.SetInt(int64(n))
		default:
			value.SetString(text)
		}
	}
	return err
}

// readRecord reads the variables of an EnvironmentFile, which may be missing.
func readRecord(path string) (map[string]string, error) {
	data, err := readOptional(path)
	if err != nil {
		return nil, err
	}
	variables := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			variables[name] = strings.Trim(value, `"'`)
		}
	}
	return variables, nil
}

// writeWhole writes a file whole or not at all, and not if its content is the same.
func writeWhole(path string, content []byte) error {
	if data, err := os.ReadFile(path); err == nil && bytes.Equal(data, content) {
		return nil
	}
	fail := func(err error) error {
		return &model.Fault{Code: model.CodeFailure, Op: "write", On: path, Err: withoutPath(err)}
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail(err)
	}
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-")
	if err != nil {
		return fail(err)
	}
	_, err = file.Write(content)
	// The units that read it may run as other users; it holds no secret.
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !missing(err) {
		return &model.Fault{Code: model.CodeFailure, Op: "remove", On: path, Err: err}
	}
	return nil
}
