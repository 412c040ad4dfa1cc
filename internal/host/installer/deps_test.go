//go:build linux

package installer

import (
	"context"

	"github.com/oaictl/oaictl/internal/host/bootorder"
	"github.com/oaictl/oaictl/internal/host/disk"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/service"
)

// The real service, cluster, disks and firmware fit.
var (
	_ Service   = (*service.Client)(nil)
	_ Kube      = (*kube.Client)(nil)
	_ BootOrder = bootorder.Order{}
	_ Disks     = realDisks{}
	_ Fetcher   = HTTPFetcher{}
	_ Logs      = PodmanLogs{}
)

// realDisks shows how disk.Disks are used.
type realDisks struct{ disk.Disks }

func (d realDisks) Write(ctx context.Context, image Image) error {
	return d.Disks.Write(ctx, disk.Image(image))
}
