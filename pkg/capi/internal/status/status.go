// Package status writes the status of objects: one request for all differences. If only the text of a message differs, it
// is written seldom, because texts change often during an installation.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// How often a status with only new progress is written at most: at first, and where nothing but that has changed for
// long.
const (
	every  = 15 * time.Minute
	seldom = 30 * time.Minute
)

// stands is how long news have been the same before they are written: what passes by itself is not worth it.
const stands = 30 * time.Second

// Words are the parts of a status that are only texts, except messages of conditions, which all are.
type Words struct {
	// Progress are fields below status that are progress, as a.b.
	Progress []string
	// News are the types of the conditions with messages about what a person has to solve now. If such a message
	// disappears, that is news as well.
	News []string
}

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
	news  uint64    // of the news in it
	later later
}

// later are news that have not been written yet.
type later struct {
	mark uint64
	from time.Time // since when they have been the same
}

// New makes a Writer that measures time by a clock.
func New(c clock.Clock) *Writer {
	return &Writer{clock: c, last: map[types.UID]written{}}
}

// Write writes the status of an object where it differs from what it was before. Where only words differ, it is left
// for later: news until they have stood for a while, and progress if something was written just before. again is then
// in how much real time to come back. What a cache still shows as it was before the last write is not written again.
func (w *Writer) Write(ctx context.Context, c client.Client, before, after client.Object,
	words Words) (wrote bool, again time.Duration, err error) {
	if reflect.DeepEqual(statusField(before).Interface(), statusField(after).Interface()) { // as almost always
		w.note(after.GetUID(), later{})
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
	now, news := w.clock.Now(), newsOf(is, words.News)
	strip(was, words.Progress)
	strip(is, words.Progress)
	since := now
	if reflect.DeepEqual(was, is) && known {
		left := min(max(last.at.Sub(last.since), every), seldom) - now.Sub(last.at)
		waits := later{}
		if news != last.news {
			if waits = last.later; waits.mark != news || waits.from.IsZero() {
				waits = later{news, now}
			}
			left = min(left, stands-now.Sub(waits.from))
		}
		if left > 0 {
			w.note(after.GetUID(), waits)
			return false, w.clock.Wall(left) + time.Millisecond, nil
		}
		since = last.since
	}
	if err := c.Status().Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return false, 0, client.IgnoreNotFound(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[after.GetUID()] = written{at: now, since: since, made: after.GetResourceVersion(), mark: mark, news: news}
	return true, 0, nil
}

// note keeps which news of an object wait.
func (w *Writer) note(uid types.UID, waits later) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, known := w.last[uid]; known {
		last.later = waits
		w.last[uid] = last
	}
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

// markOf is a digest of a status, without the times of its conditions.
func markOf(status map[string]any) (uint64, error) {
	status = runtime.DeepCopyJSON(status)
	for _, condition := range conditionsOf(status) {
		delete(condition, "lastTransitionTime")
	}
	data, err := json.Marshal(status)
	sum := fnv.New64a()
	_, _ = sum.Write(data) // it never fails
	return sum.Sum64(), err
}

// conditionsOf are the conditions of a status.
func conditionsOf(status map[string]any) []map[string]any {
	all, _ := status["conditions"].([]any)
	conditions := make([]map[string]any, 0, len(all))
	for _, each := range all {
		if condition, is := each.(map[string]any); is {
			conditions = append(conditions, condition)
		}
	}
	return conditions
}

// newsOf is a digest of what the conditions of these types say; 0 where they say nothing.
func newsOf(status map[string]any, kinds []string) uint64 {
	sum, said := fnv.New64a(), false
	for _, condition := range conditionsOf(status) {
		kind, _ := condition["type"].(string)
		message, _ := condition["message"].(string)
		if message != "" && slices.Contains(kinds, kind) {
			_, _ = fmt.Fprintf(sum, "%q %q", kind, message) // it never fails
			said = true
		}
	}
	if !said {
		return 0
	}
	return sum.Sum64()
}

// strip takes out of a status what is words: the fields that are progress, and the messages of its conditions.
func strip(status map[string]any, progress []string) {
	for _, field := range progress {
		unstructured.RemoveNestedField(status, strings.Split(field, ".")...)
	}
	for _, condition := range conditionsOf(status) {
		delete(condition, "message")
	}
}
