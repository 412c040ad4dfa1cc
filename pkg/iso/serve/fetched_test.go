package serve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

func TestFetched(t *testing.T) {
	clk := newClock()
	began := clk.Now()
	s := newServer(t, serve.Config{Clock: clk})
	check := func(step string, want serve.Fetch) {
		t.Helper()
		if !want.Last.IsZero() {
			want.Idle = clk.Now().Sub(want.Last)
		}
		if diff := cmp.Diff(want, s.Fetched("m-0")); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	check("unknown", serve.Fetch{})
	image := overlay.Bytes(random(1000, 1))
	set(t, s, "m-0", iso(image))
	url := s.URL("m-0", serve.ISO)
	check("set", serve.Fetch{Size: 1000})
	ask(s, "HEAD", url)
	check("head", serve.Fetch{Requests: 1, Size: 1000, First: began, Last: began})
	clk.pass(time.Minute)
	ask(s, "GET", url, "Range", "bytes=0-99")
	ask(s, "GET", url, "Range", "bytes=50-149")
	ask(s, "GET", url, "Range", "bytes=900-")
	check("ranges", serve.Fetch{Requests: 4, Bytes: 250, Size: 1000, First: began, Last: clk.Now()})
	set(t, s, "m-0", iso(image))
	ask(s, "GET", url, "Range", "bytes=100-199, 300-399")
	check("the same content, several ranges", serve.Fetch{Requests: 5, Bytes: 400, Size: 1000, First: began, Last: clk.Now()})
	if got := s.Readers(time.Second); len(got) != 1 || got[0].Host != "m-0" {
		t.Errorf("readers %v", got)
	}
	clk.pass(time.Minute)
	if got := s.Readers(time.Second); len(got) != 0 {
		t.Errorf("readers %v", got)
	}
	s.Withdraw("m-0")
	check("withdrawn", serve.Fetch{Requests: 5, Bytes: 400, Size: 1000, First: began, Last: began.Add(time.Minute)})
	set(t, s, "m-0", iso(overlay.Bytes(random(500, 2))))
	check("new content", serve.Fetch{Size: 500})
	ask(s, "GET", url)
	check("all of it", serve.Fetch{Requests: 1, Bytes: 500, Size: 500, First: clk.Now(), Last: clk.Now()})
}

func TestFetchedFromTheNetwork(t *testing.T) {
	clk := newClock()
	s := newServer(t, serve.Config{Clock: clk})
	set(t, s, "m-0",
		serve.File{Kind: serve.Kernel, Image: overlay.Bytes(random(100, 1))},
		serve.File{Kind: serve.Initrd, Image: overlay.Bytes(random(200, 2))},
		serve.File{Kind: serve.Rootfs, Image: overlay.Bytes(random(700, 3))},
		serve.File{Kind: serve.IPXE, Script: func(_, _, _ string) string { return "#!ipxe\n" }})
	ask(s, "GET", s.URL("m-0", serve.IPXE))
	ask(s, "GET", s.URL("m-0", serve.Kernel))
	ask(s, "GET", s.URL("m-0", serve.Rootfs), "Range", "bytes=0-49")
	want := serve.Fetch{Requests: 2, Bytes: 150, Size: 1000, First: clk.Now(), Last: clk.Now()}
	check.Same(t, want, s.Fetched("m-0"))
}

func TestUseKeepsFromExpiring(t *testing.T) {
	clk := newClock()
	s := newServer(t, serve.Config{Clock: clk, Expire: time.Hour})
	set(t, s, "m-0", iso(overlay.Bytes([]byte("image"))))
	for range 5 {
		clk.pass(59 * time.Minute)
		if got := ask(s, "HEAD", s.URL("m-0", serve.ISO)); got.Code != 200 {
			t.Fatalf("status %d", got.Code)
		}
	}
	clk.pass(61 * time.Minute)
	if got := ask(s, "HEAD", s.URL("m-0", serve.ISO)); got.Code != 404 {
		t.Errorf("status %d", got.Code)
	}
	set(t, s, "m-0", iso(overlay.Bytes([]byte("image"))))
	if got := ask(s, "HEAD", s.URL("m-0", serve.ISO)); got.Code != 200 {
		t.Errorf("status %d", got.Code)
	}
}

func TestAccessIsReported(t *testing.T) {
	var got []serve.Access
	clk := newClock()
	s := newServer(t, serve.Config{Clock: clk, Access: func(a serve.Access) { got = append(got, a) }})
	set(t, s, "m-0", iso(overlay.Bytes(random(100, 1))))
	ask(s, "GET", s.URL("m-0", serve.ISO), "Range", "bytes=0-9")
	ask(s, "GET", "/i/secret.iso")
	if len(got) != 2 {
		t.Fatalf("%d reports", len(got))
	}
	first := serve.Access{
		Time: clk.Now(), Client: got[0].Client, Method: "GET", Host: "m-0", Kind: serve.ISO, Status: 206, Bytes: 10,
	}
	if got[0] != first || got[0].Client.String() != "192.0.2.1" {
		t.Errorf("%+v", got[0])
	}
	if got[1].Host != "" || got[1].Status != 404 {
		t.Errorf("%+v", got[1])
	}
}

func TestMetrics(t *testing.T) {
	for name, hosts := range map[string]bool{"without hosts": false, "with hosts": true} {
		clk := newClock()
		s := newServer(t, serve.Config{Clock: clk, HostMetrics: hosts})
		set(t, s, "m\"0\\", iso(overlay.Bytes(random(100, 1))))
		url := s.URL("m\"0\\", serve.ISO)
		ask(s, "GET", url, "Range", "bytes=0-9")
		ask(s, "GET", url, "Range", "bytes=5-14")
		ask(s, "GET", "/nothing")
		text := ask(s, "GET", "/metrics").Body.String()
		for _, line := range []string{
			`oaictl_media_requests_total{code="206"} 2`, `oaictl_media_requests_total{code="404"} 1`,
			"oaictl_media_sent_bytes_total 20", "oaictl_media_hosts 1", "# TYPE oaictl_media_connections gauge",
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("%s: no line %s in\n%s", name, line, text)
			}
		}
		if strings.Contains(text, `oaictl_media_host_fetched_bytes{host="m\"0\\"} 15`+"\n") != hosts {
			t.Errorf("%s:\n%s", name, text)
		}
		if id := strings.TrimSuffix(strings.TrimPrefix(url, "/i/"), ".iso"); strings.Contains(text, id) {
			t.Errorf("%s: an id is told", name)
		}
	}
}
