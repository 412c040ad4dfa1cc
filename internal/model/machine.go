package model

// TroubleKind is what is wrong with a BMC.
type TroubleKind string

// The kinds of trouble with a BMC.
const (
	TroubleUnreachable    TroubleKind = "unreachable"
	TroubleCredentials    TroubleKind = "credentials"
	TroubleNoVirtualMedia TroubleKind = "no-virtual-media"
	TroubleMediaRefused   TroubleKind = "media-refused"
	TroubleBusy           TroubleKind = "busy"     // passes by itself: too many sessions, a BMC that restarts
	TroubleNoImage        TroubleKind = "no-image" // passes by itself: what the image is made of is still on its way
	TroubleOther          TroubleKind = "other"
)

// Power is whether a machine is switched on.
type Power string

// The power states of Redfish.
const (
	PowerUnknown  Power = "Unknown"
	PowerIsOn     Power = "On"
	PowerIsOff    Power = "Off"
	PowerGoingOn  Power = "PoweringOn"
	PowerGoingOff Power = "PoweringOff"
)
