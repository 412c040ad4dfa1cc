package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// How long a run waits for deletions, and how often it reports the wait.
const (
	Timeout        = 10 * time.Minute // how long the controllers of a hub may take to remove finalizers of deleted objects
	reportInterval = 10 * time.Second // how long such a wait says nothing, at first and after each note
)

// gone waits until objects are deleted. A new object that takes the name of one, such as the Agent of a machine that
// registers again, does not count. Those that stay are reported with their finalizers, whenever they become fewer and
// when ctx ends. The error names them, too, unless the hub itself does not answer.
func (w *Deleter) gone(ctx context.Context, all ...*unstructured.Unstructured) error {
	for range all {
		w.found()
	}
	began := w.Clock.Now()
	last, said := began, ""
	for {
		left := w.left(all)
		if len(left) == 0 {
			return nil
		}
		now := w.Clock.Now()
		over := now.Sub(began) >= Timeout
		text := "waiting for " + strings.Join(held(left, " (of %s)"), "; ")
		var unwatched *model.Fault
		switch err := w.Failing(w.Namespace); {
		case errors.As(err, &unwatched) && (over || unwatched.Permanent):
			return unwatched
		case over:
			return stuckFault(left)
		case unwatched != nil:
			text = "the hub does not answer: " + unwatched.Error()
		}
		if text != said && now.Sub(last) >= reportInterval {
			w.report(text)
			last, said = now, text
		}
		if err := w.Clock.Sleep(ctx, time.Second/4); err != nil {
			w.report("stopped while " + text + "; the same command continues from there")
			return err
		}
	}
}

// left are those of the objects that are still there, as they are now.
func (w *Deleter) left(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	var left []*unstructured.Unstructured
	for _, u := range all {
		if now := w.Namespace.Store(kube.Kind(u.GetKind())).Get(u.GetName()); now != nil && now.GetUID() == u.GetUID() {
			left = append(left, now)
		}
	}
	return left
}

func stuckFault(left []*unstructured.Unstructured) *model.Fault {
	return &model.Fault{
		Code: model.CodeTimeout, Op: "delete", On: left[0].GetNamespace() + "/" + left[0].GetName(),
		Err:  fmt.Errorf("still there after %s: %s", Timeout, strings.Join(held(left, ": %s is down"), "; ")),
		Next: stuckAdvice(left),
	}
}

// stuckAdvice is what to do about objects that stay. Where their controllers are gone for good, a
// person may take the finalizers off: oaictl does not, since nothing is cleaned up then.
func stuckAdvice(left []*unstructured.Unstructured) model.Advice {
	next := model.Advice("bring that controller up again, and run the same command again")
	var commands []string
	for _, u := range left {
		if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) > 0 && len(commands) < mostNamed {
			commands = append(commands, fmt.Sprintf("kubectl patch %s -n %s %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'",
				strings.ToLower(u.GetKind()), u.GetNamespace(), u.GetName()))
		}
	}
	if len(commands) == 0 {
		return next
	}
	return next + model.Advicef("%s", "; if it is gone for good, and only then, take the finalizers off by hand, which cleans nothing up: "+
		strings.Join(commands, "; "))
}

// mostNamed is how many objects that wait for the same are named one by one.
const mostNamed = 5

// held names objects with the finalizers that hold them; objects of one kind with the same finalizers are named
// together. whose says which component owns a finalizer.
func held(left []*unstructured.Unstructured, whose string) []string {
	names := map[string][]string{}
	var order []string
	for _, u := range left {
		key := u.GetKind() + " %s" + strings.ReplaceAll(kube.HeldBy(u, whose), "%", "%%")
		if names[key] == nil {
			order = append(order, key)
		}
		names[key] = append(names[key], u.GetName())
	}
	texts := make([]string, 0, len(order))
	for _, key := range order {
		some := names[key]
		if more := len(some) - mostNamed; more > 0 {
			some = append(slices.Clone(some[:mostNamed]), fmt.Sprintf("%d more", more))
		}
		texts = append(texts, fmt.Sprintf(key, strings.Join(some, ", ")))
	}
	return texts
}
