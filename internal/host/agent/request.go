//go:build linux

package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// longestArgument bounds an argument of a step that is JSON.
const longestArgument = 1 << 20

// decode reads the one argument of a step. Fields that are not known are ignored, as in the original, and logged.
func decode[T any, P interface {
	*T
	Validate(formats strfmt.Registry) error
}](step string, args []string, log *slog.Logger) (P, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("the step %s takes one argument, and has %d", step, len(args))
	}
	if len(args[0]) > longestArgument {
		return nil, fmt.Errorf("the argument of the step %s has %d bytes, and %d are the most", step, len(args[0]), longestArgument)
	}
	content := []byte(args[0])
	if !bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		return nil, fmt.Errorf("the argument of the step %s is no JSON object", step)
	}
	request := P(new(T))
	if err := json.Unmarshal(content, request); err != nil {
		return nil, fmt.Errorf("the argument of the step %s is not what it must be: %s", step, escape.Word(beginning(err.Error())))
	}
	if err := request.Validate(strfmt.Default); err != nil {
		return nil, fmt.Errorf("the argument of the step %s is not what it must be: %s", step, escape.Word(beginning(err.Error())))
	}
	if unknown := unknownFields(content, reflect.TypeFor[T]()); len(unknown) > 0 {
		const enough = 20
		log.Warn("fields of a step are not known, and are ignored", "step", step, "fields", unknown[:min(len(unknown), enough)],
			"count", len(unknown))
	}
	return request, nil
}

// unknownFields are the keys of a JSON object that a struct has no field for, fit for a log.
func unknownFields(content []byte, of reflect.Type) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(content, &object) != nil {
		return nil
	}
	var unknown []string
	for key := range object {
		known := slices.ContainsFunc(reflect.VisibleFields(of), func(field reflect.StructField) bool {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			return strings.EqualFold(name, key)
		})
		if !known {
			unknown = append(unknown, escape.Word(beginning(key)))
		}
	}
	slices.Sort(unknown)
	return unknown
}

