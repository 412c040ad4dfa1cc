package pool

// Capacity is the smallest host that is what machines ask for, and how many of those hosts are free.
// One that is free goes before one that is not, whose size only says what comes back. Nil: none fits.
func Capacity(hosts []Host, w Wishes) (smallest *Host, free int) {
	none := newSkews(nil, nil, nil)
	smallestIsFree := false
	for i := range hosts {
		h := &hosts[i]
		if !h.Known || h.Deleting || w.misfit(h) != "" {
			continue
		}
		isFree := h.Free()
		if isFree {
			free++
		}
		switch {
		case smallest == nil, isFree && !smallestIsFree, isFree == smallestIsFree && w.compare(h, smallest, none) < 0:
			smallest, smallestIsFree = h, isFree
		}
	}
	return smallest, free
}
