package discovery

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/isowriter"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// KernelArguments are the user's arguments for the live system.
func KernelArguments(e *model.InfraEnv) []string {
	if e.KernelArguments == nil {
		return nil
	}
	var args []struct {
		Value string `json:"value"`
	}
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
	for _, f := range networkFiles(e) {
		if err := w.WriteHeader(&tar.Header{Name: f.path, Mode: int64(f.mode), Size: int64(len(f.text))}); err != nil {
			return nil, fmt.Errorf("packing the network configuration: %w", err)
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			return nil, fmt.Errorf("packing the network configuration: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing the network configuration: %w", err)
	}
	return out.Bytes(), nil
}

// MinimalArchive packs the static configuration and the proxy; nil if there is
// neither.
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
			fmt.Appendf(nil, "[Service]\nEnvironment=http_proxy=%s\nEnvironment=https_proxy=%s\nEnvironment=no_proxy=%s\n", httpProxy, httpsProxy, noProxy))
	}
	return isowriter.Gzip(isowriter.Archive(members...).Bytes())
}
