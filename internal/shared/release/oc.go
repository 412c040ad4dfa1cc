package release

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// largestOutput is in bytes; a release with all of its images takes some 400 kB.
const largestOutput = 16 << 20

// outliveTime is how long, in real time, a process that oc has left may hold its
// output.
const outliveTime = time.Second

type ocCall struct {
	program string
	login   string // file with the pull secret, "" for none
	trusted string // folder with the certificates to trust beside the system's, "" for none
	wait    time.Duration

	kubernetes bool // its version is asked for, too
}

// askOC has oc read the release, from the first place that it can. The pull secret goes
// through a private file: everybody on the machine can read arguments.
func askOC(ctx context.Context, o Options, places []source) (Info, error) {
	folder, err := os.MkdirTemp("", "oaictl-release-")
	if err != nil {
		return Info{}, fmt.Errorf("make a folder for the pull secret: %w", err)
	}
	defer os.RemoveAll(folder)
	call := &ocCall{program: o.OC, wait: max(o.Clock.Wall(answerTime), leastAnswerTime), kubernetes: o.Kubernetes}
	if !o.PullSecret.IsZero() {
		call.login = filepath.Join(folder, "config.json")
		if err := os.WriteFile(call.login, []byte(o.PullSecret.Reveal()), 0o600); err != nil {
			return Info{}, fmt.Errorf("write the pull secret for oc: %w", err)
		}
	}
	if len(o.CA) > 0 {
		call.trusted = filepath.Join(folder, "trusted")
		if err := errors.Join(os.Mkdir(call.trusted, 0o700), os.WriteFile(filepath.Join(call.trusted, "ca.pem"), o.CA, 0o600)); err != nil {
			return Info{}, fmt.Errorf("write the certificates to trust for oc: %w", err)
		}
	}
	var failures []error
	for _, at := range places {
		info, err := call.describe(ctx, at)
		if err == nil || ctx.Err() != nil {
			return info, err
		}
		failures = append(failures, fmt.Errorf("%s: %w", at.image, err))
	}
	return Info{}, errors.Join(failures...)
}

func (c *ocCall) describe(ctx context.Context, at source) (Info, error) {
	var answer struct {
		Digest     string `json:"digest"`
		ListDigest string `json:"listDigest"`
		Config     struct {
			Architecture string `json:"architecture"`
		} `json:"config"`
		Metadata struct {
			Version  string            `json:"version"`
			Metadata map[string]string `json:"metadata"`
		} `json:"metadata"`
		Parts map[string]struct {
			Version string
		} `json:"displayVersions"`
	}
	if err := c.json(ctx, at, &answer, "adm", "release", "info"); err != nil {
		return Info{}, err
	}
	info := Info{Version: answer.Metadata.Version,
		Arch:   []string{string(clustersettings.CanonicalWord[spec.Arch](answer.Config.Architecture))},
		Digest: cmp.Or(answer.ListDigest, answer.Digest)}
	if info.Version == "" {
		return Info{}, errors.New("its answer names no version")
	}
	if c.kubernetes {
		info.Kubernetes = answer.Parts[kubernetes].Version
	}
	if answer.Metadata.Metadata["release.openshift.io/architecture"] == "multi" {
		arch, err := c.architectures(ctx, at)
		if err != nil {
			return Info{}, err
		}
		info.Arch = arch
	}
	if info.Arch[0] == "" {
		return Info{}, errors.New("its answer names no architecture")
	}
	return info, nil
}

func (c *ocCall) architectures(ctx context.Context, at source) ([]string, error) {
	var images []struct {
		Config struct {
			Architecture string `json:"architecture"`
		} `json:"config"`
	}
	if err := c.json(ctx, at, &images, "image", "info", "--show-multiarch"); err != nil {
		return nil, err
	}
	var arch []string
	for _, image := range images {
		if name := string(clustersettings.CanonicalWord[spec.Arch](image.Config.Architecture)); name != "" && !slices.Contains(arch, name) {
			arch = append(arch, name)
		}
	}
	if len(arch) == 0 {
		return nil, errors.New("its answer names no architecture")
	}
	slices.Sort(arch)
	return arch, nil
}

func (c *ocCall) json(ctx context.Context, at source, into any, verb ...string) error {
	arguments := append(verb, "-o", "json")
	if c.login != "" {
		arguments = append(arguments, "--registry-config", c.login)
	}
	if at.insecure {
		arguments = append(arguments, "--insecure=true")
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	command := exec.CommandContext(ctx, c.program, append(arguments, at.image)...)
	command.WaitDelay = outliveTime
	command.Env = c.environment(command.Environ())
	var answer, problems bytes.Buffer
	command.Stdout = &limited{to: &answer, left: largestOutput + 1}
	command.Stderr = &limited{to: &problems, left: 64 << 10}
	switch err := command.Run(); {
	case answer.Len() > largestOutput:
		return errTooLarge
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("it has not answered within %s", c.wait)
	case err != nil:
		return fmt.Errorf("%w: %s", err, oneLine(strings.TrimPrefix(problems.String(), "error: ")))
	}
	if err := json.Unmarshal(answer.Bytes(), into); err != nil {
		return fmt.Errorf("its answer is not JSON: %w", err)
	}
	return nil
}

// certificateFolders are where Go looks for certificates on media (crypto/x509).
const certificateFolders = "/etc/ssl/certs:/etc/pki/tls/certs"

// environment has one more folder of certificates: oc has no flag for registries'.
func (c *ocCall) environment(own []string) []string {
	const variable = "SSL_CERT_DIR"
	if c.trusted == "" {
		return own
	}
	folders := certificateFolders
	for _, entry := range own {
		if value, is := strings.CutPrefix(entry, variable+"="); is && value != "" {
			folders = value
		}
	}
	return append(slices.Clone(own), variable+"="+c.trusted+string(filepath.ListSeparator)+folders)
}

type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(data []byte) (int, error) {
	keep := data[:min(len(data), l.left)]
	l.left -= len(keep)
	if _, err := l.to.Write(keep); err != nil {
		return 0, err
	}
	return len(data), nil
}
