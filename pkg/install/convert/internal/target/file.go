// Package target is what the writers of formats share: files, objects of a hub
// made of what can be said, and an account of what cannot.
package target

// File is a file of a format that consists of several.
type File struct {
	// Path is relative to the folder, with slashes.
	Path string
	// Content of the file.
	Content []byte
	// Secret says that the file is for its owner's eyes only.
	Secret bool
}
