//go:build linux

package installer

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestFetch(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/config/master":
			if r.Header.Get("Accept") != "application/vnd.coreos.ignition+json; version=3.4.0" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			_, _ = w.Write([]byte("config"))
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("x"), firstboot.MaxSize+1))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for _, row := range []struct {
		url, says string
		ca        []byte
	}{
		{plain.URL + "/config/master", "", nil},
		{secure.URL + "/config/master", "", ca},
		{secure.URL + "/config/master", "no certificate in PEM form", []byte("x")},
		{plain.URL + "/none", "the server answers 404 Not Found", nil},
		{plain.URL + "/large", "more than", nil},
		{"http://127.0.0.1:1/?token=hidden-one", "token=[redacted]", nil},
		{"http://\x7f", "invalid control character", nil},
	} {
		content, err := HTTPFetcher{}.Fetch(t.Context(), row.url, row.ca)
		if row.says != "" {
			check.Says(t, err, row.says)
			continue
		}
		must.Do(t, err)
		check.Equal(t, string(content), "config")
	}
}

// TestFetchRefusesStrangers: the CA of the config is the only one that counts.
func TestFetchRefusesStrangers(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	_, key, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	certificate := must.Get(x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key))(t)
	_, err = HTTPFetcher{}.Fetch(t.Context(), server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	check.Says(t, err, "unknown authority")
}
