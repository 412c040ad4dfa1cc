package spec

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// Duration is a length of time, written as in Go: 90s, 60m, 1h30m.
type Duration time.Duration

// String is the duration as time.Duration writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as it is written in cluster.yaml.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *Duration) fromText(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a length of time", text)
	}
	if parsed < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	*d = Duration(parsed)
	return nil
}

// ProxyURL is the address of a proxy. It may hold a password, so it prints
// without one; Reveal gives all of it.
type ProxyURL string

// Reveal is the address with user and password.
func (p ProxyURL) Reveal() string { return string(p) }

// String is the address with the password, or all that stands before the last
// @ where it cannot be read, replaced by xxxxx.
func (p ProxyURL) String() string {
	parsed, err := url.Parse(string(p))
	if err == nil && parsed.Host != "" {
		return parsed.Redacted()
	}
	if at := strings.LastIndex(string(p), "@"); at >= 0 {
		return "xxxxx" + string(p)[at:]
	}
	return string(p)
}

// Format writes the address without its password, whatever the verb.
func (p ProxyURL) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, p.String()) }

// MarshalText writes the address without its password.
func (p ProxyURL) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// LogValue keeps the password out of logs.
func (p ProxyURL) LogValue() slog.Value { return slog.StringValue(p.String()) }
