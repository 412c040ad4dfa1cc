package scenario

// argType is the type that an argument of a verb must have.
type argType string

const (
	argText     argType = "a text"
	argInt      argType = "a whole number"
	argBool     argType = "true or false"
	argDuration argType = "a duration such as 90s or 10m"
	argMap      argType = "an object"
	argTexts    argType = "a list of texts"
	argMAC      argType = "a MAC address"
	argCIDR     argType = "a network such as 10.1.0.0/24"
	argSize     argType = "a size such as 20GB or 8GiB"
	argStage    argType = "an install stage"

	argInstruction argType = "an instruction to agents"
	argPower       argType = "a state of power"
	argKind        argType = "a kind of BMC"
)

// half is one side of the simulator with the words that it understands.
type half struct {
	name  string
	match map[string]argType
	at    map[string]argType
	verbs map[string]map[string]argType
}

func serviceHalf() half {
	every := func(own map[string]argType) map[string]argType {
		own["times"], own["for"] = argInt, argDuration
		return own
	}
	return half{
		name:  "service",
		match: map[string]argType{"method": argText, "path": argText, "client": argText},
		at:    map[string]argType{"state": argText, "after": argDuration, "call": argInt},
		verbs: map[string]map[string]argType{
			DoRespond:     every(map[string]argType{"status": argInt, "body": argText}),
			DoGarbage:     every(map[string]argType{}),
			DoTruncate:    every(map[string]argType{}),
			DoHang:        every(map[string]argType{"delay": argDuration}),
			DoReset:       every(map[string]argType{}),
			DoExpireToken: every(map[string]argType{}),
			DoExpireImage: every(map[string]argType{}),
			DoDelay:       every(map[string]argType{"delay": argDuration}),
		},
	}
}

func hostsHalf() half {
	lasting := func(own map[string]argType) map[string]argType {
		own["for"] = argDuration
		return own
	}
	return half{
		name:  "hosts",
		match: map[string]argType{"name": argText, "role": argText, "index": argInt, "mac": argMAC},
		at:    map[string]argType{"state": argText, "stage": argStage, "answered": argInstruction, "after": argDuration},
		verbs: map[string]map[string]argType{
			DoNeverBoot: lasting(map[string]argType{}),
			DoInventory: lasting(map[string]argType{
				"cpus": argInt, "memory": argSize, "disk": argSize, "patch": argMap,
			}),
			DoUnreachableNTP:   lasting(map[string]argType{"skew": argDuration}),
			DoNetwork:          lasting(map[string]argType{"subnet": argCIDR}),
			DoHostname:         lasting(map[string]argType{"name": argText}),
			DoSlowDisk:         lasting(map[string]argType{"sync": argDuration, "fails": argBool}),
			DoImagePullFailure: lasting(map[string]argType{"image": argText}),
			DoStopAgent:        lasting(map[string]argType{}),
			DoPowerOff:         lasting(map[string]argType{}),
			DoBootISO:          lasting(map[string]argType{}),
			DoFail:             {"reason": argText},
			DoStall:            lasting(map[string]argType{}),
			DoAppear:           {"name": argText, "mac": argMAC, "serial": argText, "bmc": argText},
			DoOperatorsTimeout: lasting(map[string]argType{"operators": argTexts, "reason": argText}),

			DoPowerOn:             {},
			DoBMCKind:             {"kind": argKind},
			DoBMCUnreachable:      lasting(map[string]argType{}),
			DoBMCWrongCredentials: lasting(map[string]argType{"status": argInt}),
			DoBMCNoVirtualMedia:   lasting(map[string]argType{}),
			DoBMCMediaRefused:     lasting(map[string]argType{"status": argInt}),
			DoBMCPowerLies:        lasting(map[string]argType{"says": argPower}),
			DoBMCSessionLimit:     lasting(map[string]argType{}),
		},
	}
}

// words are those that an argument of a type may be; nil if it is no such type.
func words(of argType) []string {
	switch of {
	case argStage:
		return stages()
	case argInstruction:
		return instructions()
	case argKind:
		return []string{"sushy", "idrac", "ilo", "xcc", "supermicro"}
	case argPower:
		return []string{"On", "Off", "PoweringOn", "PoweringOff", "Unknown"}
	}
	return nil
}

// instructions is every type of instruction that an agent answers, in the words
// of the service (steps[].step_type).
func instructions() []string {
	return []string{
		"inventory", "connectivity-check", "free-network-addresses", "dhcp-lease-allocate",
		"api-vip-connectivity-check", "tang-connectivity-check", "ntp-synchronizer",
		"installation-disk-speed-check", "container-image-availability",
		"domain-resolution", "verify-vips", "upgrade-agent",
	}
}

// stages is every stage that a host can be in while it installs, in the words of
// the service (host.progress.current_stage).
func stages() []string {
	return []string{
		"Starting installation", "Installing", "Writing image to disk",
		"Copying registry data to disk", "Waiting for control plane",
		"Waiting for bootkube", "Waiting for controller", "Rebooting",
		"Waiting for ignition", "Configuring", "Joined", "Done",
	}
}
