package cluster

import "syscall"

// childrenDieAlone: the kernel ends them when their parent's thread ends.
const childrenDieAlone = true

// childAttributes puts a child into a process group of its own, so that ^C on
// the terminal reaches us first.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func janitorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
