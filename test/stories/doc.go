// Package stories tells what holdshort is for on a real control plane: it
// installs the chart, runs the manager as a process of its own, and acts as the
// users do, with kubectl. The demo narrates stories; the end-to-end tests run
// the same code and more of it.
package stories
