package iso_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// One base, an image for each machine: nothing but what differs is kept in memory, and nothing of
// the base is copied where the filesystem shares blocks.
func Example() {
	ctx := context.Background()
	base, err := iso.Open("rhcos-live.iso")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer base.Close()
	config, err := os.ReadFile("discovery.ign")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []string{"node-0", "node-1"} {
		image, result, err := base.Customize(iso.Customization{
			Ignition: config,
			Hostname: map[string]string{"": host},
			Kargs:    iso.KargEdit{Append: []string{"console=ttyS0,115200n8"}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, warning := range result.Warnings {
			fmt.Println(warning)
		}
		if _, err := image.WriteFile(ctx, filepath.Join("out", host+".iso"), overlay.WriteOptions{}); err != nil {
			fmt.Println(err)
			return
		}
	}
}
