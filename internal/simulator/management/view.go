package management

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// view is an API server that many clusters share, as the administrator of one has it: lists and watches of
// nodes and of certificate requests have its own alone.
type view struct {
	address string // host and port
	ca      []byte
	server  *http.Server
	running sync.WaitGroup
}

func newView(ctx context.Context, kube *rest.Config, clusterID string) (*view, error) {
	v, err := serveView(ctx, kube, spoke.LabelCluster+"="+clusterID)
	if err != nil {
		return nil, fmt.Errorf("serve a cluster that shares an API server: %w", err)
	}
	return v, nil
}

func serveView(ctx context.Context, kube *rest.Config, selector string) (*view, error) {
	target, err := url.Parse(kube.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(kube)
	if err != nil {
		return nil, err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	administrator := x509.NewCertPool()
	if !administrator.AppendCertsFromPEM(kube.CertData) {
		return nil, errors.New("its administrator has no certificate")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0) // clients and API servers come and go
	v := &view{address: listener.Addr().String(), ca: certificate, server: &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				if isDivided(r.Out) {
					query := r.Out.URL.Query()
					query.Set("labelSelector", strings.TrimPrefix(query.Get("labelSelector")+","+selector, ","))
					r.Out.URL.RawQuery = query.Encode()
				}
			},
			Transport: transport, FlushInterval: -1, ErrorLog: quiet,
		},
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientCAs: administrator, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS12,
		},
		ReadHeaderTimeout: time.Minute, ErrorLog: quiet, BaseContext: func(net.Listener) context.Context { return ctx },
	}}
	v.running.Go(func() { _ = v.server.ServeTLS(listener, "", "") }) // which ends by being closed
	return v, nil
}

// isDivided reports whether a request is for all of what each cluster has some of.
func isDivided(r *http.Request) bool {
	switch r.URL.Path {
	case "/api/v1/nodes", "/apis/certificates.k8s.io/v1/certificatesigningrequests":
		return r.Method == http.MethodGet
	}
	return false
}

func (v *view) close() error {
	err := v.server.Close()
	v.running.Wait()
	return err
}
