// Package discovery makes what an infra-env puts into its media: the Ignition of the
// live system, which runs the agent, and static networks.
package discovery

import (
	"archive/tar"
	"bytes"
	"cmp"
	_ "embed" // agent.service
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/oaictl/oaictl/internal/shared/isowriter"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

const specVersion = "3.1.0"

type liveFile struct {
	Path      string         `json:"path"`
	Mode      int            `json:"mode"`
	Overwrite bool           `json:"overwrite"`
	User      map[string]any `json:"user"`
	Contents  source         `json:"contents"`
}

type source struct {
	Source string `json:"source"`
}

type liveUnit struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Contents string `json:"contents"`
}

// liveProxy is what Ignition itself fetches through. The format takes no empty address.
type liveProxy struct {
	HTTP  string   `json:"httpProxy,omitempty"`
	HTTPS string   `json:"httpsProxy,omitempty"`
	No    []string `json:"noProxy,omitempty"`
}

// Agent is what an agent is started with.
type Agent struct {
	Service string // its address
	Token   string // what the agent identifies itself with
}

// Ignition configures the live system to run the agent; isoType "" is the infra-env's own.
func Ignition(e *model.InfraEnv, isoType string, agent Agent) (string, error) {
	static := cmp.Or(isoType, e.Type) == FullISO && len(e.Static) > 0
	about := map[string]any{"version": specVersion}
	if plain, secure, none := e.Proxy.Texts(); !e.Proxy.None() {
		about["proxy"] = liveProxy{plain, secure, parts(none, ",")}
	}
	text := model.InString(map[string]any{
		"ignition": about,
		"passwd":   map[string]any{"users": []map[string]any{{"name": "core", "sshAuthorizedKeys": parts(e.SSHAuthorizedKey, "\n")}}},
		"storage":  map[string]any{"files": liveFiles(e, static)},
		"systemd":  map[string]any{"units": liveUnits(e, static, agent)},
	})
	if e.IgnitionConfigOverride == "" {
		return text, nil
	}
	return mergeIgnition(text, e.IgnitionConfigOverride)
}

//go:embed agent.service
var agentUnit string

func liveUnits(e *model.InfraEnv, static bool, agent Agent) []liveUnit {
	plain, secure, none := e.Proxy.Texts()
	text := fmt.Sprintf(agentUnit, plain, secure, none, agent.Token, versions.AgentImage, agent.Service, e.ID)
	units := []liveUnit{
		{"agent.service", true, text},
		{"selinux.service", true, "[Service]\nType=oneshot\nExecStartPre=checkmodule -M -m -o /root/assisted.mod /root/assisted.te\n" +
			"ExecStartPre=semodule_package -o /root/assisted.pp -m /root/assisted.mod\nExecStart=semodule -i /root/assisted.pp\n\n[Install]\n" +
			"WantedBy=multi-user.target\n"},
	}
	if static {
		units = append(units, liveUnit{networkUnit, true, networkUnitText})
	}
	return units
}

