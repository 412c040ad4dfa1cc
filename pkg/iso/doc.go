// Package iso takes a CoreOS live image and gives every machine its own: its Ignition config, its
// network files, its kernel arguments; as an ISO, as a minimal ISO, or as files to boot from the
// network. It also tells what is inside of an image that any tool made.
//
// A [Base] is an image that was read once. What is made of it is an [extent.Image]: the few bytes
// that differ, in memory, and extents of the base for all the rest. Nothing is rebuilt and nothing
// is copied, so every way to boot that the base has (BIOS and UEFI, as a CD and as a disk) is left
// as it was, and making one image takes milliseconds.
//
//	base, err := iso.Open("rhcos-live.iso")
//	image, result, err := base.Customize(iso.Customization{Ignition: config})
//	method, err := image.WriteFile(ctx, "node-0.iso", extent.WriteOptions{})
package iso
