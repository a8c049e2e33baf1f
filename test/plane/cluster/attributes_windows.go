package cluster

import "syscall"

const childrenDieAlone = false

func childAttributes() *syscall.SysProcAttr { return nil }

func janitorAttributes() *syscall.SysProcAttr { return nil }
