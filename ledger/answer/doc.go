// Package answer is what a policy said, in the words in which a Job is told why it
// waits. The loop and whoever plays a policy through tell it alike.
package answer
