package reason

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Amount writes an amount as people write it: cores for cpu, Gi for what is
// counted in bytes, plain numbers for the rest.
func Amount(resource string, n int64) string {
	switch {
	case n == math.MaxInt64:
		return "more than can be counted"
	case resource == "cpu":
		return cores(n)
	case resource == "memory" || resource == "ephemeral-storage" || strings.HasPrefix(resource, "hugepages-"):
		return bytes(n)
	}
	return strconv.FormatInt(n, 10)
}

func cores(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

func bytes(n int64) string {
	const ki, mi, gi = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n == 0:
		return "0"
	case n%gi == 0:
		return fmt.Sprintf("%dGi", n/gi)
	case n >= 10*gi: // nobody counts megabytes here; down, so as not to promise
		return fmt.Sprintf("%d.%dGi", n/gi, n%gi*10/gi)
	case n%mi == 0 || n >= 10*mi:
		return fmt.Sprintf("%dMi", n/mi)
	case n%ki == 0:
		return fmt.Sprintf("%dKi", n/ki)
	}
	return strconv.FormatInt(n, 10)
}
