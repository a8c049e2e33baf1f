package cluster

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
)

// family is the child processes of one plane and who looks after them.
type family struct {
	dir      string
	requests chan request
	members  []*process // in the order they were started
	janitor  io.WriteCloser
}

type request struct {
	program string
	args    []string
	answer  chan<- answer
}

type answer struct {
	process *process
	err     error
}

// newFamily starts the janitor and the thread that starts everything else.
// removeDir: the directory goes when this process dies.
func newFamily(dir string, removeDir bool) (*family, error) {
	janitor, err := startJanitor(dir, removeDir)
	if err != nil {
		return nil, err
	}
	f := &family{dir: dir, requests: make(chan request), janitor: janitor}
	go f.parent()
	return f, nil
}

// parent starts children, all on one thread that lives as long as the family:
// Linux ends a child with its parent's thread, not with its process.
func (f *family) parent() {
	runtime.LockOSThread()
	for r := range f.requests {
		p, err := start(f.dir, r.program, r.args)
		r.answer <- answer{p, err}
	}
}

func (f *family) start(program string, args []string) error {
	answers := make(chan answer)
	f.requests <- request{program, args, answers}
	a := <-answers
	if a.err != nil {
		return a.err
	}
	f.members = append(f.members, a.process)
	if !childrenDieAlone {
		fmt.Fprintln(f.janitor, a.process.cmd.Process.Pid)
	}
	return nil
}

// stop ends all members, the youngest first, and then the janitor.
func (f *family) stop() {
	for i := len(f.members) - 1; i >= 0; i-- {
		f.members[i].kill()
	}
	f.members = nil
	close(f.requests)
	fmt.Fprintln(f.janitor, "done")
	f.janitor.Close()
}

// failure of the first member that ended.
func (f *family) failure() error {
	for _, p := range f.members {
		if err := p.failure(); err != nil {
			return err
		}
	}
	return nil
}

// The janitor reads process numbers until it reads "done", which is the good
// end, or until the pipe breaks, which is the death of the process that holds
// the other end. It is its own session, so what ends us does not end it. The
// directory is removed again and again while dying programs still write there.
const janitorScript = `
while read -r line; do
	test "$line" = done && exit 0
	pids="$pids $line"
done
test -n "$pids" && kill -9 $pids 2>/dev/null
for try in 1 2 3 4 5 6 7 8 9 10; do
	test -z "$1" && exit 0
	rm -rf -- "$1" 2>/dev/null && sleep 0.2 && test ! -e "$1" && exit 0
	sleep 0.3
done
`

func startJanitor(dir string, removeDir bool) (io.WriteCloser, error) {
	if !removeDir {
		dir = ""
	}
	cmd := exec.Command("/bin/sh", "-c", janitorScript, "holdshort-plane-janitor", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = janitorAttributes()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making the janitor's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the janitor: %w", err)
	}
	go cmd.Wait() // only so that it does not stay behind as a zombie
	return pipe, nil
}
