package hub

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// infraEnvOf is an InfraEnv as a neutral one. configs are the NMStateConfigs of
// its namespace, of which it selects its own. Its version is that of the cluster
// that it is bound to, which no field of it says.
func infraEnvOf(u *unstructured.Unstructured, configs []*unstructured.Unstructured, cluster string) (install.InfraEnv, error) {
	wire, err := kube.Read[agentinstall.InfraEnv](u)
	if err != nil {
		return install.InfraEnv{}, err
	}
	env := install.InfraEnv{
		ID: kube.ID(u.GetNamespace(), u.GetName()), Name: u.GetName(), Created: u.GetCreationTimestamp().Time,
		Owned: cluster != "" && u.GetLabels()[hubapi.LabelCluster] == cluster,
		Image: imageOf(wire),
	}
	if ref := wire.Spec.ClusterRef; ref != nil && ref.Name != "" {
		env.ClusterID = kube.ID(cmp.Or(ref.Namespace, u.GetNamespace()), ref.Name)
	}
	if selector := wire.Spec.NMStateConfigLabelSelector; selector != nil {
		configs = selected(configs, selector.MatchLabels)
	} else {
		configs = nil
	}
	env.Image.Created = kube.SpecChanged(u)
	for _, config := range configs {
		if at := kube.SpecChanged(config); at.After(env.Image.Created) {
			env.Image.Created = at
		}
	}
	env.Settings = hubobjects.InfraEnvTable().Settings(u.Object)
	networks, err := staticNetworks(configs)
	if err == nil && len(networks) > 0 {
		env.Settings[setting.StaticNetworks] = setting.ValueOf(networks)
	}
	return env, err
}

// staticNetworks are NMStateConfigs as networks of machines, by first MAC.
func staticNetworks(configs []*unstructured.Unstructured) ([]setting.StaticNetwork, error) {
	networks := make([]setting.StaticNetwork, 0, len(configs))
	for _, u := range configs {
		wire, err := kube.Read[agentinstall.NMStateConfig](u)
		if err != nil {
			return nil, err
		}
		document, err := json.Marshal(wire.Spec.Config) // which is YAML too, and quicker to write and to compare
		if err != nil {
			return nil, err
		}
		network := setting.StaticNetwork{YAML: string(document), MACs: []spec.NIC{}}
		for _, i := range wire.Spec.Interfaces {
			network.MACs = append(network.MACs, spec.NIC{MAC: strings.ToLower(i.MACAddress), Name: i.Name})
		}
		networks = append(networks, network)
	}
	plane.SortNetworks(networks)
	return networks, nil
}

// selected are the objects that labels select; no labels select none.
func selected(objects []*unstructured.Unstructured, labels map[string]string) []*unstructured.Unstructured {
	if len(labels) == 0 {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, u := range objects {
		has := u.GetLabels()
		fits := true
		for key, value := range labels {
			fits = fits && has[key] == value
		}
		if fits {
			out = append(out, u)
		}
	}
	return out
}

// imageOf is the discovery image of an InfraEnv.
func imageOf(wire *agentinstall.InfraEnv) install.Image {
	c := find(wire.Status.Conditions, hubapi.ConditionImageCreated)
	image := install.Image{State: model.ImagePending, URL: wire.Status.ISODownloadURL, Type: wire.Spec.ImageType, Expires: expiry(wire.Status.ISODownloadURL)}
	switch {
	case c.isTrue() && wire.Status.ISODownloadURL != "":
		image.State = model.ImageReady
	case c.isTrue() && c.Reason == hubapi.ReasonInfraEnvAvailable:
		image.Info = "the hub makes none: its AgentServiceConfig switches the image service off, by " + hubapi.AnnotationEnableImageService
	case c.isFalse() && c.Reason == hubapi.ReasonImageCreationError:
		image.State, image.Info = model.ImageFailed, c.Message
	case !c.isTrue():
		image.Info = c.Message
	}
	return image
}

// expiry is when an image's URL ends, from the token in it (RFC 7519, exp);
// zero where it has none or never ends.
func expiry(address string) time.Time {
	parsed, err := url.Parse(address)
	if err != nil {
		return time.Time{}
	}
	candidates := []string{parsed.Query().Get("image_token"), parsed.Query().Get("api_key")}
	for i, part := range strings.Split(parsed.Path, "/") {
		if i > 0 && strings.Count(part, ".") == 2 {
			candidates = append(candidates, part)
		}
	}
	for _, token := range candidates {
		fields := strings.Split(token, ".")
		if len(fields) != 3 {
			continue
		}
		data, err := base64.RawURLEncoding.DecodeString(fields[1])
		if err != nil {
			continue
		}
		var claims struct {
			Ends int64 `json:"exp"`
		}
		if json.Unmarshal(data, &claims) == nil && claims.Ends > 0 {
			return time.Unix(claims.Ends, 0).UTC()
		}
	}
	return time.Time{}
}
