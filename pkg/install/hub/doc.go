// Package hub is the service plane over a hub: a Kubernetes cluster on which the
// assisted-service runs as an operator and is spoken to through objects.
//
// It reads from watches. The first observation of a cluster starts them, and
// later ones send nothing: they only put together what the watches have
// brought. It writes by server-side apply under one field manager and never by
// force, so that what others have set stays theirs, and it sends nothing where
// an object is already as it shall be.
package hub
