package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// process is a running program of the plane, its output in a file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it ended
}

// start runs a program. Call it only on the family's thread: on Linux a child
// is tied to the thread that made it.
func start(dir, program string, args []string) (*process, error) {
	name := filepath.Base(program)
	p := &process{name: name, log: filepath.Join(dir, "logs", name+".log"), done: make(chan struct{})}
	output, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	defer output.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.Dir = dir
	// Starting allocates a lot that lives: collecting less often takes a fifth
	// off the processor time until it is ready.
	p.cmd.Env = append(os.Environ(), "GOGC=200")
	p.cmd.SysProcAttr = childAttributes()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

// kill ends it at once: nothing of a throw-away plane is worth a clean exit.
func (p *process) kill() {
	p.cmd.Process.Kill() // an error means that it has ended already
	<-p.done
}

// failure is nil while the program runs, and its last words after it ended.
func (p *process) failure() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended early (%v); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, tail(p.log))
	default:
		return nil
	}
}

const tailLines = 15

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// portTaken tells whether a program ended since somebody else took its port
// between our looking for a free one and its own start.
func portTaken(err error) bool {
	return strings.Contains(err.Error(), "address already in use")
}
