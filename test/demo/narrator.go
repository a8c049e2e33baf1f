package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// narrator prints a story.
type narrator struct {
	out  io.Writer
	bold func(string) string
	dim  func(string) string
}

func newNarrator(out *os.File) *narrator {
	plain := func(s string) string { return s }
	n := &narrator{out: out, bold: plain, dim: plain}
	info, err := out.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" {
		n.bold = func(s string) string { return "\033[1m" + s + "\033[0m" }
		n.dim = func(s string) string { return "\033[36m" + s + "\033[0m" }
	}
	return n
}

func (n *narrator) title(text string) {
	fmt.Fprintf(n.out, "\n%s\n%s\n", n.bold(text), strings.Repeat("=", len(text)))
}

// Say implements stories.Teller.
func (n *narrator) Say(format string, args ...any) {
	fmt.Fprintf(n.out, "\n%s\n", n.bold(fmt.Sprintf(format, args...)))
}

// Show implements stories.Teller. What goes on over several lines stands as it
// is to be typed, so that it can be copied.
func (n *narrator) Show(command, output string) {
	prompt := "$ "
	for line := range strings.SplitSeq(command, "\n") {
		fmt.Fprintln(n.out, n.dim(prompt+line))
		prompt = ""
	}
	for line := range strings.SplitSeq(strings.TrimRight(output, "\n"), "\n") {
		if line != "" {
			fmt.Fprintf(n.out, "  %s\n", line)
		}
	}
}
