package nodeplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Marks answers what the nodes of hosts lack of what the file says of them, and nothing else.
func Marks(q Question) Answer {
	a := newAsker(q)
	for _, h := range q.Hosts {
		if node := a.node(h); node != nil && !node.Deleting && !node.Leaving {
			a.mark(h, node)
		}
	}
	return a.answer
}

// mark gives a node what the file says of it: labels, taints, and the provider id that Cluster
// API needs. What the file does not name stays as it is.
func (a *answerBuilder) mark(h Host, node *model.Node) {
	if h.Want == nil {
		return
	}
	settings := model.Settings{}
	var changes []model.Change
	change := func(name model.Setting, value any, from, to string) {
		settings[name] = model.ValueOf(value)
		changes = append(changes, model.Change{Field: "spec.hosts[" + h.Name + "]." + string(name), From: from, To: to})
	}
	labels := map[string]string{}
	var had []string
	wanted := maps.Clone(h.Want.Labels)
	if p := a.spoke.Pool(h.Want.MachineConfigPool); p != nil && len(p.Labels) > 0 { // without which it goes back to the pool of its role
		wanted = maps.Clone(p.Labels)
		maps.Copy(wanted, h.Want.Labels)
	}
	for key, value := range wanted {
		if is, has := node.Labels[key]; !has || is != value {
			labels[key] = value
			if has {
				had = append(had, key+"="+is)
			}
		}
	}
	if len(labels) > 0 {
		slices.Sort(had)
		change(model.SettingLabels, labels, strings.Join(had, ", "), labelText(labels))
	}
	if taints, texts := missingTaints(h, node); len(taints) > 0 {
		change(model.SettingTaints, taints, "", strings.Join(texts, ", "))
	}
	switch want := h.Want.ProviderID; {
	case want == "" || want == node.ProviderID:
	case node.ProviderID == "":
		change(model.SettingProviderID, want, "", want)
	default:
		a.warn(model.Warning{
			Key: string(scopeOf(h)) + "/providerID", Scope: scopeOf(h), Reason: "Drift",
			Message: fmt.Sprintf("the node %s has the provider id %s, but %s has %s; the provider id of a node cannot be changed",
				node.Name, node.ProviderID,
				a.Desired.Source(), want),
		})
	}
	if len(settings) == 0 {
		return
	}
	a.act(model.Action{
		Key: string(scopeOf(h)) + "/update", Scope: scopeOf(h), Kind: model.UpdateNode, Target: node.UID, Name: node.Name,
		Reason: "the node differs from " + a.Desired.Source(), Settings: settings, Changes: changes,
	})
}

// missingTaints are those of the file that the node has not, and how each is written.
func missingTaints(h Host, node *model.Node) (missing []spec.Taint, texts []string) {
	for _, taint := range h.Want.Taints {
		if slices.Contains(node.Taints, taint) {
			continue
		}
		missing = append(missing, taint)
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		texts = append(texts, text+":"+string(taint.Effect))
	}
	return missing, texts
}

func labelText(labels map[string]string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		texts = append(texts, key+"="+labels[key])
	}
	return strings.Join(texts, ", ")
}
