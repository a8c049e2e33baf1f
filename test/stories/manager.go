package stories

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// readyWithin is how long the manager may take to be ready.
const readyWithin = 30 * time.Second

// Manager is the manager as a process, so that it can be killed for good.
type Manager struct {
	binary     string
	kubeconfig string
	logPath    string
	webhook    int // ports
	health     int
	cmd        *exec.Cmd
	ended      chan struct{}
	// Args are more arguments for the next Start.
	Args []string
}

func newManager(e *Env, binary string) (*Manager, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	return &Manager{
		binary: binary, kubeconfig: filepath.Join(e.Dir, "manager.kubeconfig"),
		logPath: filepath.Join(e.Dir, "manager.log"), webhook: ports[0], health: ports[1],
	}, nil
}

// URL the API server reaches the webhook at.
func (m *Manager) URL() string { return fmt.Sprintf("https://localhost:%d", m.webhook) }

// Pid of the running process.
func (m *Manager) Pid() int { return m.cmd.Process.Pid }

// Start runs the manager and waits until it is ready.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.Launch(); err != nil {
		return err
	}
	return m.WaitReady(ctx)
}

// Launch runs the manager without waiting.
func (m *Manager) Launch() error {
	log, err := os.OpenFile(m.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{
		"--kubeconfig", m.kubeconfig, "--namespace", Namespace, "--name", Release, "--log-format", "text",
		"--webhook-host", "127.0.0.1", "--webhook-port", fmt.Sprint(m.webhook),
		"--health-address", fmt.Sprintf("127.0.0.1:%d", m.health), "--metrics-address", "0",
	}, m.Args...)
	m.cmd = exec.Command(m.binary, args...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	m.ended = make(chan struct{})
	started := make(chan error, 1)
	go hold(m.cmd, started, m.ended)
	if err := <-started; err != nil {
		return fmt.Errorf("starting the manager: %w", err)
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
func (m *Manager) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/readyz", m.health)
	for {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the manager is not ready after %v; its log ends with:\n%s", readyWithin, m.Tail())
		case <-m.ended:
			return fmt.Errorf("the manager ended (%s); its log ends with:\n%s", m.cmd.ProcessState, m.Tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Kill ends the manager without a chance to say good-bye.
func (m *Manager) Kill() { m.end(syscall.SIGKILL) }

// Stop ends the manager in order.
func (m *Manager) Stop() { m.end(syscall.SIGTERM) }

func (m *Manager) end(signal syscall.Signal) {
	if m == nil || m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Signal(signal) // an ended process is what we want
	<-m.ended
}

func freePorts(n int) ([]int, error) {
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

// Tail is the end of the manager's log.
func (m *Manager) Tail() string {
	data, err := os.ReadFile(m.logPath)
	if err != nil {
		return err.Error()
	}
	const tail = 4 << 10
	return string(data[max(0, len(data)-tail):])
}

// Ended is closed when the process that runs now has ended.
func (m *Manager) Ended() <-chan struct{} { return m.ended }