var (
	// imageName is the reference of a container image. It is an argument of podman, where a name with a dash at its start
	// would be a flag.
	imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._\-/:@\[\]]*$`)
	// devicePath has the characters of names that udev makes.
	devicePath = regexp.MustCompile(`^/dev/[A-Za-z0-9._:+@=,#%~\\/-]+$`)
	// version is that of OpenShift, such as 4.22.9 or 4.22.0-0.nightly-2026-11-28-010203.
	versionName = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.+~_-]*$`)
	// operatorName names an operator with an image for must-gather of its own.
	operatorName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	// proxyExcept is a host, a domain, an address or a network.
	proxyExcept = regexp.MustCompile(`^[A-Za-z0-9.:_/*\[\]-]+$`)
	// installerValue has the characters that the service allows in arguments of coreos-installer.
	installerValue = regexp.MustCompile(`^[A-Za-z0-9@!#$%*()_+,\-./:;<="'{}\[\]]+$`)
	// plainPath is an absolute path without surprises.
	plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/-]*$`)
)

const longestName = 1024

// image returns an error for what cannot be the reference of a container image.
func image(what, name string) error {
	if len(name) > longestName || !imageName.MatchString(name) {
		return fmt.Errorf("%s is %q, which is no name of a container image", what, beginning(name))
	}
	return nil
}

// device returns an error for what cannot be the path of a disk.
func device(name string) error {
	if len(name) > longestName || !devicePath.MatchString(name) || path.Clean(name) != name {
		return fmt.Errorf("the disk %q is no path below /dev", beginning(name))
	}
	return nil
}

// webAddress returns an error for what is no http or https URL. The URL may be secret, so the error does not repeat it.
func webAddress(what, text string) error {
	parsed, err := url.Parse(text)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Hostname() == "" {
		return fmt.Errorf("%s is no http or https URL", what)
	}
	if escape.Needed(text) || strings.ContainsAny(text, " '\"\\$`<>") {
		return fmt.Errorf("%s has characters that no URL has", what)
	}
	return nil
}

func checkProxy(proxy *models.Proxy) error {
	if proxy == nil {
		return nil
	}
	for what, text := range map[string]*string{"the HTTP proxy": proxy.HTTPProxy, "the HTTPS proxy": proxy.HTTPSProxy} {
		if text != nil && *text != "" {
			if err := webAddress(what, *text); err != nil {
				return err
			}
		}
	}
	if proxy.NoProxy == nil || strings.TrimSpace(*proxy.NoProxy) == "" {
		return nil
	}
	for entry := range strings.SplitSeq(*proxy.NoProxy, ",") {
		if !proxyExcept.MatchString(strings.TrimSpace(entry)) {
			return fmt.Errorf("the list of what needs no proxy has %q, which is no host, domain, address or network", beginning(entry))
		}
	}
	return nil
}

// checkMustGather reads the images of must-gather: one, or a JSON object from operators to images.
func checkMustGather(text string) error {
	if text == "" {
		return nil
	}
	images := map[string]string{}
	if err := json.Unmarshal([]byte(text), &images); err != nil {
		images = map[string]string{"ocp": text}
	}
	for operator, name := range images {
		if !operatorName.MatchString(operator) {
			return fmt.Errorf("the images of must-gather have %q, which is no operator", beginning(operator))
		}
		if err := image("the image of must-gather for "+operator, name); err != nil {
			return err
		}
	}
	return nil
}

// installerFlags are those of coreos-installer that the service may give.
var installerFlags = []string{
	"--append-karg", "--delete-karg", "-n", "--copy-network", "--network-dir", "--save-partlabel", "--save-partindex",
	"--image-url", "--image-file",
}

// readInstallerArgs reads the arguments of coreos-installer, a JSON array.
func readInstallerArgs(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return nil, errors.New("the arguments of coreos-installer are no JSON array of texts")
	}
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "-"):
			if !slices.Contains(installerFlags, arg) {
				return nil, fmt.Errorf("the flag %q of coreos-installer is not one of %s", beginning(arg), strings.Join(installerFlags, ", "))
			}
		case !installerValue.MatchString(arg):
			return nil, fmt.Errorf("the argument %q of coreos-installer has characters that are not allowed", beginning(arg))
		}
	}
	return args, nil
}

func checkAddresses(addresses []string) error {
	for _, text := range addresses {
		if ip, err := netip.ParseAddr(text); err != nil || ip.Zone() != "" {
			return fmt.Errorf("%q is no IP address", beginning(text))
		}
	}
	return nil
}

// parseRunner reads which agent the service wants to run.
func parseRunner(args []string, log *slog.Logger) (*models.NextStepCmdRequest, error) {
	request, err := decode[models.NextStepCmdRequest]("next-step-runner", args, log)
	if err != nil {
		return nil, err
	}
	return request, image("the agent", *request.AgentVersion)
}

// parseUpgrade reads which agent the service wants to be there.
func parseUpgrade(args []string, log *slog.Logger) (*models.UpgradeAgentRequest, error) {
	request, err := decode[models.UpgradeAgentRequest](string(models.StepTypeUpgradeAgent), args, log)
	if err != nil {
		return nil, err
	}
	return request, image("the agent", request.AgentImage)
}

// parseArtifacts reads what to download to boot the discovery image from the disk.
func parseArtifacts(args []string, log *slog.Logger) (*models.DownloadBootArtifactsRequest, error) {
	request, err := decode[models.DownloadBootArtifactsRequest](string(models.StepTypeDownloadBootArtifacts), args, log)
	if err != nil {
		return nil, err
	}
	for what, text := range map[string]string{
		"the URL of the kernel": *request.KernelURL, "the URL of the initrd": *request.InitrdURL,
		"the URL of the root file system": *request.RootfsURL,
	} {
		if err := webAddress(what, text); err != nil {
			return nil, err
		}
	}
	return request, mountFolder(*request.HostFsMountDir)
}

// mountFolder returns an error for what cannot be where the file system of the machine is mounted.
func mountFolder(folder string) error {
	if len(folder) > longestName || !plainPath.MatchString(folder) || path.Clean(folder) != folder {
		return fmt.Errorf("the folder %q is no plain absolute path", beginning(folder))
	}
	return nil
}
