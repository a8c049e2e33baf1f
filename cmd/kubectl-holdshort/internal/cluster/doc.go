// Package cluster reads what the plugin needs from the API server, with the
// rights of whoever runs it: Jobs, Queues, events and pods. It only reads, and
// it turns the API server's refusals into sentences with something to try.
package cluster
