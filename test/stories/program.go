package stories

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// readyWithin is how long a program may take to be ready, if it is not told.
const readyWithin = 30 * time.Second

// Program is a process beside the plane, with a health endpoint.
type Program struct {
	what    string // for those who read errors
	binary  string
	logPath string
	health  int // port
	cmd     *exec.Cmd
	ended   chan struct{}
	// Within is how long it may take to be ready.
	Within time.Duration
}

// NewProgram is not started yet.
func NewProgram(what, binary, logPath string, health int) *Program {
	return &Program{what: what, binary: binary, logPath: logPath, health: health, Within: readyWithin}
}

// Pid of the running process.
func (p *Program) Pid() int { return p.cmd.Process.Pid }

// Launch runs the program without waiting.
func (p *Program) Launch(args ...string) error {
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.binary, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.ended = make(chan struct{})
	started := make(chan error, 1)
	go hold(p.cmd, started, p.ended)
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", p.what, err)
	}
	return nil
}

// hold runs a command on a thread that lives as long as the command: on Linux a
// child with a death signal is tied to the thread that made it, not to the
// process.
func hold(cmd *exec.Cmd, started chan<- error, ended chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}
}

// WaitReady waits until /readyz answers.
func (p *Program) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/readyz", p.health)
	for {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v; its log ends with:\n%s", p.what, p.Within, p.Tail())
		case <-p.ended:
			return fmt.Errorf("%s ended (%s); its log ends with:\n%s", p.what, p.cmd.ProcessState, p.Tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Kill ends the program without a chance to say good-bye.
func (p *Program) Kill() { p.end(syscall.SIGKILL) }

// Stop ends the program in order.
func (p *Program) Stop() { p.end(syscall.SIGTERM) }

func (p *Program) end(signal syscall.Signal) {
	if p.cmd == nil { // it never began
		return
	}
	_ = p.cmd.Process.Signal(signal) // an ended process is what we want
	<-p.ended
}

// FreePorts are ports of this machine that nobody uses now.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// Tail is the end of the program's log.
func (p *Program) Tail() string {
	data, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	const tail = 4 << 10
	return string(data[max(0, len(data)-tail):])
}

// Ended is closed when the process that runs now has ended.
func (p *Program) Ended() <-chan struct{} { return p.ended }
