// Package trace is what an install was like, without times and ids, so that installs
// over different ways to a service can be compared.
package trace
