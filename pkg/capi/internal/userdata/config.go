// Package userdata makes the Ignition configs of a machine of Cluster API: what is added to
// the discovery Ignition of its user data, and the override of the installed system. It is
// pure: it gets values and returns bytes, and the same values give the same bytes.
//
// Texts of a config may refer to the metadata of the machine, as $METADATA_NAME or
// ${METADATA_NAME}. What the config drive of the machine says is known on the machine only.
// Without a config drive, or where it does not have the variable, the metadata of the
// machine's BareMetalHost or Agent is used.
package userdata

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/go-semver/semver"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// Paths that a config has where it says none.
const (
	DefaultSentinelDir = "/var/lib/capoa"
	DefaultKubeconfig  = "/var/lib/kubelet/kubeconfig"
)

// Config is what an OpenshiftAssistedConfig says that ends up in Ignition configs.
type Config struct {
	// Name is the hostname, a text with references. It is empty where the service alone decides, also because the
	// config has a hostname that is sent to the service.
	Name string
	// ProviderID of the node, a text with references. It may be empty.
	ProviderID string
	// Labels of the node that its kubelet would set, by key, as texts with references.
	Labels map[string]string
	// PreCommands and PostCommands are the lines of the scripts that run once, before the
	// kubelet starts for the first time and after the node is there.
	PreCommands, PostCommands []string
	// SentinelDir is where the files stand that keep the commands from running again.
	SentinelDir string
	// Kubeconfig is by what PostCommands wait for the node, and what they get as KUBECONFIG.
	Kubeconfig string
	// DiscoveryOverride and InstallOverride are Ignition configs of the user, nil for none.
	DiscoveryOverride, InstallOverride []byte
}

// OverrideAnnotations are the annotations of a config that hold Ignition configs of the user.
func OverrideAnnotations() []string {
	return []string{v1beta1.DiscoveryIgnitionOverrideAnnotation, v1beta1.IgnitionOverrideAnnotation}
}

// ConfigOf reads a config. The error names every field that cannot take effect.
func ConfigOf(config *v1beta1.OpenshiftAssistedConfig) (Config, error) {
	spec := &config.Spec
	c := Config{
		ProviderID:   unquoted(spec.NodeRegistration.ProviderID),
		PreCommands:  slices.Clone(spec.PreBootstrapCommands),
		PostCommands: slices.Clone(spec.PostBootstrapCommands),
	}
	var errs []error
	if spec.Hostname == "" {
		c.Name = hostname(unquoted(spec.NodeRegistration.Name), &errs)
	}
	c.Labels = labels(spec.NodeRegistration.KubeletExtraLabels, &errs)
	c.SentinelDir = place("spec.bootstrapCommandSentinelDir", spec.BootstrapCommandSentinelDir, DefaultSentinelDir, &errs)
	c.Kubeconfig = place("spec.postBootstrapKubeconfigPath", spec.PostBootstrapKubeconfigPath, DefaultKubeconfig, &errs)
	checkKernelArguments(spec.KernelArguments, &errs)
	annotated := func(key string) override {
		return override{"metadata.annotations[" + key + "]", config.Annotations[key]}
	}
	c.DiscoveryOverride = merged(&errs, ignition.Newest,
		annotated(v1beta1.DiscoveryIgnitionOverrideAnnotation),
		override{"spec.discoveryIgnitionOverride", spec.DiscoveryIgnitionOverride})
	c.InstallOverride = merged(&errs, newestTaken,
		annotated(v1beta1.IgnitionOverrideAnnotation),
		override{"spec.ignitionOverride", spec.IgnitionOverride})
	return c, errors.Join(errs...)
}

// unquoted is a text without the quotes that a shell would take off, as in metal3://"$METADATA_UUID": the controllers
// whose manifests are taken had one read it.
func unquoted(text string) string { return strings.ReplaceAll(text, `"`, "") }

// hostname checks the name of a node. A variable may stand there without its $.
func hostname(name string, errs *[]error) string {
	switch {
	case name == "":
	case bareVariable.MatchString(name):
		name = "$" + name
	case !refers(name):
		name = strings.ToLower(name)
		if !isHostname(name) {
			*errs = append(*errs, fmt.Errorf("spec.nodeRegistration.name: %q is no hostname of at most 63 characters", name))
		}
	}
	return name
}

var (
	bareVariable = regexp.MustCompile(`^METADATA_[A-Z0-9_]+$`)
	hostnames    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*$`)
	localhost    = regexp.MustCompile(`^localhost([.0-9]|$)`)
)

// isHostname reports whether the service takes a hostname.
func isHostname(name string) bool {
	return len(name) <= 63 && hostnames.MatchString(name) && !localhost.MatchString(name)
}

// labels reads key=value. Of two with the same key the later one wins.
func labels(list []string, errs *[]error) map[string]string {
	if len(list) == 0 {
		return nil
	}
	all := map[string]string{}
	for i, label := range list {
		key, value, _ := strings.Cut(strings.TrimSpace(unquoted(label)), "=")
		wrong := validation.IsQualifiedName(key)
		if !refers(value) {
			wrong = append(wrong, validation.IsValidLabelValue(value)...)
		}
		if len(wrong) > 0 {
			*errs = append(*errs, fmt.Errorf("spec.nodeRegistration.kubeletExtraLabels[%d]: %q is no label: %s", i, label, wrong[0]))
			continue
		}
		all[key] = value
	}
	return all
}

// places are the paths that units take as they are.
var places = regexp.MustCompile(`^/[a-zA-Z0-9_./-]+$`)

func place(field, value, otherwise string, errs *[]error) string {
	clean, err := cleanPlace(cmp.Or(value, otherwise))
	if err != nil {
		*errs = append(*errs, fmt.Errorf("%s: %w", field, err))
	}
	return clean
}

// cleanPlace is a path as units take it: systemd ignores those with .. in them.
func cleanPlace(value string) (string, error) {
	clean := path.Clean(value)
	if !places.MatchString(value) || clean == "/" {
		return "", fmt.Errorf("%q is no absolute path of letters, digits and ._-/", value)
	}
	return clean, nil
}

// newestTaken is the newest specification that the service takes in an override of an
// installed system.
const newestTaken = "3.2.0"

// override is an Ignition config of the user, and the field that it stands in.
type override struct{ field, text string }

// merged merges the overrides that there are; the later one wins.
func merged(errs *[]error, newest string, overrides ...override) []byte {
	var configs [][]byte
	for _, o := range overrides {
		if strings.TrimSpace(o.text) == "" {
			continue
		}
		config := []byte(o.text)
		if err := checkOverride(o.field, config, newest); err != nil {
			*errs = append(*errs, err)
			return nil
		}
		configs = append(configs, config)
	}
	if len(configs) == 0 {
		return nil
	}
	config, err := ignition.Merge(configs...)
	if err != nil {
		*errs = append(*errs, fmt.Errorf("%s and %s: %w", overrides[0].field, overrides[1].field, err))
	}
	return config
}

// checkOverride holds an override against the rules of Ignition and the specifications that
// are taken.
func checkOverride(field string, config []byte, newest string) error {
	report, err := ignition.Validate(field, config)
	if err != nil {
		return err
	}
	has, err := semver.NewVersion(report.Version)
	if err != nil {
		return fmt.Errorf("%s: ignition.version: %w", field, err)
	}
	if semver.New(newest).LessThan(*has) {
		return fmt.Errorf("%s: ignition.version: the service takes specifications up to %s, not %s", field, newest, report.Version)
	}
	return nil
}
