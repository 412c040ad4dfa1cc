//go:build linux

package main

import (
	"context"
	"fmt"

	"github.com/oaictl/oaictl/internal/host/installer"
	"github.com/oaictl/oaictl/internal/host/kube"
)

// installerKube is the new cluster as the installer sees it.
type installerKube struct{ cluster *kube.Client }

const roleLabel = "node-role.kubernetes.io/"

// Nodes implements installer.Kube.
func (k installerKube) Nodes(ctx context.Context, role string) ([]installer.Node, error) {
	all, err := k.cluster.Nodes(ctx)
	var nodes []installer.Node
	for _, node := range all {
		if _, has := node.Labels[roleLabel+role]; has {
			nodes = append(nodes, installer.Node{
				Name: node.Name, InternalIPs: node.Addresses(), Ready: node.Ready(), Annotations: node.Annotations,
			})
		}
	}
	return nodes, err
}

// ConfigMap implements installer.Kube.
func (k installerKube) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	return k.cluster.ConfigMap(ctx, namespace, name)
}

// Events implements installer.Kube.
func (k installerKube) Events(ctx context.Context, namespace string) ([]installer.Event, error) {
	all, err := k.cluster.Events(ctx, namespace)
	var events []installer.Event
	for _, event := range all {
		events = append(events, installer.Event{Name: event.Name, UID: event.UID, Message: event.Message})
	}
	return events, err
}

// HasMachineConfig implements installer.Kube.
func (k installerKube) HasMachineConfig(ctx context.Context, name string) (bool, error) {
	_, err := k.cluster.MachineConfig(ctx, name)
	if kube.NotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// RemoveTaint implements installer.Kube.
func (k installerKube) RemoveTaint(ctx context.Context, name, key string) error {
	all, err := k.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range all {
		if node.Name == name {
			return k.cluster.RemoveTaint(ctx, node, key)
		}
	}
	return fmt.Errorf("there is no node %q", name)
}
