// Package command is the plugin's command line: flags, arguments, what to read
// and how to print it. Each command reads through package cluster, makes a
// report and renders it.
package command
