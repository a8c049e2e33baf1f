// Command bench measures holdshort through a real API server, and beside it in
// the same run the cheapest controller there can be: one that lifts every
// suspension on sight, with one patch and no questions.
//
// The bench plays the Job controller: it creates the Jobs, and completes each as
// soon as it sees it lifted. Quotas and machines are never the limit, so what is
// measured is the queue itself.
package main
