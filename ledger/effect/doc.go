// Package effect is data: what the ledger wants written. package decide makes
// effects, package apply writes them; neither knows the other.
package effect
