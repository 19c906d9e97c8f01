//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"
)

// descendants are the children of pid, theirs, and so on, as /proc has them now. One that is
// born meanwhile is missed, and found the next time: it cannot get away, since whoever loses
// its parent becomes a child of the shim.
func descendants(pid int) []int {
	children := map[int][]int{}
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent := parentOf(e.Name()); parent > 0 {
			children[parent] = append(children[parent], child)
		}
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

func parentOf(pid string) int {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
