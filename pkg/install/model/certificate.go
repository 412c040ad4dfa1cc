package model

import "time"

// Certificate is what is needed to know of a certificate.
type Certificate struct {
	Subject     string
	Fingerprint string // SHA-256, in hex
	From, Until time.Time
}

// ValidAt reports whether the certificate is in force.
func (c Certificate) ValidAt(now time.Time) bool { return now.Before(c.Until) && !now.Before(c.From) }

// ConfigServer is the machine config server of an installed cluster, from which its machines
// fetch their first config.
type ConfigServer struct {
	// Hosts are the names and addresses that its certificate is for.
	Hosts []string
	// CAs are the certificates that sign it, and CAFrom is the ConfigMap that has them, as
	// NAMESPACE/NAME, under CAKey. None: not known.
	CAs           []Certificate
	CAFrom, CAKey string
}
