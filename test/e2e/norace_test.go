//go:build !race

package e2e

const slower = 1
