package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage of a process.
type Usage struct {
	CPU       time.Duration
	MemoryMax int64 // bytes
}

// Of a process.
func Of(pid int) (Usage, error) {
	fields, err := stat(pid)
	if err != nil {
		return Usage{}, err
	}
	const userField, systemField, ticksPerSecond = 11, 12, 100
	user, err := strconv.ParseInt(fields[userField], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	system, err := strconv.ParseInt(fields[systemField], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	_, peak, found := strings.Cut(string(status), "VmHWM:")
	if !found {
		return Usage{}, fmt.Errorf("process %d has ended", pid)
	}
	kib, err := strconv.ParseInt(strings.Fields(peak)[0], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	return Usage{CPU: time.Duration(user+system) * time.Second / ticksPerSecond, MemoryMax: kib << 10}, nil
}

// Child finds a process that this one started by the name of its program.
func Child(program string) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	const parentField = 1
	own := strconv.Itoa(os.Getpid())
	for _, dir := range dirs {
		exe, err := os.Readlink(filepath.Join(dir, "exe"))
		if err != nil || filepath.Base(exe) != program {
			continue // ended meanwhile, another user's, or another program
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return 0, err
		}
		if fields, err := stat(pid); err == nil && fields[parentField] == own {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("this process runs no %s", program)
}

// stat is the fields of a process after its name, which may have spaces.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.Fields(after), nil
}
