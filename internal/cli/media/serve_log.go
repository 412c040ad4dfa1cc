package media

import (
	"sync"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// fetchStep is how many percent a host fetches between two lines about it: a BMC
// reads an image in thousands of pieces.
const fetchStep = 10

// fetchLog tells which host has fetched what, and how far.
type fetchLog struct {
	*base.App
	server *serve.Server

	mu   sync.Mutex
	told map[string]int64 // percent of each host, as last told
}

// access is told of every request when it is over.
func (l *fetchLog) access(a serve.Access) {
	if l.Globals.Verbose > 0 {
		l.Say("%s", base.AccessText(a))
		return
	}
	if a.Host == "" || a.Status >= 400 {
		if a.Err != nil {
			l.Say("%s", base.AccessText(a))
		}
		return
	}
	if a.Kind != serve.ISO && a.Kind != serve.Initrd && a.Kind != serve.Rootfs {
		l.Say("%s fetched %s (%s)", a.Host, a.Kind, a.Client)
		return
	}
	f := l.server.Fetched(a.Host)
	if f.Size <= 0 || !l.further(a.Host, f.Bytes*100/f.Size) {
		return
	}
	l.Say("%s has fetched %s of %s, %d%% (%s)", a.Host, base.SizeText(f.Bytes), base.SizeText(f.Size), f.Bytes*100/f.Size, a.Client)
}

// further says whether a host has come so much further that it is worth a line.
func (l *fetchLog) further(host string, percent int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[string]int64{}
	}
	last, known := l.told[host]
	if known && percent < last+fetchStep && (percent < 100 || last >= 100) {
		return false
	}
	l.told[host] = percent
	return true
}
