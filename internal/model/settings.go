package model

import "github.com/oaictl/oaictl/internal/setting"

// Setting is one thing that can be set on a cluster, an InfraEnv or a host, by the
// cluster.yaml field it comes from: "spec.network.vips.api".
type Setting = setting.Name

// Settings are values by setting, in JSON. An absent key means: not said. They print
// without their secrets.
type Settings = setting.Settings

// Keeping is what a service does with a setting that it was given, in the phase that the
// cluster is in: "" where it holds what was written last, else derived, cleared, hidden,
// frozen, or not yet.
type Keeping = setting.Keeping
