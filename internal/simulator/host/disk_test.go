package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"
)

// provisioned is a board of a machine whose disk others write.
type provisioned struct {
	board

	times  int
	system *DiskSystem
}

func (p *provisioned) Written() (int, *DiskSystem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.times, p.system
}

func (p *provisioned) write(system *DiskSystem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times++
	p.system = system
}

// userData runs an agent, and calls the machine what its config drive says.
func userData(service string) []byte {
	return fmt.Appendf(nil, `{"ignition": {"version": "3.1.0"}, "systemd": {"units": [
		{"name": "agent.service", "enabled": true, "contents": "[Service]\nExecStart=/usr/local/bin/agent --url %s --infra-env-id %s\n"},
		{"name": "name.service", "enabled": true, "contents": "[Service]\nExecStart=/usr/bin/hostnamectl set-hostname $METADATA_NAME\n"}]}}`, service, fakeInfraEnv)
}

// TestMachineBootsWhatIsOnItsDisk provisions a machine that was added to a running fleet,
// installs it, takes it back and provisions it again.
func TestMachineBootsWhatIsOnItsDisk(t *testing.T) {
	var mu sync.Mutex
	var log strings.Builder
	fake := newFake(t, 1, 1)
	var inventories []models.StepReply
	var status string
	inBubble(t, fake, 6*time.Hour, func(ctx context.Context, t *testing.T, cfg Config) {
		cfg.Open = true
		cfg.Logf = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&log, format+"\n", args...)
		}
		fleet, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := &provisioned{board: board{changed: make(chan struct{})}}
		for at, do := range map[time.Duration]func(){
			time.Minute: func() {
				list := machines(t, 1)
				list[0].Chassis = p
				if err := fleet.Add(list[0]); err != nil {
					t.Error(err)
				}
				if err := fleet.Add(list[0]); err == nil {
					t.Error("the same machine is added twice")
				}
				p.turn(true) // with nothing on its disk
			},
			2 * time.Minute: func() {
				p.write(&DiskSystem{UserData: userData(serviceAddress), MetaData: map[string]string{"name": "named-by-drive"}})
				p.turn(true)
			},
			4 * time.Hour: func() { p.turn(false); p.write(nil) },
			4*time.Hour + time.Minute: func() {
				p.write(&DiskSystem{UserData: []byte(`{"ignition": {"version": "3.1.0"}}`)})
				p.turn(true)
			},
			5 * time.Hour: func() {
				fake.mu.Lock()
				inventories, status = fake.hosts[fake.order[0]].replies[models.StepTypeInventory], fake.hosts[fake.order[0]].status
				fake.mu.Unlock()
				p.write(&DiskSystem{UserData: userData(serviceAddress)})
				p.turn(true)
			},
		} {
			time.AfterFunc(at, do)
		}
		if err := fleet.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	h := fake.hosts[fake.order[0]]
	if h.registrations != 2 || status != "installed" {
		t.Errorf("it registered %d times, and is %s", h.registrations, status)
	}
	for _, says := range []string{"finds nothing to boot", "boots the discovery system on its disk", "boots from its disk", "runs no discovery agent"} {
		if !strings.Contains(log.String(), says) {
			t.Errorf("nobody says %q:\n%s", says, log.String())
		}
	}
	var inventory models.Inventory
	if len(inventories) == 0 || json.Unmarshal([]byte(inventories[0].Output), &inventory) != nil {
		t.Fatal("it told no inventory")
	}
	if inventory.Hostname != "named-by-drive" || inventory.Boot.DeviceType != models.BootDeviceTypePersistent {
		t.Errorf("it is called %s, and boots from a disk that is %s", inventory.Hostname, inventory.Boot.DeviceType)
	}
}
