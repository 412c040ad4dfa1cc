package serve

import "sort"

// maxSpans bounds the memory of one coverage to 128 KiB. Reading 64 KiB pieces
// of a 1 GiB image in random order needs some four thousand.
const maxSpans = 8192

// span is a stretch of a file, [from, to).
type span struct{ from, to int64 }

// coverage is which bytes of a file were sent at least once. Where it would
// need too many spans it forgets gaps: the bytes in them are then never
// counted, so that it may say less than was sent, and never more.
type coverage struct {
	spans []span // sorted, apart from each other
	bytes int64  // sent, without forgotten gaps
}

// add notes that n bytes at off were sent.
func (c *coverage) add(off, n int64) {
	if n <= 0 {
		return
	}
	s := span{off, off + n}
	// spans[first:last] touch the new one.
	first := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].to >= s.from })
	last := first
	fresh := n
	for ; last < len(c.spans) && c.spans[last].from <= s.to; last++ {
		old := c.spans[last]
		fresh -= max(0, min(old.to, off+n)-max(old.from, off))
		s.from, s.to = min(s.from, old.from), max(s.to, old.to)
	}
	c.bytes += fresh
	if first == last {
		c.spans = append(c.spans, span{})
		copy(c.spans[first+1:], c.spans[first:])
		c.spans[first] = s
		if len(c.spans) > maxSpans {
			c.forgetGaps()
		}
		return
	}
	c.spans[first] = s
	c.spans = append(c.spans[:first+1], c.spans[last:]...)
}

// forgetGaps halves the number of spans by joining each with its neighbour.
func (c *coverage) forgetGaps() {
	kept := c.spans[:0]
	for i := 0; i < len(c.spans); i += 2 {
		joined := c.spans[i]
		if i+1 < len(c.spans) {
			joined.to = c.spans[i+1].to
		}
		kept = append(kept, joined)
	}
	c.spans = kept
}
