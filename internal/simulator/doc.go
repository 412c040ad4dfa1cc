// Package simulator puts the two halves together: an assisted-service in this
// process (package service, with image, auth and versions beside it) and the
// machines that boot its discovery image (package host). They talk over HTTP on
// a real socket, exactly as the real ones do, and so does everybody else.
package simulator
