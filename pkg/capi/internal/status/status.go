// Package status writes the status of objects: all that differs in one request, and not each word that an
// installation changes on its way.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/clock"
)

// How often what is said of progress is written at most: at first, and where nothing but that has changed for long.
const (
	every  = 15 * time.Minute
	seldom = 30 * time.Minute
)

// Writer writes statuses. It is safe for concurrent use.
type Writer struct {
	clock clock.Clock

	mu   sync.Mutex
	last map[types.UID]written
}

// written is what was last written of an object, and when.
type written struct {
	at    time.Time
	since time.Time // when more than words was last written
	made  string    // the version of the object since then
	mark  uint64    // of the status that it was given, words included
}

// New makes a Writer that measures time by a clock.
func New(c clock.Clock) *Writer {
	return &Writer{clock: c, last: map[types.UID]written{}}
}

// Write writes the status of an object where it differs from what it was before. Where only words differ, which
// are messages of conditions and fields below status that are progress, it is left for later if something
// was written just before: again is then in how much real time to come back. What a cache still shows as it
// was before the last write is not written again.
func (w *Writer) Write(ctx context.Context, c client.Client, before, after client.Object, progress ...string) (wrote bool, again time.Duration, err error) {
	if reflect.DeepEqual(statusField(before).Interface(), statusField(after).Interface()) { // as almost always
		return false, 0, nil
	}
	was, err := statusOf(before)
	if err != nil {
		return false, 0, err
	}
	is, err := statusOf(after)
	if err != nil || reflect.DeepEqual(was, is) {
		return false, 0, err
	}
	mark, err := markOf(is)
	if err != nil {
		return false, 0, err
	}
	w.mu.Lock()
	last, known := w.last[after.GetUID()]
	w.mu.Unlock()
	if known && last.mark == mark && last.isNewerThan(before.GetResourceVersion()) {
		return false, 0, nil
	}
	now := w.clock.Now()
	strip(was, progress)
	strip(is, progress)
	since := now
	if reflect.DeepEqual(was, is) && known {
		if left := min(max(last.at.Sub(last.since), every), seldom) - now.Sub(last.at); left > 0 {
			return false, w.clock.Wall(left) + time.Millisecond, nil
		}
		since = last.since
	}
	if err := c.Status().Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return false, 0, client.IgnoreNotFound(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[after.GetUID()] = written{at: now, since: since, made: after.GetResourceVersion(), mark: mark}
	return true, 0, nil
}

// isNewerThan reports whether it was written after an object had this version.
func (w written) isNewerThan(version string) bool {
	order, err := resourceversion.CompareResourceVersion(w.made, version)
	return err == nil && order > 0
}

// Forget drops what is known of an object that is gone.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, uid)
}

// statusField is the status of an object: a pointer to it.
func statusField(o client.Object) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName("Status").Addr()
}

func statusOf(o client.Object) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(statusField(o).Interface())
	if err != nil {
		return nil, fmt.Errorf("look at the status of %s: %w", o.GetName(), err)
	}
	return fields, nil
}

// markOf stands for a status, but for when its conditions came to be.
func markOf(status map[string]any) (uint64, error) {
	status = runtime.DeepCopyJSON(status)
	conditions, _ := status["conditions"].([]any)
	for _, each := range conditions {
		if condition, is := each.(map[string]any); is {
			delete(condition, "lastTransitionTime")
		}
	}
	data, err := json.Marshal(status)
	sum := fnv.New64a()
	_, _ = sum.Write(data) // it never fails
	return sum.Sum64(), err
}

// strip takes out of a status what is words: the fields that are progress, and the messages of its conditions.
func strip(status map[string]any, progress []string) {
	for _, field := range progress {
		delete(status, field)
	}
	conditions, _ := status["conditions"].([]any)
	for _, each := range conditions {
		if condition, is := each.(map[string]any); is {
			delete(condition, "message")
		}
	}
}
