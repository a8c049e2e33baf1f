//go:build plane

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// Generous: the machine may be busy, and the build may not be cached.
	readyTimeout = 15 * time.Minute
	goneTimeout  = 20 * time.Second
)

// program builds this command, since `go run` would stand between us and it.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plane")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	return path
}

// start runs up in the foreground until it says that it is ready.
func start(t *testing.T, path, dir string) *exec.Cmd {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(path, "up", "--dir", dir)
	cmd.Stderr = &said
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	timer := time.AfterFunc(readyTimeout, func() { cmd.Process.Kill() })
	defer timer.Stop()
	buffer, text := make([]byte, 1024), ""
	for !strings.Contains(text, "^C ends it") {
		n, err := output.Read(buffer)
		if text += string(buffer[:n]); err != nil {
			t.Fatalf("up ended before it was ready: %v\n%s%s", err, text, said.String())
		}
	}
	return cmd
}

// processes whose command line or directory names dir.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Fatal("this test reads /proc. Try: Linux")
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err == nil && strings.Contains(string(text), dir) && filepath.Base(filepath.Dir(line)) != strconv.Itoa(os.Getpid()) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// wantGone waits until nothing of the plane is left.
func wantGone(t *testing.T, dir string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(goneTimeout); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		left = processes(t, dir)
		if _, err := os.Stat(dir); os.IsNotExist(err) && len(left) == 0 {
			return
		}
	}
	_, err := os.Stat(dir)
	t.Errorf("still there after %s: %v (directory: %v)", goneTimeout, left, err)
}

func TestNothingIsLeftWhenAPlaneIsKilled(t *testing.T) {
	path, dir := program(t), filepath.Join(t.TempDir(), "p")
	cmd := start(t, path, dir)
	if n := len(processes(t, dir)); n < 5 {
		t.Fatalf("%d processes know the plane's directory; want four programs, the janitor and the plane", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its error is that it was killed
	wantGone(t, dir)
}

func TestNothingIsLeftAfterAnInterrupt(t *testing.T) {
	path, dir := program(t), filepath.Join(t.TempDir(), "p")
	cmd := start(t, path, dir)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("an interrupted plane ends with %v; want success", err)
	}
	wantGone(t, dir)
}

func TestADetachedPlaneStaysUntilItIsEnded(t *testing.T) {
	path, dir := program(t), filepath.Join(t.TempDir(), "p")
	mustRun(t, path, "up", "--detach", "--dir", dir)
	t.Cleanup(func() { exec.Command(path, "down", "--dir", dir).Run() })
	if out := mustRun(t, path, "kubectl", "--dir", dir, "--as", "admin", "get", "nodes", "-o", "name"); strings.Count(out, "node/") != 3 {
		t.Errorf("kubectl get nodes said %q; want 3 nodes", out)
	}
	second, err := exec.Command(path, "up", "--dir", dir).CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(second), "is not empty") {
		t.Errorf("a second plane in the same directory: %v, %s; want a refusal", err, second)
	}
	mustRun(t, path, "down", "--dir", dir)
	wantGone(t, dir)
	if out := mustRun(t, path, "down", "--dir", dir); !strings.Contains(out, "there is no plane") {
		t.Errorf("a second down said %q; want that there is no plane", out)
	}
}

func mustRun(t *testing.T, path string, args ...string) string {
	t.Helper()
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("plane %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