// liveFiles are what the agent needs, and, with static, its network.
func liveFiles(e *model.InfraEnv, static bool) []liveFile {
	plain := func(path string, mode int, text string) liveFile {
		return liveFile{
			Path: path, Mode: mode, Overwrite: true, User: map[string]any{"name": "root"},
			Contents: source{"data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(text))},
		}
	}
	files := []liveFile{
		plain("/usr/local/bin/agent-fix-bz1964591", 0o755,
			"#!/usr/bin/sh\n# Take an image that podman only half knows away before it is run.\npodman inspect \"$1\" >/dev/null 2>&1 || podman "+
				"rmi --force \"$1\" >/dev/null 2>&1 || true\n"),
		plain("/etc/motd", 0o644, "This is a host that is being installed by the Assisted Installer.\nThe primary service is agent.service: "+
			"journalctl -u agent.service\n"),
		plain("/etc/NetworkManager/conf.d/01-ipv6.conf", 0o644, "[connection]\nipv6.dhcp-iaid=mac\nipv6.dhcp-duid=ll\n"),
		plain("/root/.docker/config.json", 0o644, e.PullSecret),
		plain("/root/assisted.te", 0o644,
			"module assisted 1.0;\nrequire {\n\ttype chronyd_t;\n\ttype container_file_t;\n\ttype spc_t;\n\tclass unix_dgram_socket sendto;\n"+
				"\tclass dir search;\n\tclass sock_file write;\n}\nallow chronyd_t container_file_t:dir search;\nallow chronyd_t "+
				"container_file_t:sock_file write;\nallow chronyd_t spc_t:unix_dgram_socket sendto;\n"),
	}
	if httpProxy, httpsProxy, noProxy := e.Proxy.Texts(); !e.Proxy.None() {
		// The service writes this one mode in decimal, where 0644 is meant.
		files = append(files, plain(
			"/etc/profile.d/proxy.sh", 644,
			fmt.Sprintf("export HTTP_PROXY=%s\nexport HTTPS_PROXY=%s\nexport NO_PROXY=%s\n", httpProxy, httpsProxy, noProxy),
		))
	}
	if e.AdditionalTrustBundle != "" {
		files = append(files, plain("/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem", 0o600,
			e.AdditionalTrustBundle))
	}
	if static {
		for _, f := range slices.Concat(networkScripts(), networkFiles(e)) {
			files = append(files, plain(f.path, f.mode, f.text))
		}
	}
	return files
}

func parts(text, separator string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// mergeIgnition lays a user's config over the service's own by the rules of the
// format. The result has the higher of the two versions.
func mergeIgnition(base, over string) (string, error) {
	// What was generated is neither checked nor translated, which takes seconds for thousands of hosts.
	var parent types.Config
	if err := json.Unmarshal([]byte(base), &parent); err != nil {
		return "", fmt.Errorf("reading the generated Ignition: %w", err)
	}
	child, _, err := ignition.ParseCompatibleVersion([]byte(over))
	if err != nil {
		return "", wire.BadRequest("%s", err)
	}
	merged := ignition.Merge(parent, child)
	merged.Ignition.Version = max(specVersion, versionOf(over)) // 3.1.0 to 3.6.0, so by letter
	text, err := json.Marshal(merged)
	if err != nil {
		return "", fmt.Errorf("writing the merged Ignition: %w", err)
	}
	return string(text), nil
}

func versionOf(config string) string {
	var about struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	_ = json.Unmarshal([]byte(config), &about) // it has been read before
	return cmp.Or(about.Ignition.Version, specVersion)
}

// ArchiveSize is how many bytes a config takes in an image.
func ArchiveSize(text string) int {
	return len(isowriter.IgnitionArchive([]byte(text)))
}

// CloudSecret is the cloud.openshift.com entry of a pull secret.
func CloudSecret(text string) string {
	var secret model.PullSecret
	if json.Unmarshal([]byte(text), &secret) != nil {
		return ""
	}
	return secret.Auths["cloud.openshift.com"].Auth
}

// KernelArguments are the user's arguments for the live system.
func KernelArguments(e *model.InfraEnv) []string {
	if e.KernelArguments == nil {
		return nil
	}
	var args models.KernelArguments
	if json.Unmarshal([]byte(*e.KernelArguments), &args) != nil {
		return nil
	}
	list := make([]string, 0, len(args))
	for _, a := range args {
		list = append(list, a.Value)
	}
	return list
}

// StaticArchive is the hosts' network configuration as the live system reads it.
func StaticArchive(e *model.InfraEnv) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var failed error
	for _, f := range networkFiles(e) {
		err := w.WriteHeader(&tar.Header{Name: f.path, Mode: int64(f.mode), Size: int64(len(f.text))})
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(failed, w.Close()); err != nil {
		return nil, fmt.Errorf("packing the network configuration: %w", err)
	}
	return out.Bytes(), nil
}

// MinimalArchive packs the static configuration and the proxy; nil if there is neither.
func MinimalArchive(e *model.InfraEnv) []byte {
	if len(e.Static) == 0 && e.Proxy.None() {
		return nil
	}
	var members []isowriter.Member
	add := func(name string, mode uint32, content []byte) {
		members = append(members, isowriter.Member{Name: name, Mode: mode, Data: isowriter.BytesOf(content)})
	}
	if len(e.Static) > 0 {
		for _, f := range slices.Concat(networkFiles(e), networkScripts()) {
			add(f.path, isowriter.ModeFile|uint32(f.mode), []byte(f.text))
		}
		add("/etc/systemd/system/"+networkUnit, isowriter.ModeFile|0o644, []byte(networkUnitText))
		add("/etc/systemd/system/initrd.target.wants/"+networkUnit, isowriter.ModeLink|0o777, []byte("/etc/systemd/system/"+networkUnit))
	}
	if httpProxy, httpsProxy, noProxy := e.Proxy.Texts(); !e.Proxy.None() {
		add("/etc/systemd/system/coreos-livepxe-rootfs.service.d/10-proxy.conf", isowriter.ModeFile|0o644,
			fmt.Appendf(nil, "[Service]\nEnvironment=http_proxy=%s\nEnvironment=https_proxy=%s\nEnvironment=no_proxy=%s\n", httpProxy, httpsProxy,
				noProxy))
	}
	return isowriter.Gzip(isowriter.Archive(members...).Bytes())
}
