package reason

import "fmt"

// Pods is a number of pods, for a sentence.
func Pods(n int64) string { return counted(n, "pod") }

func nodes(n int) string { return counted(int64(n), "node") }

func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// are is the verb for so many.
func are(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
