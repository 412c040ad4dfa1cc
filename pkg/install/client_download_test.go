package install_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
)

// A download that breaks goes on where it broke.
func TestClientTakesUpDownloads(t *testing.T) {
	service := rackOfTwo()
	service.image, service.part = strings.Repeat("iso", 100), 70
	var out bytes.Buffer
	var broken []int64
	client := install.New(service, install.Config{Clock: &standing{}})
	err := client.DownloadISO(t.Context(), "e1", &out, func(done int64, _ error) { broken = append(broken, done) })
	if err != nil || out.String() != service.image || !slices.Equal(broken, []int64{70, 140, 210, 280}) {
		t.Errorf("%d bytes, broken at %v, %v", out.Len(), broken, err)
	}
}

// standing is a clock whose sleeps take no time.
type standing struct{}

func (standing) Now() time.Time { return time.Time{} }

func (standing) Sleep(context.Context, time.Duration) error { return nil }
