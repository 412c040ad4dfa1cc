// Package firstboot reads and merges the Ignition configs that an installation handles: the bootstrap's, a host's, and the
// one that a machine-config-server gives. It does not touch the machine.
package firstboot

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vincent-petithory/dataurl"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// MaxSize is the most bytes that a config may have. A bootstrap's has about one megabyte.
const MaxSize = 64 << 20

// Files in configs.
const (
	DockerConfig = "/root/.docker/config.json"
	// clusterConfig is the ConfigMap with the install-config, which bootkube gives to the cluster.
	clusterConfig = "/opt/openshift/manifests/cluster-config.yaml"
	// encapsulated is the MachineConfig that a machine-config-server adds to each config.
	encapsulated = "/etc/ignition-machine-config-encapsulated.json"
)

// Check returns an error if a config is not one of Ignition 3, or too large.
func Check(config []byte) error {
	if len(config) > MaxSize {
		return fmt.Errorf("it has %d bytes, and %d are the most", len(config), MaxSize)
	}
	var head struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	if err := json.Unmarshal(config, &head); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	return checkVersion(head.Ignition.Version)
}

func checkVersion(version string) error {
	minor, err := minorOf(version)
	if err != nil {
		return err
	}
	newest, err := minorOf(ignition.Newest)
	if err == nil && minor > newest {
		err = fmt.Errorf("its Ignition version is %q, and %s is the newest that is known", version, ignition.Newest)
	}
	return err
}

var versionPattern = regexp.MustCompile(`^3\.([0-9]{1,3})\.[0-9]{1,3}$`)

func minorOf(version string) (int, error) {
	found := versionPattern.FindStringSubmatch(version)
	if found == nil {
		return 0, fmt.Errorf("its Ignition version is %q, not 3", shortened(version))
	}
	return strconv.Atoi(found[1])
}

func shortened(text string) string {
	const enough = 40
	if len(text) > enough {
		return text[:enough] + "..."
	}
	return text
}

// File is the content of a file that a config carries; found is false if it carries none. No other file is unpacked: a config
// from outside may have files that fill the memory.
func File(config []byte, path string) (content []byte, found bool) {
	var parsed struct {
		Storage struct {
			Files []struct {
				Path     string   `json:"path"`
				Contents resource `json:"contents"`
			} `json:"files"`
		} `json:"storage"`
	}
	if json.Unmarshal(config, &parsed) != nil {
		return nil, false
	}
	for _, file := range parsed.Storage.Files {
		if file.Path == path {
			content, err := file.Contents.content()
			return content, err == nil
		}
	}
	return nil, false
}

// ErrUnknownCluster means that a bootstrap's config does not say to which cluster it belongs.
var ErrUnknownCluster = errors.New("it has no install-config, so its cluster is not known")

// CheckCluster returns an error if a bootstrap's config is for a cluster of another name or domain. The error is
// ErrUnknownCluster if the config does not say.
func CheckCluster(bootstrap []byte, name, baseDomain string) error {
	manifest, found := File(bootstrap, clusterConfig)
	if !found {
		return ErrUnknownCluster
	}
	config, err := ReadClusterConfig(manifest)
	if err != nil {
		return fmt.Errorf("read its file %s: %w", clusterConfig, err)
	}
	if config.Name != name || config.BaseDomain != baseDomain {
		return fmt.Errorf("it is for the cluster %q of the domain %q, and this host is installed into %q of %q",
			shortened(config.Name), shortened(config.BaseDomain), name, baseDomain)
	}
	return nil
}

// MergeHost adds a host's config to a base, which has all that a pointer would lead to: the host's pointer is dropped. Of a
// file or unit that both have, the host's is taken.
func MergeHost(base, host []byte) ([]byte, error) {
	withoutPointer, err := dropPointer(host)
	if err != nil {
		return nil, fmt.Errorf("read the host's config: %w", err)
	}
	merged, err := ignition.Merge(base, withoutPointer)
	if err != nil {
		return nil, fmt.Errorf("merge the host's config into the base: %w", err)
	}
	return merged, nil
}

