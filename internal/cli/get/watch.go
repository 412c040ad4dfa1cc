package get

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// deleted is the state of what was there at the last look and is not any more.
const deleted = "Deleted"

type watchOptions struct {
	Watch bool
	Every time.Duration
}

func (w *watchOptions) declare(flags *pflag.FlagSet) {
	flags.BoolVarP(&w.Watch, "watch", "w", false, "go on with what changes, until stopped; with -o json one line each")
	flags.DurationVar(&w.Every, "poll-interval", 5*time.Second, "`TIME` between looks, with -w")
}

// listing is a list of a kind: how it is read, and how it is printed.
type listing[T any] struct {
	named bool // one was asked for by its name
	asked bool // asked again with each look, although the service could report changes
	read  func(context.Context, *install.Client) ([]T, error)
	key   func(T) string
	name  func(T) string
	table func([]T) printer.Table
	gone  func(T) T
	// standsFor reports whether an item only announced another; nil where none does.
	standsFor func(before, now T) bool
	shown     func(T) bool // nil for all
	plain     func(T) T    // without what changes all the time; nil for as it is
}

func show[T any](ctx context.Context, o *getOptions, l listing[T]) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	if o.Watch {
		if !l.asked {
			service.Follow()
		}
		return (&follower[T]{getOptions: o, listing: l}).run(ctx, service)
	}
	items, err := l.read(ctx, service)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(item T) bool { return !l.shows(item) })
	result := l.result(items)
	if l.named && len(items) == 1 {
		result.Data = items[0]
	}
	return o.Print(result)
}

func (l *listing[T]) shows(item T) bool { return l.shown == nil || l.shown(item) }

func (l *listing[T]) result(items []T) printer.Result {
	return printer.Result{Data: output.List(items), Names: output.Each(items, l.name),
		Table: func() printer.Table { return l.table(items) }}
}

type follower[T any] struct {
	*getOptions
	listing[T]

	silence
	before []T
	begun  bool // something was printed
	widths []int
}

func (f *follower[T]) run(ctx context.Context, service *install.Client) error {
	for first := true; ; first = false {
		items, err := f.read(ctx, service)
		if err = f.tolerate(ctx, f.App, err); err != nil {
			return err
		}
		if f.silent.IsZero() {
			if err := f.print(f.changed(items)); err != nil {
				return app.Printed(err)
			}
			if empty := f.table(nil).Empty; first && !f.begun && empty != "" && !f.Globals.Format.Machine() {
				f.Say("%s", empty)
			}
			f.before = items
		}
		if err := f.Clock.Sleep(ctx, max(f.Every, 100*time.Millisecond)); err != nil {
			return app.Stopped(ctx, "watch", err)
		}
	}
}

// changed is what is new, what has changed, and what is gone.
func (f *follower[T]) changed(items []T) []T {
	var out []T
	old := map[string]T{}
	for _, item := range f.before {
		old[f.key(item)] = item
	}
	for _, item := range items {
		before, known := old[f.key(item)]
		delete(old, f.key(item))
		if known && reflect.DeepEqual(f.lasting(before), f.lasting(item)) {
			continue
		}
		if f.shows(item) || known && f.shows(before) {
			out = append(out, item)
		}
	}
	for _, item := range f.before {
		came := func(now T) bool { return f.standsFor != nil && f.standsFor(item, now) }
		if _, gone := old[f.key(item)]; gone && f.shows(item) && !slices.ContainsFunc(items, came) {
			out = append(out, f.gone(item))
		}
	}
	return out
}

func (f *follower[T]) lasting(item T) T {
	if f.plain == nil {
		return item
	}
	return f.plain(item)
}

// print writes rows under those of before, and for programs each item by itself.
func (f *follower[T]) print(items []T) error {
	if len(items) == 0 {
		return nil
	}
	if !f.Globals.Format.Machine() {
		table := f.table(items)
		table.Least = f.widths
		f.widths = table.Widths()
		first := !f.begun
		f.begun = true
		return f.Globals.Format.PrintLine(f.IO.Out, printer.Result{Table: func() printer.Table { return table }}, first)
	}
	for _, item := range items {
		result := f.result([]T{item})
		result.Data = item
		if err := f.Globals.Format.PrintLine(f.IO.Out, result, !f.begun); err != nil {
			return err
		}
		f.begun = true
	}
	return nil
}

// patience is how long a watch goes on while the service does not answer.
const patience = 5 * time.Minute

type silence struct {
	silent time.Time // since when the service has not answered
}

// tolerate is nil where a watch goes on: while something is being deleted, and for a while
// with a silent service. It warns once.
func (o *silence) tolerate(ctx context.Context, a *app.App, err error) error {
	fault, is := errors.AsType[*model.Fault](err)
	switch {
	case err == nil:
		o.silent = time.Time{}
		return nil
	case ctx.Err() != nil:
		return app.Stopped(ctx, "watch", err)
	case !is, fault.Permanent, fault.Code == model.CodeAuth:
		return err
	case errors.Is(err, install.ErrDeleting):
		if o.silent.IsZero() {
			a.Say("%v", err)
		}
		o.silent = a.Clock.Now()
	case o.silent.IsZero():
		o.silent = a.Clock.Now()
		a.Warn("the service does not answer: %v", err)
	case a.Clock.Now().Sub(o.silent) >= patience:
		return err
	}
	return nil
}

// subject is found by its name once and then by its id, so that another of the same name is not mistaken for it. Once
// it is gone, the name counts again.
type subject struct {
	id   string
	seen bool
}

// saw takes the result of a look. An object that is not there is an error only at the first look.
func (p *subject) saw(id string, err error) (gone bool, _ error) {
	switch {
	case err == nil:
		p.id, p.seen = id, true
	case p.seen && model.FaultOf(err).Code == model.CodeNotFound:
		p.id = ""
		return true, nil
	}
	return false, err
}

// readAgain is nil without an error where what was seen before is gone.
func (o *getOptions) readAgain(ctx context.Context, service *install.Client) (*install.Found, error) {
	t := o.Target
	if t.File == "" {
		t.Name = cmp.Or(o.of.id, t.Name)
	}
	seen, err := o.ObserveCluster(ctx, service, t)
	if err != nil {
		_, err = o.of.saw("", err)
		return nil, err
	}
	_, err = o.of.saw(seen.Ref.ID, nil)
	return seen, err
}
