// Package machine is the plane of machines: it looks at their management
// controllers (BMCs) over Redfish, puts the discovery image into their virtual
// drives, has them boot from it once, and switches them on.
//
// From the outside to the inside: [Plane] answers for all hosts of a
// cluster.yaml and remembers for a moment what it saw (plane.go); observe.go and
// act.go look at one machine and change one thing of it; system.go and drive.go
// find the machine and its virtual drive among what the BMC has; vendor.go says
// what the makers do differently; connection.go opens a session, which is closed
// whatever happens; trouble.go says in a person's words what went wrong.
//
// What is asked of a BMC is asked once and not waited for: the next look shows
// what came of it.
package machine
