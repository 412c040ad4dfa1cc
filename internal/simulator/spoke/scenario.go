package spoke

import (
	"fmt"
	"net/netip"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// TroubleOf is the trouble of a scenario's rules about the cluster (spec.cluster). A rule
// that names nothing, or addresses that are none, is an error with its line.
func TroubleOf(s *scenario.Scenario) (Trouble, error) {
	t := Trouble{DegradedOperators: map[string]string{}, DegradedPools: map[string]string{}, Kubelets: map[string]KubeletTrouble{}}
	for _, rule := range s.ClusterRules() {
		if err := t.add(rule); err != nil {
			return Trouble{}, fmt.Errorf("line %d: %s: %w", rule.Line, rule.Do, err)
		}
	}
	return t, nil
}

func (t *Trouble) add(rule scenario.Rule) error {
	name, reason := rule.Match.Name, rule.Args.String("reason", "trouble is simulated")
	switch {
	case rule.Do == scenario.DoRequest:
		return t.addRequest(rule)
	case name == "":
		return fmt.Errorf("match.name must name the node, pool or operator")
	case strings.ContainsAny(name, "*?["):
		return fmt.Errorf("match.name %q has to be a whole name", name)
	}
	kubelet := t.Kubelets[name]
	switch rule.Do {
	case scenario.DoReplay:
		t.Replays = append(t.Replays, Replay{Node: name, After: rule.At.After})
		return nil
	case scenario.DoPausePool:
		t.PausedPools = append(t.PausedPools, name)
		return nil
	case scenario.DoDegradePool:
		t.DegradedPools[name] = reason
		return nil
	case scenario.DoDegradeOperator:
		t.DegradedOperators[name] = reason
		return nil
	case scenario.DoRotate:
		kubelet.RotatesAfter = max(rule.At.After, 1)
	case scenario.DoNodeName:
		kubelet.Hostname = rule.Args.String("name", "localhost")
	case scenario.DoNodeNotReady:
		kubelet.NeverReady = rule.Args.String("reason", NoNetwork)
	case scenario.DoNodeAddresses:
		addresses, err := addressesIn(rule.Args)
		if err != nil {
			return err
		}
		kubelet.Addresses = addresses
	}
	t.Kubelets[name] = kubelet
	return nil
}

func (t *Trouble) addRequest(rule scenario.Rule) error {
	a := rule.Args
	r := Request{
		After: rule.At.After, Count: a.Int("count", 1), Node: a.String("node", ""), Serving: a.Bool("serving", false), User: a.String("user", ""),
		Groups: a.Strings("groups"), Organizations: a.Strings("organizations"), Names: a.Strings("names"),
	}
	if r.Node == "" {
		return fmt.Errorf("args.node has to say which node it is for")
	}
	for _, usage := range a.Strings("usages") {
		r.Usages = append(r.Usages, certificatesv1.KeyUsage(usage))
	}
	var err error
	r.Addresses, err = addressesIn(a)
	t.Requests = append(t.Requests, r)
	return err
}

func addressesIn(a scenario.Args) ([]netip.Addr, error) {
	var list []netip.Addr
	for _, text := range a.Strings("addresses") {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("args.addresses: %w", err)
		}
		list = append(list, address)
	}
	return list, nil
}
