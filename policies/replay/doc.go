// Package replay asks a policy again what another one was asked, from the
// records of its decisions, and tells which answers would be others. Policies are
// pure, so what it tells is what would have happened.
package replay
