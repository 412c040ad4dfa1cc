package hubapi

import "sync"

// Texts makes equal texts of many objects share memory: the names of fields, and what conditions say. (Package unique
// would forget them at the next garbage collection, since its handles are not kept.) The zero value is ready. It is
// safe for concurrent use.
type Texts struct {
	mu   sync.Mutex
	seen map[string]any // each as a value of its own, which is what objects hold
}

// mostTexts is how many are kept in mind before it begins anew: what conditions say is not always the same.
const mostTexts = 1 << 12

// Same is a text as it is kept.
func (t *Texts) Same(text string) string { return t.value(text).(string) }

func (t *Texts) value(text string) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seen, is := t.seen[text]; is {
		return seen
	}
	if t.seen == nil || len(t.seen) == mostTexts {
		t.seen = map[string]any{}
	}
	var own any = text
	t.seen[text] = own
	return own
}
