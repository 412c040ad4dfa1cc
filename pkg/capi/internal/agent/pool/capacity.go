package pool

// Capacity is the smallest host that fits what machines ask for, and the number of free hosts that fit. A free host is
// preferred to one that is not free: the size of the latter only says what will be free later. Nil: none fits.
func Capacity(hosts []Host, w HostRequirements) (smallest *Host, free int) {
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
