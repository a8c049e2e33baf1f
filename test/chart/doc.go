// Package chart renders the chart with Helm, without a cluster, and looks at what
// comes out: names, rights, security, and what each value does.
package chart
