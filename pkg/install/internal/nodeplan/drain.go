package nodeplan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// evictAgain is how long a pod is left alone that could not be evicted, as kubectl does.
const evictAgain = 5 * time.Second

// eviction makes the pods of one node leave.
type eviction struct{ *departingNode }

func (t *departingNode) hasPods() bool { return t.drain == nil || len(t.drain.Pods) > 0 }

// podsText is what becomes of a node's pods.
func (t eviction) podsText() string {
	if t.drain == nil {
		return "evict its pods"
	}
	verb := "evict"
	if t.Desired.Options.Remove.Drain.DisableEviction {
		verb = "delete"
	}
	all := make([]string, 0, len(t.drain.Pods))
	for i := range t.drain.Pods {
		all = append(all, t.drain.Pods[i].ID())
	}
	return fmt.Sprintf("%s %s: %s", verb, listtext.CountText(len(all), "pod"), listtext.ListText(all))
}

// evict makes the pods of a node leave, in rounds: those that were not asked yet, and again
// those that could not go.
func (t eviction) evict() {
	if t.drain == nil {
		t.wait(model.Wait{Key: t.key("pods"), Scope: t.scope(), Who: model.WhoService, For: "the pods of " + t.nodeName + " to be known"})
		return
	}
	t.held()
	if t.overdue() {
		t.block(model.Blocker{
			Key: t.key("drain"), Scope: t.scope(), Reason: "NotDrained", Cure: model.CureTime, Hosts: []string{t.Name},
			Message: fmt.Sprintf("%s was not drained in %s: %s", t.nodeName, t.Desired.Options.Remove.Drain.Timeout, t.drainText()),
			Remedy:  "find out why these pods do not end, and run the same command again, which continues from here",
		})
		return
	}
	due := slices.ContainsFunc(t.drain.Pods, func(p model.Pod) bool {
		return p.Deleting.IsZero() && (p.Refused.IsZero() || t.Now.Sub(p.Refused) >= evictAgain)
	})
	if due {
		t.act(t.doing(model.EvictPods, "evict", t.node.Name, t.node.UID, t.podsText(), true))
	}
	w := model.Wait{Key: t.key("drain"), Scope: t.scope(), Who: model.WhoService, For: t.nodeName + " to be drained: " + t.drainText()}
	if !t.node.Ready {
		w.Next = "its kubelet does not answer, so its pods do not end; to continue without them, run the same command again with " +
			"--skip-wait-for-delete-timeout 60"
	}
	t.wait(w)
}

// overdue reports whether pods have been made to leave for longer than they may take.
func (t eviction) overdue() bool {
	within, since := t.Desired.Options.Remove.Drain.Timeout, t.Memory.Leaving[t.nodeName].Draining
	return within > 0 && !since.IsZero() && !t.Memory.LastObserved.Before(since.Add(within))
}

// drainText is which pods are still on a node, and why.
func (t eviction) drainText() string {
	var held, going, others []string
	for i := range t.drain.Pods {
		switch p := &t.drain.Pods[i]; {
		case !p.Deleting.IsZero():
			going = append(going, p.ID())
		case p.Refusal != "":
			held = append(held, p.ID()+" "+heldBy(p)+" since "+p.Held.UTC().Format("15:04"))
		default:
			others = append(others, p.ID())
		}
	}
	var parts []string
	for _, part := range []struct {
		pods []string
		text string
	}{{held, ""}, {going, "ending: "}, {others, "not evicted yet: "}} {
		if len(part.pods) > 0 {
			parts = append(parts, part.text+listtext.ListText(part.pods))
		}
	}
	return strings.Join(parts, "; ")
}

// heldBy is what keeps a pod from being evicted.
func heldBy(p *model.Pod) string {
	if p.Budget != "" {
		return "is protected by the PodDisruptionBudget " + p.Budget
	}
	return "cannot be evicted: " + p.Refusal
}

// held reports pods that could not be evicted, each once.
func (t eviction) held() {
	for i := range t.drain.Pods {
		p := &t.drain.Pods[i]
		if p.Refusal == "" || !p.Deleting.IsZero() {
			continue
		}
		next := model.Advicef("kubectl -n %s describe pod %s", listtext.Quoted(p.Namespace), listtext.Quoted(p.Name))
		if p.Budget != "" {
			next = model.Advicef("kubectl -n %s describe poddisruptionbudget %s", listtext.Quoted(p.Namespace), listtext.Quoted(p.Budget))
		}
		t.warn(model.Warning{
			Key: t.key("held/" + p.ID()), Scope: t.scope(), Reason: "PodHeld", Next: next,
			Message: fmt.Sprintf("the pod %s cannot be evicted from %s: it %s; oaictl tries again", p.ID(), t.nodeName, heldBy(p)),
		})
	}
}

// drainRefused is why pods are not evicted as things stand, nil where all are.
func (t refusals) drainRefused() *model.Blocker {
	if t.drain == nil || len(t.drain.Refused) == 0 {
		return nil
	}
	var texts, flags []string
	for _, refused := range t.drain.Refused {
		texts = append(texts, refused.Reason+": "+listtext.ListText(refused.Pods))
		for _, flag := range []string{"--ignore-daemonsets", "--delete-emptydir-data", "--force"} {
			if strings.Contains(refused.Reason, flag) && !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	b := &model.Blocker{
		Key: t.key("drain-refused"), Scope: t.scope(), Reason: "DrainRefused", Cure: model.CureNow, Hosts: []string{t.Name},
		Message: fmt.Sprintf("%s is not drained: %s", t.nodeName, strings.Join(texts, "; ")),
		Remedy:  "move or delete these pods, and run the same command again",
	}
	if len(flags) > 0 {
		b.Remedy = model.Advice("run the same command again with " + strings.Join(flags, " "))
	}
	return b
}
