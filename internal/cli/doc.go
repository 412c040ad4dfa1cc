// Package cli is the command line: the tree of commands, one small file a
// verb, and what only a terminal needs. Nothing imports it but cmd/oaictl.
//
// A command has one shape. Its options hold what it needs and what its flags
// say; new<Verb>Command declares the flags and fills the options; the run
// method does the work and reads top to bottom. Nothing is opened, dialled or
// read before a run method asks for it, so that help and version cost nothing.
package cli
