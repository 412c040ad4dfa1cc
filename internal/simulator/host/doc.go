// Package host simulates machines: they boot the discovery image, run an agent
// that registers and answers the service's instructions, run the installer, turn
// into nodes of the new cluster, and do the part of the controller that runs in
// that cluster. They speak to any assisted-service, over HTTP only.
package host
