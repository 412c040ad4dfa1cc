package objects

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// NMStateConfig is the static network of a host, found by the InfraEnv by its
// label; nil for a host that uses DHCP.
func (h *Maker) NMStateConfig(infraEnv string, host *spec.Host) *unstructured.Unstructured {
	config, macs, ok, err := NMStateOf(h.Cluster, host)
	if err != nil {
		h.RefuseHost(host, "net.nmstate", err.Error(), "")
		return nil
	}
	if !ok {
		return nil
	}
	object := h.Object(kindNMStateConfig(), NMStateConfigName(h.Cluster, host.Name))
	addLabels(object, map[string]string{hubapi.LabelInfraEnv: infraEnv})
	object.Object["spec"] = Fields{"config": config, "interfaces": InterfaceFields(macs)}
	return object
}

// InterfaceFields are the names of interfaces and their MAC addresses as both
// NMStateConfig and the agent-based installer have them.
func InterfaceFields(macs []spec.MACInterface) []any {
	list := make([]any, len(macs))
	for i, mac := range macs {
		list[i] = Fields{"name": mac.LogicalName, "macAddress": mac.MAC}
	}
	return list
}

// NMStateOf is the static network of a host as an nmstate document. ok is false
// for a host that uses DHCP.
func NMStateOf(c *spec.Cluster, host *spec.Host) (config Fields, macs []spec.MACInterface, ok bool, err error) {
	text, macs, ok := c.StaticNetwork(host)
	if !ok {
		return nil, nil, false, nil
	}
	var document []byte
	if host.Net.NMState != nil {
		var own string
		own, err = host.Net.NMState.JSON()
		document = []byte(own)
	} else {
		document, err = yaml.YAMLToJSON([]byte(text))
	}
	if err == nil {
		err = json.Unmarshal(document, &config)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("the network of %s cannot be read: %w", host.Name, err)
	}
	return config, macs, true, nil
}
