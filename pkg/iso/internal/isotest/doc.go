// Package isotest makes live ISOs for tests: small ones in the layouts that CoreOS builds have had since 2020, and a
// sparse one whose embed area lies beyond 4 GiB. They carry every structure that a reader or patcher of media looks at
// (volume descriptors, Rock Ridge and Joliet trees, El Torito, MBR, GPT, Ignition and kernel argument areas,
// miniso.dat) around stand-ins for the bulky files. Nothing in them boots.
//
// The bytes depend on the Layout alone: the same layout gives the same image, on every machine.
package isotest
