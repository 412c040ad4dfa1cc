// Package loss is what a format has no place for, and what of a cluster.yaml that
// is.
package loss

// Loss is one thing that a format has no place for, or that a reader or a
// writer of it leaves behind. Nothing is dropped without one.
type Loss struct {
	// Path of the value in the document that it was read from, such as
	// spec.hosts[2].disk.keep; behind a file's name and a colon where the source
	// is several files.
	Path string `json:"path"`
	// Value that is left behind, as encoding/json would decode it, with a number as a
	// json.Number where it is written as JSON has it. A secret is told by the text
	// "[redacted]".
	Value any `json:"value"`
	// Why it is left behind, and what to do about it.
	Why string `json:"why"`
}
