// Package installfiles makes what the simulated service has ready when an
// installation starts: install-config, Ignition of nodes, manifests of its own,
// and the credentials of the new cluster.
package installfiles
