package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// MediaListen never changes: a BMC goes on reading at the address that it was given once.
const MediaListen = ":8880"

// DeclareBMCProxy declares the flag of the way to BMCs.
func DeclareBMCProxy(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "bmc-proxy", "", "`URL` of the HTTP proxy through which BMCs are reached")
}

// ProxyURL reads --bmc-proxy, nil where it is not given.
func ProxyURL(text string) (*url.URL, error) { return WebURL("--bmc-proxy", text) }

// WebURL reads a flag whose value is an http or https URL, nil where it is not given.
func WebURL(flag, text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, Usagef("%s is not an http or https URL", flag)
	}
	return u, nil
}

// MediaKeyFile holds the key of the URLs at which a cluster's images are found.
func MediaKeyFile(clusterDir string) string { return filepath.Join(clusterDir, "media.key") }

// ImageAdvice is what to do about a base that no machine can ever boot.
func ImageAdvice(problem *boot.BaseError) model.Advice {
	if problem.Arch != "" {
		return model.Advice("give --base an image for " + problem.Arch)
	}
	return "give --base a live image that can be read, or omit it to use the service's image"
}

// WarnCarried warns of what a base carries and no host gets: theirs is the service's.
func (a *App) WarnCarried(names []string, location string) {
	if len(names) > 0 {
		a.Warn("--base %s contains %s; hosts get the service's instead", fetch.Redact(location), strings.Join(names, ", "))
	}
}

// SeveralArchs says what to do where the hosts of one base have several architectures.
func SeveralArchs(err error) error {
	if problem, is := errors.AsType[*boot.BaseError](err); is && problem.Archs > 0 {
		return Usagef("--base is for one CPU architecture, but the hosts have %d architectures: omit it to use the service's images",
			problem.Archs)
	}
	return err
}

// WatchMachines serves nothing; the key in the cluster's folder identifies its own images.
func (a *App) WatchMachines(clusterDir, proxy string) (*bmc.Plane, error) {
	through, err := ProxyURL(proxy)
	if err != nil {
		return nil, err
	}
	return boot.Watch(MediaKeyFile(clusterDir), through, a.Clock)
}

// AccessText is a request for an image without its URL, which must stay secret.
func AccessText(a serve.Access) string {
	host := a.Host
	if host == "" {
		host = "unknown"
	}
	text := fmt.Sprintf("media: %s %s %s for %s → %d, %d bytes (%d ms)", a.Method, host, a.Kind, a.Client, a.Status, a.Bytes,
		a.Took.Milliseconds())
	if a.Err != nil {
		text += ": " + a.Err.Error()
	}
	return strings.Join(strings.Fields(text), " ")
}

// ImageCacheDir is where live images are kept between runs.
func (a *App) ImageCacheDir() (string, error) {
	if dir := a.Env["XDG_CACHE_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "oaictl", "images"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for base images: %w", err)
	}
	return filepath.Join(dir, "oaictl", "images"), nil
}

// ForgetImages removes the cached images of InfraEnvs, which hold a pull secret.
func (a *App) ForgetImages(ctx context.Context, envs []model.InfraEnv) {
	dir, err := a.ImageCacheDir()
	if err != nil {
		return // so that there is none
	}
	cache := &boot.Config{Cache: dir}
	for _, env := range envs {
		if err := cache.ForgetImages(ctx, env); err != nil {
			a.Warn("the image of InfraEnv %s could not be removed from %s: %v. It contains the pull secret: delete it", env.Name, dir, err)
		}
	}
}

// ForgetImagesOf does so for a cluster that the service does not have any more.
func (a *App) ForgetImagesOf(ctx context.Context, c *spec.Cluster) {
	dir, err := a.ImageCacheDir()
	if err != nil {
		return
	}
	cache := &boot.Config{Cache: dir, Desired: &model.Desired{Spec: c}}
	if err := cache.ForgetImages(ctx); err != nil {
		a.Warn("not all images of %s could be removed from %s: %v. They contain the pull secret: delete them", c.Metadata.Name, dir, err)
	}
}

// IsURL reports whether a location is a URL rather than a path.
func IsURL(location string) bool { return strings.Contains(location, "://") }

// CheckSource refuses an image's location, or a digest, that can be none.
func CheckSource(location, digest string) error {
	if err := (fetch.Source{Location: location, SHA256: digest}).Check(); err != nil {
		return Usagef("%w", err)
	}
	return nil
}

// CheckListen refuses text that is no address, so that it is not reported as an address in use.
func CheckListen(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port) //nolint:noctx // a number, or a name of /etc/services
	}
	if err != nil {
		return Usagef("%s %q is not [HOST]:PORT, such as :8880 or 192.0.2.1:8880", flag, address)
	}
	return nil
}

// ListenAdvice is what helps where listening fails. free is how to end another listener.
func ListenAdvice(err error, flag, free string) model.Advice {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return model.Advice(free + "give another address with " + flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return model.Advice("give " + flag + " an address of this machine, or only :PORT for all its addresses")
	case errors.Is(err, fs.ErrPermission):
		return model.Advice("give " + flag + " a port from 1024 on: lower ports need the permission of the system")
	case Is[*net.DNSError](err):
		return model.Advice("give " + flag + " an IP address of this machine, or only :PORT for all its addresses")
	}
	return model.Advice("give another address with " + flag)
}

// LoadCertificate reads what --tls-cert and --tls-key name, nil where they are not given.
func LoadCertificate(cert, key string) (*tls.Certificate, error) {
	if (cert == "") != (key == "") {
		return nil, Usagef("--tls-cert and --tls-key go together")
	}
	if cert == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(cert, key)
	if err == nil {
		return &certificate, nil
	}
	if cause, is := errors.AsType[*fs.PathError](err); is {
		err = fmt.Errorf("%s: %w", cause.Path, cause.Err)
	}
	return nil, &model.Fault{
		Code: model.CodeUsage, Op: "use --tls-cert and --tls-key", Permanent: true, Err: err,
		Next: "give --tls-cert a file with a certificate (PEM), and --tls-key one with its key",
	}
}
