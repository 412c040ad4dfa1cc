package install

import "time"

// stageTimes are what one stage of a host's installation may take before the
// service calls it stuck (its HOST_STAGE_<NAME>_TIMEOUT defaults), and what it
// usually takes.
type stageTimes struct{ budget, usual time.Duration }

func timesOf(stage string) (stageTimes, bool) {
	times, known := map[string]stageTimes{
		"Starting installation":         {30 * time.Minute, 30 * time.Second},
		"Installing":                    {60 * time.Minute, time.Minute},
		"Writing image to disk":         {30 * time.Minute, 5 * time.Minute},
		"Copying registry data to disk": {90 * time.Minute, 0},
		"Waiting for control plane":     {60 * time.Minute, 12 * time.Minute},
		"Waiting for bootkube":          {60 * time.Minute, 6 * time.Minute},
		"Waiting for controller":        {60 * time.Minute, 3 * time.Minute},
		"Rebooting":                     {40 * time.Minute, 5 * time.Minute},
		"Waiting for ignition":          {24 * time.Hour, 3 * time.Minute},
		"Configuring":                   {60 * time.Minute, 4 * time.Minute},
		"Joined":                        {60 * time.Minute, 3 * time.Minute},
	}[stage]
	return times, known
}

func usual(stage string) time.Duration {
	times, _ := timesOf(stage)
	return times.usual
}
