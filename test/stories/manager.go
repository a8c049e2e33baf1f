package stories

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdshort/holdshort/ledger"
)

// Manager is the manager as a process, so that it can be killed for good.
type Manager struct {
	*Program
	kubeconfig string
	webhook    int // port
	// Args are more arguments for the next Start.
	Args []string
}

func newManager(e *Env, binary string) (*Manager, error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, err
	}
	return &Manager{
		Program:    NewProgram("the manager", binary, filepath.Join(e.Dir, "manager.log"), ports[1]),
		kubeconfig: filepath.Join(e.Dir, "manager.kubeconfig"), webhook: ports[0],
	}, nil
}

// URL the API server reaches the webhook at.
func (m *Manager) URL() string { return fmt.Sprintf("https://localhost:%d", m.webhook) }

// Start runs the manager and waits until it is ready.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.Launch(); err != nil {
		return err
	}
	return m.WaitReady(ctx)
}

// Launch runs the manager without waiting.
func (m *Manager) Launch() error {
	return m.Program.Launch(append([]string{
		"--kubeconfig", m.kubeconfig, "--namespace", Namespace, "--name", Release, "--log-format", "text",
		"--webhook-host", "127.0.0.1", "--webhook-port", fmt.Sprint(m.webhook),
		"--health-address", fmt.Sprintf("127.0.0.1:%d", m.health), "--metrics-address", "0",
	}, m.Args...)...)
}

// balanced tells what the manager's log says of sums that were off.
func (m *Manager) balanced() error {
	log, err := os.Open(m.logPath)
	if err != nil {
		return err
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ledger.SumsOff) {
			return fmt.Errorf("the manager's audit found a bug: %s", lines.Text())
		}
	}
	return lines.Err()
}
