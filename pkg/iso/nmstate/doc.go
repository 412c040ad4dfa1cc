// Package nmstate turns the description of a machine's network in nmstate's
// words (nmstate.io) into NetworkManager keyfiles that need neither nmstate nor a
// script on the machine: a physical interface is found by its permanent MAC
// address, never by its kernel name, which is not known before the machine
// boots; VLANs and ports refer to other profiles by UUID.
//
// It understands the part of nmstate that installs of OpenShift use: ethernet with
// ethtool, 802.1X and SR-IOV, bonds, VLANs, Linux bridges, Open vSwitch, VRF, VXLAN
// and dummy interfaces, addresses of both families, DHCP, autoconfiguration, routes,
// routing rules and DNS. What nmstate shows of a machine and nobody can set is
// ignored and told of (State.Ignored). Everything else is refused by name with its
// place in the document: a network that is only partly what was asked for is
// worse than none.
//
// Reading goes from text over a tree with places (yaml.go, fields.go) to a State
// (state.go, read_*.go, check.go), and writing from the State to keyfiles
// (keyfile*.go). checkkeyfile.go judges keyfiles that somebody else wrote, and
// conflicts.go what machines have in common and should not.
package nmstate
