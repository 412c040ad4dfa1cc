// Package diagnose finds out what is wrong behind the failing validations of
// a cluster and its hosts.
//
// A service reports every check of every host on its own, so that one missing
// DNS record on five hosts reads as a dozen failures. Explain says each cause
// once, with the hosts that it concerns, what to do and who can do it. It
// leaves out what follows from another failure, calls what has just begun to
// fail, and what the service still measures, a wait, and keeps warnings apart.
// It is a pure function: the same checks give the same report, in the same
// order.
package diagnose
