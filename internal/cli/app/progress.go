package app

import (
	"context"
	"time"

	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Progress is where the events of a run go, as --progress and the terminal say; of is the clock that
// the cluster lives by.
func (a *App) Progress(ctx context.Context, of clock.Clock) progress.Sink {
	return HintedSink{Sink: a.sink(ctx, of), Hint: a.Hint}
}

func (a *App) sink(ctx context.Context, of clock.Clock) progress.Sink {
	kind := a.Globals.Progress
	if kind == ProgressAuto {
		kind = ProgressPlain
		if a.IO.Live(a.Env) && a.Globals.Verbose < 2 {
			kind = ProgressTTY
		}
	}
	switch {
	case kind == ProgressJSON:
		return progress.JSON(a.IO.Out)
	case a.Globals.Quiet:
		return progress.None()
	case kind == ProgressTTY:
		return progress.Once(progress.Live(ctx, progress.Screen{
			W: a.IO.Err, Size: a.IO.Size, Color: a.IO.Color(a.Env), Zone: time.Local, Clock: of, Wall: clock.Real(),
		}))
	default:
		return progress.Once(progress.Plain(a.IO.Err, time.Local, a.Globals.Verbose > 0))
	}
}
