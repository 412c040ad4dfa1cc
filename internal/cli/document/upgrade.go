package document

import "github.com/oaictl/oaictl/pkg/install/upgrade"

// Upgrade is an installed cluster as it stands to another version of OpenShift.
type Upgrade struct {
	Cluster string `json:"cluster"`
	Version string `json:"version"`
	Channel string `json:"channel"`
	// To is the version that was asked for, by this command or before.
	To      string `json:"to,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Percent *int32 `json:"percent,omitempty"`
	// Updates are newest first.
	Updates []Update `json:"updates"`
	// InTheWay is what stands in the way of updates, Notes what a person should know of the one that runs.
	InTheWay []string `json:"inTheWay"`
	Notes    []string `json:"notes,omitempty"`
}

// Update is a release that a cluster may be updated to.
type Update struct {
	Version     string   `json:"version"`
	Image       string   `json:"image,omitempty"`
	Recommended bool     `json:"recommended"`
	Risks       []string `json:"risks,omitempty"`
}

// OfUpgrade is the document of how a cluster stands, and of what follows for the version that it is asked for.
func OfUpgrade(cluster, to string, s *upgrade.State, d *upgrade.Decision) Upgrade {
	u := Upgrade{
		Cluster: cluster, Version: s.Current(), Channel: s.Channel(), To: to, InTheWay: orEmpty(s.Obstacles()),
		Updates: Each(s.Updates(), func(u upgrade.Update) Update { return Update(u) }),
	}
	if to != "" {
		u.Verdict, u.Reason, u.Message, u.Percent, u.Notes = string(d.Verdict), d.Reason, d.Message, d.Percent, d.Notes
	}
	return u
}
