//go:build linux

package installer

import (
	"testing"

	"github.com/openshift/assisted-service/models"
)

func FuzzLayout(f *testing.F) {
	f.Add([]byte(lsblkOutput))
	f.Add([]byte(`{"blockdevices":[{"path":"/dev/a","size":-1,"children":[{"path":"/dev/a4","partlabel":"root","size":9223372036854775807}]}]}`))
	f.Add([]byte(`{"blockdevices":[{"path":"/dev/a","size":10,"children":[{"size":9223372036854775807},{"size":9223372036854775807}]}]}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		disk, err := parseLayout(output)
		if err != nil {
			return
		}
		if root, err := disk.find(labelRoot); err == nil && !deviceName(root.Path) {
			t.Errorf("the partition %q is taken", root.Path)
		}
		if free := disk.freePercent(1 << 30); free < 0 || free > wholePercent {
			t.Errorf("%d percent are free", free)
		}
	})
}

func FuzzRsyncProgress(f *testing.F) {
	f.Add([]byte("     1.00G  40%  100.00MB/s    0:00:10\r     2.00G 100%  100.00MB/s    0:00:20\n"))
	f.Add([]byte(" 999% "))
	f.Fuzz(func(t *testing.T, output []byte) {
		p := &rsyncProgress{reporter: &reporter{news: make(chan int, 1)}}
		if n, err := p.Write(output); n != len(output) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if p.seen < 0 || p.seen > wholePercent {
			t.Errorf("%d percent", p.seen)
		}
	})
}

func FuzzInventory(f *testing.F) {
	f.Add(`{"hostname":"a","disks":[{"path":"/dev/vda"},null],"interfaces":[{"ipv4_addresses":["192.0.2.1/24","x"]},null]}`)
	f.Fuzz(func(t *testing.T, inventory string) {
		host := &models.Host{Inventory: inventory}
		if disk, err := inventoryDisk(host, "/dev/vda"); err == nil && disk == nil {
			t.Error("no disk is taken for one")
		}
		for _, address := range readHost(host).addresses {
			if !address.IsValid() || address.Is4In6() {
				t.Errorf("the address %s", address)
			}
		}
	})
}
