//go:build e2e

// Package real checks oaictl's promises against a service that runs: one that the environment names
// (docs/conformance.md), else the simulated one, with a faster clock. The machines are the simulator's in both cases.
package real

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// server is the API server that the simulated operator of a hub works on.
var server kubetest.Shared

// How many installs run at once: most of their time is spent waiting for machines. A given service has other users,
// too.
const (
	sideBySide      = 12
	sideBySideGiven = 6
)

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	environment, err := fromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	atOnce := sideBySide
	if environment.service != "" {
		atOnce = sideBySideGiven
		if err := environment.answers(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if environment.service != "" && environment.images != "" {
		if err := environment.serveImages(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", fmt.Sprint(atOnce)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := server.Run(m)
	if pattern := flag.Lookup("test.run").Value.String(); code == 0 && environment.service != "" && pattern != "" {
		if err := suite.nothing(pattern, tests); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// TestHostedServiceIsRefused: the suite keeps away from services that are not the user's own.
func TestHostedServiceIsRefused(t *testing.T) {
	begins(t)
	for address, refused := range map[string]bool{
		"https://api.openshift.com": true, "https://api.stage.openshift.com/api/assisted-install": true, "https://API.OPENSHIFT.COM.:443/": true,
		"https://console.redhat.com": true, "http://127.0.0.1:8090": false, "https://assisted.apps.hub.example.com": false,
		"https://notopenshift.com.example.org": false, "127.0.0.1:8090": true, "": true,
	} {
		if err := refuseHosted(address); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestServiceIsAskedFirst names what is wrong with a service before anything is made
// there.
func TestServiceIsAskedFirst(t *testing.T) {
	begins(t)
	status := http.StatusOK
	text := `{"release_tag": "", "versions": {"assisted-installer-service": "quay.io/x"}}`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	defer service.Close()
	g := given{service: service.URL, client: service.Client()}
	check.Do(t, g.answers(t.Context()))
	status, text, g.kubeconfig = http.StatusUnauthorized, `{"code":401,"message":"unauthenticated for invalid credentials"}`, "hub"
	check.Do(t, g.answers(t.Context()), "a service behind a hub that knows machines only")
	g.kubeconfig = ""
	for _, tc := range []struct {
		status     int
		text, says string
	}{
		{http.StatusUnauthorized, "{}", "OAICTL_TOKEN"},
		{http.StatusForbidden, "{}", "OAICTL_TOKEN"},
		{http.StatusNotFound, "<html>", "no assisted-service"},
		{http.StatusOK, "<html>", "no assisted-service"},
		{http.StatusServiceUnavailable, "", "503"},
	} {
		status, text = tc.status, tc.text
		if err := g.answers(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%d %s: %v", tc.status, tc.text, err)
		}
	}
	service.Close()
	check.Says(t, g.answers(t.Context()), "OAICTL_REAL_SERVICE", "nobody there")
}
