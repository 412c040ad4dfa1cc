// Package fetch brings base images to this machine: a path is used where it
// lies, a URL goes through a cache on disk.
//
// The cache is a directory that several processes may share:
//
//	<sha256>.iso      content, named by what it is; appears complete or not at all
//	<sha256>.use      locked while somebody uses that content; its time is the last use
//	<key>.json        what a URL gave last: validators, size, digest
//	<key>.part        a download that was begun, kept to be resumed
//	<key>.part.json   what the server said about it: without that it can't be resumed
//	<key>.lock        locked by the one process that downloads that URL
//	room.lock         locked while room is made
//
// Locks are the kernel's and end with their process, so nothing has to be
// cleaned up after a kill.
package fetch
