// Package cli is the command line: the tree of commands, put together from groups
// that are a package each. Nothing imports it but cmd/oaictl and what writes the
// commands down.
//
// A command has one shape. Its options hold what it needs and what its flags
// say; New<Verb> declares the flags and fills the options; the run method does the
// work and reads top to bottom. Nothing is opened, dialled or read before a run
// method asks for it, so that help and version cost nothing.
package cli
