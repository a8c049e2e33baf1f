// Package admission tests what the chart puts into the API server: the mutating
// and validating policies and the webhook's rules, each on a real control plane
// with the manager absent, on a server that serves mutating policies and on one
// that does not.
package admission
