//go:build unix && !linux

package cluster

import "syscall"

// childrenDieAlone: here the janitor has to end them.
const childrenDieAlone = false

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func janitorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
