// Package usage tells what processes have used: processor time and memory. It
// reads /proc, as benchmarks on the plane run on Linux only.
package usage
