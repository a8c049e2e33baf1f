// Command demo tells on a real control plane what holdshort is for.
package main
