// Package objects is the objects of a hub as the simulated operators read and
// write them: their kinds, their specs, and the form in which they are written back.
package objects
