package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	dir := flag.String("dir", "", "where the case files are")
	live := flag.Bool("live", false, "play the cases as the live system would, and hold them to what is true of any plan")
	flag.Parse()
	failed, err := run(*dir, *live, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run plays every file below a directory and tells how many cases failed.
func run(dir string, live bool, out io.Writer) (int, error) {
	all, err := load(dir, live)
	if err != nil {
		return 0, err
	}
	failed := 0
	for _, c := range all {
		if found := c.run(); len(found) > 0 {
			failed++
			why := ""
			if known := known()[c.name]; known != "" {
				why = " (known: " + known + ")"
			}
			fmt.Fprintf(out, "%s: %s%s\n", c.name, strings.Join(found, "; "), why)
		}
	}
	_, err = fmt.Fprintf(out, "%d passed, %d failed\n", len(all)-failed, failed)
	return failed, err
}

// check is one thing that passes or fails; run tells what differs.
type check struct {
	name string
	run  func() []string
}

// load makes checks of every file below a directory, in the order of their names.
// A file that can't be read is one that fails.
func load(dir string, live bool) ([]check, error) {
	if dir == "" {
		return nil, fmt.Errorf("no directory. Try: -dir test/conformance/testdata")
	}
	var all []check
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		all = append(all, checksOf(path, live)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for cases: %w. Try: a directory of case files", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no case is below %s. Try: a directory of case files, which end in .json", dir)
	}
	return all, nil
}

func checksOf(path string, live bool) []check {
	text, err := os.ReadFile(path)
	if err != nil {
		return []check{broken(path, fmt.Errorf("%w. Try: a file that may be read", err))}
	}
	cases, trees, err := readFile(path, text)
	if err != nil {
		return []check{broken(path, err)}
	}
	var all []check
	for _, c := range cases {
		all = append(all, check{c.Name, func() []string { return judge(c, live) }})
	}
	for _, a := range trees {
		all = append(all, check{a.Name, func() []string { return orError(reckon(a)) }})
	}
	return all
}

func broken(path string, err error) check {
	return check{path, func() []string { return []string{strings.TrimPrefix(err.Error(), path+": ")} }}
}

func judge(c testCase, live bool) []string {
	if live || c.Want == nil {
		return orError(playLive(c))
	}
	out, err := play(c)
	if err != nil {
		return []string{err.Error()}
	}
	return differences(*c.Want, out)
}

func orError(found []string, err error) []string {
	if err != nil {
		return slices.Concat(found, []string{err.Error()})
	}
	return found
}
