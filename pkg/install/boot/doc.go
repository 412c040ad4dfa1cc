// Package boot makes the discovery image of each host of a cluster.yaml, serves it, and
// boots the host from it through its BMC.
//
// [Start] serves the images of all hosts that have a BMC, and its [Machines] are the plane
// of machines of an install.Client. [NewImages] makes images for machines that somebody
// else boots. Each image is made of a live image, which is the service's unless another is
// given, and of what the service has for the host at that moment.
package boot
