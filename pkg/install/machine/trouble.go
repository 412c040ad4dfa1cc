package machine

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
	"regexp"
	"strings"

	"github.com/stmcginnis/gofish/common"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// trouble is what is wrong with one BMC, in words that hold no secret.
type trouble struct {
	kind install.TroubleKind
	text string
	err  error
}

func (t *trouble) Error() string { return t.text }
func (t *trouble) Unwrap() error { return t.err }

// explain makes a trouble of what a request ended with. Only what is safe of it
// is kept: BMCs repeat in their answers what they were sent.
func (c *connection) explain(err error) error {
	var known *trouble
	if errors.As(err, &known) {
		return known
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
	t := &trouble{kind: model.TroubleUnreachable}
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
		t.kind, t.text = model.TroubleOther, "its BMC does not answer as Redfish says: "+c.safe(innermost(err))
	}
	return t
}

func (c *connection) explainStatus(status *common.Error) error {
	said := c.safe(saidBy(status))
	lower := strings.ToLower(status.Error())
	switch code := status.HTTPReturnedStatusCode; {
	case strings.Contains(lower, "sessionlimit"):
		return &trouble{kind: model.TroubleBusy, text: "all sessions of its BMC are taken"}
	case code == http.StatusUnauthorized:
		return &trouble{kind: model.TroubleCredentials, text: "its BMC refuses user and password"}
	case code == http.StatusForbidden:
		return &trouble{kind: model.TroubleCredentials, text: "the BMC's user may not do this: " + said}
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		return &trouble{kind: model.TroubleUnreachable, text: "its BMC cannot be reached: " + said}
	case code == http.StatusServiceUnavailable, code == http.StatusConflict, code == http.StatusLocked, code == http.StatusTooManyRequests:
		return &trouble{kind: model.TroubleBusy, text: "its BMC is busy: " + said}
	default:
		return &trouble{kind: model.TroubleOther, text: "its BMC refuses: " + said}
	}
}

func saidBy(status *common.Error) string {
	var texts, ids []string
	for _, info := range status.ExtendedInfos {
		if text := strings.TrimSpace(info.Message); text != "" {
			texts = append(texts, text)
		} else if info.MessageID != "" {
			ids = append(ids, info.MessageID)
		}
	}
	switch {
	case len(texts) > 0:
		texts = append(texts, ids...)
	case status.Message != "":
		texts = []string{status.Message}
	default:
		texts = ids
	}
	return fmt.Sprintf("%s (HTTP %d)", strings.Join(texts, "; "), status.HTTPReturnedStatusCode)
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
	text = strings.Join(strings.Fields(paths.ReplaceAllString(text, "$1/…")), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "…"
	}
	return text
}
