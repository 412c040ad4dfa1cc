package host

import (
	"math/rand/v2"
	"time"
)

// How long things take, in simulated time: a compact cluster is installed in about an hour.
const (
	bootTime         = 200 * time.Second // firmware, ISO, agent container
	firmwareTime     = 30 * time.Second  // of one that its controller switches on, until it looks for something to boot
	diskBootTime     = 190 * time.Second // firmware, installed system, Ignition
	agentRestartTime = 5 * time.Second
	retryTime        = time.Minute      // between attempts to register or poll
	progressRetry    = 10 * time.Second // between attempts to report progress

	startingTime  = 20 * time.Second
	preparingDisk = 40 * time.Second // fetching ignition, cleaning the disk
	writingTime   = 4 * time.Minute
	percentStep   = 5
	logsTime      = 20 * time.Second
	bootloader    = 30 * time.Second // boot order, MCO image
	shutdownTime  = time.Minute      // shutdown -r +1

	bootstrapPreparing = time.Minute
	bootkubeTime       = 4 * time.Minute
	controllerTime     = 2 * time.Minute
	bootkubeInPlace    = 20 * time.Minute // SNO: the whole bootstrap runs here

	ignitionTime  = time.Minute      // from Waiting for ignition to Configuring
	joinTime      = 3 * time.Minute  // from Configuring to Joined
	readyTime     = 90 * time.Second // from Joined to Done
	peerPoll      = 20 * time.Second
	nodeTick      = 30 * time.Second
	statusAge     = 15 * time.Second // how old a shared reading of the service may be
	personTick    = 2 * time.Minute
	personTime    = 3 * time.Minute // until a person is at the machine
	waitForDayTwo = time.Minute

	operatorsTime    = 10 * time.Minute
	olmOperatorsTime = 4 * time.Minute
)

// jitter makes durations differ from machine to machine, always in the same way for the same seed.
type jitter struct{ random *rand.Rand }

func newJitter(seed uint64, index int) jitter {
	return jitter{random: rand.New(rand.NewPCG(seed, uint64(index)))}
}

// of is d, up to 15 % more or less.
func (j jitter) of(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.85 + 0.3*j.random.Float64()))
}
