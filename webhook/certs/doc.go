// Package certs keeps the webhook's certificates by itself: an authority in a
// Secret and short-lived leaves in memory (cert-manager's library), and the
// authority's certificate in the caBundle of the webhook configurations (ours).
// Both are renewed while the manager runs; nothing is mounted or restarted.
//
// A new leaf is held back until the API server has had time to see the authority
// that signed it, so that no connection fails in between.
package certs
