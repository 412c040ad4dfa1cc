package clock

import "time"

// duty is something that is due at a time: the end of a sleep, or work that has begun.
type duty struct {
	at    time.Time
	index int
}

// duties are a heap, with what is due first at its top.
type duties []*duty

func (d duties) Len() int           { return len(d) }
func (d duties) Less(i, j int) bool { return d[i].at.Before(d[j].at) }

func (d duties) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push is for [heap.Push].
func (d *duties) Push(x any) {
	one, _ := x.(*duty)
	one.index = len(*d)
	*d = append(*d, one)
}

// Pop is for [heap.Remove].
func (d *duties) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	*d = (*d)[:last]
	return one
}

// holdBack is how much of a step a clock may advance that shows now.
func (d duties) holdBack(now time.Time, step time.Duration) time.Duration {
	if len(d) == 0 {
		return step
	}
	free := max(0, d[0].at.Add(patience).Sub(now))
	if step <= free {
		return step
	}
	return free + (step-free)/heldBack
}
