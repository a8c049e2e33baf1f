// Package nsquota counts what pods take of the ResourceQuotas of their namespace, as the
// API server does when it is asked to make them. It refuses a pod that is too much, so a
// Job is not let go before all of its pods are within every one of them.
package nsquota
