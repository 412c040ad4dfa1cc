// Package decide compares a desired with an observed cluster and makes a plan of it: what to do
// next, what can only be waited for, what stands in the way and who can remove it, and when a
// loop has waited for long enough. It is pure. Its files follow an install from the registration
// to hosts that are added later.
package decide
