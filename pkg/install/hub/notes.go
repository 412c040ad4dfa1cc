package hub

import "context"

// notesKey is under which a context has who is told.
type notesKey struct{}

// WithNotes has tell told, a sentence at a time, what a deletion waits for and what
// it leaves, and why: the objects that are still there after some seconds, with the
// finalizers that hold them, whenever that has changed and when ctx ends; at the end
// a namespace that stays, and objects that look like the cluster's and are not. It is
// called from the goroutine that deletes. No sentence holds a secret.
func WithNotes(ctx context.Context, tell func(string)) context.Context {
	return context.WithValue(ctx, notesKey{}, tell)
}

// note tells who wants to be told.
func note(ctx context.Context, text string) {
	if tell, _ := ctx.Value(notesKey{}).(func(string)); tell != nil {
		tell(text)
	}
}
