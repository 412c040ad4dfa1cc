package iso

import "encoding/json"

// Report is all that was found in an image, as "iso show" prints it.
type Report struct {
	VolumeID string         `json:"volumeId"`
	Size     int64          `json:"size"` // bytes
	Arch     string         `json:"arch"`
	OS       string         `json:"os"`
	Version  string         `json:"version"`
	Ignition IgnitionReport `json:"ignition"`
	Kargs    KargsReport    `json:"kargs"`
	Network  []NetworkFile  `json:"network"`
	Ramdisks []Ramdisk      `json:"ramdisks,omitempty"`
	Features map[string]any `json:"features"`
	Boot     Boot           `json:"boot"`
	Live     LiveReport     `json:"live"`
	Secrets  []Secret       `json:"secrets"`
	// Problems are what could not be read, each with its place, and whether another tool rebuilt the
	// image (ErrRebuilt). The rest of the report stands.
	Problems []string `json:"problems,omitempty"`
}

// IgnitionReport is what the Ignition area holds.
type IgnitionReport struct {
	Bytes       int64    `json:"bytes"`     // of the area that are in use
	AreaBytes   int64    `json:"areaBytes"` // that it has
	Compression string   `json:"compression"`
	Members     []Member `json:"members"`
}

// Member is a file in an archive.
type Member struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Mode  string `json:"mode"` // octal
}

// KargsReport is the kernel arguments. All is empty where the image has no areas for them.
type KargsReport struct {
	Current string `json:"current"`
	Default string `json:"default"`
	Limit   int    `json:"limit"` // bytes
}

// NetworkFile is a file that configures the network of the live system.
type NetworkFile struct {
	Name  string `json:"name"`
	In    string `json:"in"` // the file of the image that holds it
	Bytes int64  `json:"bytes"`
}

// Ramdisk is an archive beside the Ignition area in which a tool put something.
type Ramdisk struct {
	Path        string   `json:"path"`
	Compression string   `json:"compression"`
	Members     []Member `json:"members"`
}

// LiveReport says whether initrd and root filesystem belong together. Both carry the id of their
// build; the live system refuses to boot where these differ.
type LiveReport struct {
	InitrdID string `json:"initrdId"`
	RootfsID string `json:"rootfsId"` // empty in a minimal ISO
	Match    bool   `json:"match"`
}

// MarshalJSON leaves out the root filesystem that a minimal ISO does not have: whether it
// matches cannot be said.
func (l LiveReport) MarshalJSON() ([]byte, error) {
	if l.RootfsID == "" {
		return json.Marshal(map[string]string{"initrdId": l.InitrdID})
	}
	type whole LiveReport
	return json.Marshal(whole(l))
}

// Secret is a place in the image that not everybody should see.
type Secret struct {
	In   string `json:"in"`   // the file of the image
	Path string `json:"path"` // the place in it
	Kind string `json:"kind"` // as package ignition names it
}
