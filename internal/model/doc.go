// Package model is the vocabulary of installing: what is desired, what was observed, what a
// plan says, what a loop remembers and how things fail, with the words that each may use. It
// decides nothing and speaks to nobody. Package install shows its types to importers.
package model
