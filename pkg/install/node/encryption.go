package node

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// readEncryption says of each pool how the config that it gives to new machines encrypts disks.
// Such configs are large, and never change: each is read once.
func (c *connection) readEncryption(ctx context.Context, pools []model.Pool) error {
	if c.luks == nil {
		c.luks = map[string]*model.DiskEncryption{}
	}
	for i := range pools {
		name := pools[i].Served
		if _, known := c.luks[name]; !known && name != "" {
			config, err := c.Dynamic.Resource(machineConfigs).Get(ctx, name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err): // it is being rendered
				continue
			case apierrors.IsForbidden(err): // then nothing is said of it
				c.luks[name] = nil
				continue
			case err != nil:
				return fmt.Errorf("read its machine config %s: %w", name, err)
			}
			c.luks[name] = encryptionIn(config)
		}
		pools[i].Encryption = c.luks[name]
	}
	return nil
}

// encryptionIn is how a rendered config encrypts disks: those that nothing but a passphrase of
// the config itself unlocks need nothing of the machine.
func encryptionIn(config *unstructured.Unstructured) *model.DiskEncryption {
	var e model.DiskEncryption
	volumes, _, _ := unstructured.NestedSlice(config.Object, "spec", "config", "storage", "luks")
	for _, entry := range volumes {
		volume, _ := entry.(map[string]any)
		clevis, _, _ := unstructured.NestedMap(volume, "clevis")
		if tpm, _ := clevis["tpm2"].(bool); tpm {
			e.TPM = true
		}
		servers, _, _ := unstructured.NestedSlice(clevis, "tang")
		for _, server := range servers {
			fields, _ := server.(map[string]any)
			if url, _ := fields["url"].(string); url != "" && !slices.Contains(e.Tang, url) {
				e.Tang = append(e.Tang, url)
			}
		}
		if pin, _, _ := unstructured.NestedString(clevis, "custom", "pin"); pin != "" && !slices.Contains(e.Pins, pin) {
			e.Pins = append(e.Pins, pin)
		}
	}
	if !e.TPM && e.Tang == nil && e.Pins == nil {
		return nil
	}
	return &e
}
