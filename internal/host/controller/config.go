//go:build linux

package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-openapi/strfmt"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Config is what the Job of the controller sets.
type Config struct {
	Cluster                strfmt.UUID
	URL                    string // of the service
	Token                  string // for the service; secret, "" if it asks for none
	SkipVerification       bool   // of the service's certificate
	CAPath                 string // of further certificate authorities of the service; "" if there are none
	Namespace              string
	Version                string // of OpenShift, such as 4.19.3
	ControlPlanes          int
	WaitsForClusterVersion bool
	// MustGatherImage is an image, or a JSON object that has an image for "ocp" and for operators; "" for that of the release.
	MustGatherImage string
	CountsReboots   bool
}

const (
	tokenFile      = "/etc/assisted-installer-controller/token"
	usualNamespace = "assisted-installer"
	usualPlanes    = 3
)

// ReadConfig reads the configuration from environment variables, and the token from its file.
func ReadConfig(getenv func(string) string, files hostfile.Files) (Config, error) {
	r := reader{getenv: getenv}
	c := Config{
		Cluster: strfmt.UUID(r.required("CLUSTER_ID")), URL: r.required("INVENTORY_URL"),
		SkipVerification: r.flag("SKIP_CERT_VERIFICATION"), CAPath: getenv("CA_CERT_PATH"),
		Namespace: r.text("NAMESPACE", usualNamespace), Version: r.required("OPENSHIFT_VERSION"),
		ControlPlanes:          r.number("CONTROL_PLANE_COUNT", usualPlanes),
		WaitsForClusterVersion: r.flag("CHECK_CLUSTER_VERSION"), MustGatherImage: getenv("MUST_GATHER_IMAGE"),
		CountsReboots: r.flag("NOTIFY_NUM_REBOOTS"),
	}
	if c.Cluster != "" && !strfmt.IsUUID(string(c.Cluster)) {
		r.wrong("CLUSTER_ID", "it is not a UUID")
	}
	if at, err := url.Parse(c.URL); c.URL != "" && (err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https") {
		r.wrong("INVENTORY_URL", "it is not an http or https URL")
	}
	var err error
	c.Token, err = readToken(getenv, files)
	return c, errors.Join(append(r.errs, err)...)
}

// readToken reads the token for the service. The file comes first; the variable is that of earlier manifests.
func readToken(getenv func(string) string, files hostfile.Files) (string, error) {
	content, err := files.Read(tokenFile)
	switch {
	case err == nil:
		return strings.TrimSpace(string(content)), nil
	case errors.Is(err, fs.ErrNotExist):
		return strings.TrimSpace(getenv("PULL_SECRET_TOKEN")), nil
	}
	return "", fmt.Errorf("read the token of the service: %w", err)
}

// reader reads variables and collects what is wrong with them.
type reader struct {
	getenv func(string) string
	errs   []error
}

func (r *reader) wrong(name, why string) {
	r.errs = append(r.errs, fmt.Errorf("the environment variable %s has the value %s: %s", name, strconv.Quote(r.getenv(name)), why))
}

func (r *reader) required(name string) string {
	value := r.getenv(name)
	if value == "" {
		r.errs = append(r.errs, fmt.Errorf("the environment variable %s is not set", name))
	}
	return value
}

func (r *reader) text(name, otherwise string) string {
	if value := r.getenv(name); value != "" {
		return value
	}
	return otherwise
}

func (r *reader) flag(name string) bool {
	text := r.getenv(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.wrong(name, "it is not true or false")
	}
	return value
}

func (r *reader) number(name string, otherwise int) int {
	text := r.getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		r.wrong(name, "it is not a number")
	}
	return value
}

// String is the configuration without secrets, for the log.
func (c Config) String() string {
	return escape.Sprintf("cluster %s, service %s, skip verification %t, CA file %q, namespace %s, OpenShift %s, control planes %d, "+
		"wait for the cluster version %t, must-gather image %q, count reboots %t",
		string(c.Cluster), withoutUser(c.URL), c.SkipVerification, c.CAPath, c.Namespace, c.Version, c.ControlPlanes,
		c.WaitsForClusterVersion, c.MustGatherImage, c.CountsReboots)
}

// withoutUser is a URL without a password.
func withoutUser(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	return at.Redacted()
}
