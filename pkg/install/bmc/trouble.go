package bmc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// bmcError is what is wrong with one BMC, in words that hold no secret.
type bmcError struct {
	kind  model.TroubleKind
	text  string
	err   error
	cause cause // of an image that was refused
}

func (t *bmcError) Error() string { return t.text }
func (t *bmcError) Unwrap() error { return t.err }

// explain makes a trouble of what a request ended with. Only what is safe of it
// is kept: BMCs repeat in their answers what they were sent.
func (c *connection) explain(err error) error {
	var (
		known  *bmcError
		goesOn *unfinished
		failed *taskFailed
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &goesOn):
		return goesOn
	case errors.As(err, &failed):
		return &bmcError{kind: model.TroubleOther, text: "its BMC could not do it: " + c.safe(failed.said)}
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var status *common.Error
	if errors.As(err, &status) && status.HTTPReturnedStatusCode != 0 {
		return c.explainStatus(status)
	}
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		network   net.Error
	)
	t := &bmcError{kind: model.TroubleUnreachable}
	switch {
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid):
		t.kind, t.text = model.TroubleOther, "the certificate of its BMC is not trusted (bmc.ca or bmc.insecure): "+c.safe(innermost(err))
	case errors.As(err, &record):
		t.text = "its BMC does not speak TLS at this address"
	case errors.As(err, &network) && network.Timeout():
		t.text = "its BMC does not answer"
	case errors.As(err, new(*url.Error)), errors.As(err, new(*net.OpError)):
		t.text = "its BMC cannot be reached: " + c.safe(innermost(err))
	default:
		t.kind, t.text = model.TroubleOther, "the answer of its BMC is not valid Redfish: "+c.safe(innermost(err))
	}
	return t
}

func (c *connection) explainStatus(status *common.Error) error {
	said := c.safe(c.saidBy(status))
	lower := strings.ToLower(status.Error())
	switch code := status.HTTPReturnedStatusCode; {
	case strings.Contains(lower, "sessionlimit"):
		return &bmcError{kind: model.TroubleBusy, text: "all sessions of its BMC are in use"}
	case code == http.StatusUnauthorized:
		return &bmcError{kind: model.TroubleCredentials, text: "its BMC refuses the user and the password"}
	case code == http.StatusForbidden:
		return &bmcError{kind: model.TroubleCredentials, text: "the user of the BMC does not have permission for this: " + said}
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		return &bmcError{kind: model.TroubleUnreachable, text: "its BMC cannot be reached: " + said}
	case code == http.StatusServiceUnavailable, code == http.StatusConflict, code == http.StatusLocked, code == http.StatusTooManyRequests:
		return &bmcError{kind: model.TroubleBusy, text: "its BMC is busy: " + said}
	default:
		return &bmcError{kind: model.TroubleOther, text: "its BMC refuses: " + said}
	}
}

func (c *connection) saidBy(status *common.Error) string {
	return fmt.Sprintf("%s (HTTP %d)", c.saidByAll(status.ExtendedInfos, status.Message), status.HTTPReturnedStatusCode)
}

// cause is why a BMC takes no image, as far as its words say.
type cause int

// The causes that have a remedy of their own.
const (
	causeUnknown cause = iota
	causeLicence
	causeCertificate
	causeName
	causeTLS
)

// causes are the words, and the ids of messages, by which a cause is known: the first that
// fits is the cause. RAC0720 and the like say that the image was not found, which is what
// the remedy of an unknown cause is about.
func causes() []struct {
	cause cause
	marks []string
} {
	return []struct {
		cause cause
		marks []string
	}{
		{causeLicence, []string{"licens", "licence", "lic501", "swc0242"}},
		{causeCertificate, []string{"certificate", "x509", "self-signed", "self signed", "unknown ca"}},
		{causeName, []string{"resolve", "dns", "name or service not known", "no such host", "unknown host"}},
		{causeTLS, []string{"https", "tls", "ssl", "protocol"}},
	}
}

func causeOf(said string) cause {
	lower := strings.ToLower(said)
	for _, known := range causes() {
		if slices.ContainsFunc(known.marks, func(mark string) bool { return strings.Contains(lower, mark) }) {
			return known.cause
		}
	}
	return causeUnknown
}

// remedy is what to do about an image that the BMC of a host refuses.
func (c cause) remedy(host string) model.Advice {
	switch c {
	case causeLicence:
		return model.Advice("give the BMC of " + host + " a licence with virtual media, or boot " + host +
			" from the discovery image by hand ({create images})")
	case causeCertificate:
		return model.Advice("make the BMC of " + host +
			" trust the certificate of that address, or give an http:// address with --media-url")
	case causeName:
		return model.Advice("the BMC of " + host +
			" cannot resolve the name in that address: give an IP address with --media-url, or set the name servers of the BMC")
	case causeTLS:
		return model.Advice("the BMC of " + host +
			" does not accept this kind of address: give an address with http:// or with https:// as --media-url")
	}
	return model.Advice("check that the BMC of " + host + " can reach that address, or give another address with --media-url")
}

// innermost is the last error of a chain: those around it repeat URLs.
func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

var paths = regexp.MustCompile(`(https?://[^/\s"']+)/[^\s"']*`)

// safe is a text without user, password and the paths of URLs, and not longer
// than a person reads.
func (c *connection) safe(text string) string {
	basic := base64.StdEncoding.EncodeToString([]byte(c.user + ":" + c.password))
	for _, secret := range []string{c.password, basic, c.token} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	for _, secret := range secretsOf(c.image) {
		text = strings.ReplaceAll(text, secret, "…")
	}
	text = strings.Join(strings.Fields(paths.ReplaceAllString(text, "$1/…")), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "…"
	}
	return text
}

// secretsOf are the path of an image's URL, as texts repeat it without the rest of the URL,
// and the parts of the path that are hard to guess, the longest first.
func secretsOf(image string) []string {
	u, err := url.Parse(image)
	if err != nil || len(u.Path) < 2 {
		return nil
	}
	secrets := []string{u.Path, u.EscapedPath()}
	for _, part := range strings.Split(u.Path, "/") {
		if len(part) >= hardToGuess {
			secrets = append(secrets, part, strings.TrimSuffix(part, path.Ext(part)))
		}
	}
	return secrets
}

// hardToGuess is how long a part of a path is that is no mere name.
const hardToGuess = 16