func dropPointer(config []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(all["ignition"], &head); err != nil {
		return nil, fmt.Errorf("its section ignition: %w", err)
	}
	delete(head, "config")
	var err error
	if all["ignition"], err = json.Marshal(head); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// resource is what a config carries or points at.
type resource struct {
	Source      string `json:"source"`
	Compression string `json:"compression"`
}

// Pointer says where a host's config gets the rest: at a URL, whose certificate the CA has signed, or in a data URL.
func Pointer(config []byte) (source string, ca []byte, err error) {
	var parsed struct {
		Ignition struct {
			Config struct {
				Merge []resource `json:"merge"`
			} `json:"config"`
			Security struct {
				TLS struct {
					CertificateAuthorities []resource `json:"certificateAuthorities"`
				} `json:"tls"`
			} `json:"security"`
		} `json:"ignition"`
	}
	if err := json.Unmarshal(config, &parsed); err != nil {
		return "", nil, fmt.Errorf("the host's Ignition config is not JSON: %w", err)
	}
	for _, merge := range parsed.Ignition.Config.Merge {
		if merge.Source != "" {
			source = merge.Source
			break
		}
	}
	if err := checkSource(source); err != nil {
		return "", nil, err
	}
	if authorities := parsed.Ignition.Security.TLS.CertificateAuthorities; len(authorities) > 0 {
		if ca, err = authorities[0].content(); err != nil {
			return "", nil, fmt.Errorf("read the CA of the machine-config-server: %w", err)
		}
	}
	if strings.HasPrefix(source, "https:") && len(ca) == 0 {
		return "", nil, errors.New("the host's Ignition config points at an HTTPS server, and has no CA for it")
	}
	return source, ca, nil
}

func checkSource(source string) error {
	if source == "" {
		return errors.New("the host's Ignition config points nowhere: it has no ignition.config.merge with a source")
	}
	u, err := url.Parse(source)
	if err != nil {
		return errors.New("the host's Ignition config points at what is no URL")
	}
	switch {
	case u.Scheme == "data":
		return nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	}
	return fmt.Errorf("the host's Ignition config points at a URL of the scheme %q", shortened(u.Scheme))
}

// Carried is the content of a data URL. It may be compressed by gzip.
func Carried(source string) ([]byte, error) {
	decoded, err := dataurl.DecodeString(source)
	if err != nil {
		return nil, fmt.Errorf("decode the data URL: %w", err)
	}
	gzipped := []byte{0x1f, 0x8b}
	if !bytes.HasPrefix(decoded.Data, gzipped) {
		return decoded.Data, nil
	}
	return unzip(decoded.Data)
}

func unzip(compressed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(z, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if len(content) > MaxSize {
		return nil, fmt.Errorf("it decompresses to more than %d bytes", MaxSize)
	}
	return content, nil
}

func (r resource) content() ([]byte, error) {
	if !strings.HasPrefix(r.Source, "data:") {
		return nil, errors.New("it is not in the config itself")
	}
	return Carried(r.Source)
}

// OS is the operating system that a MachineConfig asks for.
type OS struct {
	Image           string   // a reference of a container image
	KernelArguments []string // added to those of the disk's image
}

var (
	imagePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,500}$`)
	// argumentPattern has kernel arguments without white space and quotes.
	argumentPattern = regexp.MustCompile(`^[A-Za-z0-9][!#-&(-~]{0,500}$`)
)

// CarriedOS reads the operating system of the release from a config that has all in itself, or in a data URL that it points at,
// as bootkube's of a single node does.
func CarriedOS(config []byte) (OS, error) {
	if source, _, err := Pointer(config); err == nil && strings.HasPrefix(source, "data:") {
		carried, err := Carried(source)
		if err != nil {
			return OS{}, err
		}
		return ReleaseOS(carried)
	}
	return ReleaseOS(config)
}

// ReleaseOS reads the operating system of the release from the config that a machine-config-server gave.
func ReleaseOS(config []byte) (OS, error) {
	content, found := File(config, encapsulated)
	if !found {
		return OS{}, fmt.Errorf("the config of the machine-config-server has no file %s", encapsulated)
	}
	var machineConfig struct {
		Spec struct {
			OSImageURL      string   `json:"osImageURL"`
			KernelArguments []string `json:"kernelArguments"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(content, &machineConfig); err != nil {
		return OS{}, fmt.Errorf("read the MachineConfig of the machine-config-server: %w", err)
	}
	os := OS{Image: machineConfig.Spec.OSImageURL, KernelArguments: machineConfig.Spec.KernelArguments}
	if !imagePattern.MatchString(os.Image) {
		return OS{}, fmt.Errorf("the MachineConfig's operating system %q is no reference of a container image", shortened(os.Image))
	}
	for _, argument := range os.KernelArguments {
		if !argumentPattern.MatchString(argument) {
			return OS{}, fmt.Errorf("the MachineConfig has the kernel argument %q, which is not one word", shortened(argument))
		}
	}
	return os, nil
}
