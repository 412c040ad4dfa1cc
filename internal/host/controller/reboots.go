//go:build linux

package controller

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"
)

const (
	rebootsEvent    = "reboots_for_node"
	rebootsInterval = 15 * time.Second
	rebootsLimit    = 6 * time.Minute
	rebootsFile     = "wtmp"
	rebootsSize     = 4 << 20 // bytes of that file
)

// countReboots tells the service how often a node has been booted before it was ready. It does not wait for that.
func (c *Controller) countReboots(node string, h *host) {
	if !c.Config.CountsReboots {
		return
	}
	c.running.Go(func() {
		ctx, cancel := context.WithTimeout(c.counting, c.Clock.Wall(rebootsLimit))
		defer cancel()
		var boots int
		err := c.wait(ctx, waiting{"the number of reboots of " + node, rebootsInterval, rebootsLimit}, func(ctx context.Context) error {
			admin, err := c.administrator(ctx)
			if err != nil {
				return err
			}
			content, err := admin.NodeFile(ctx, node, rebootsFile, rebootsSize)
			if err == nil {
				boots, err = countBoots(content)
			}
			return err
		})
		if err == nil {
			err = c.Service.TriggerEvent(ctx, c.rebootsOf(node, h, boots))
		}
		if err != nil {
			c.Log.Error("could not report how often a node was rebooted", word("node", node), said(err))
			return
		}
		c.Log.Info("reported how often a node was rebooted", word("node", node), slog.Int("reboots", boots))
	})
}

func (c *Controller) rebootsOf(node string, h *host, boots int) *models.Event {
	severity, infraEnv, at := models.EventSeverityInfo, h.InfraEnvID, strfmt.DateTime(c.Clock.Now())
	message := fmt.Sprintf("Node %s has been rebooted %d times before completing installation", node, boots)
	return &models.Event{
		Name: rebootsEvent, Category: models.EventCategoryUser, Severity: &severity, Message: &message, EventTime: &at,
		HostID: h.ID, InfraEnvID: &infraEnv, ClusterID: h.ClusterID,
	}
}

// The form of a record in wtmp, as utmp(5) has it for Linux. Its first field is the type.
const (
	recordSize = 384
	bootRecord = 2
)

// countBoots counts the records of boots in a file wtmp, which are what "last reboot" prints. Records at its end that are cut
// off are left out.
func countBoots(content []byte) (int, error) {
	if len(content) < recordSize {
		return 0, errors.New("the file has no record")
	}
	boots := 0
	for ; len(content) >= recordSize; content = content[recordSize:] {
		if binary.LittleEndian.Uint16(content) == bootRecord {
			boots++
		}
	}
	return boots, nil
}
