package crawl

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// descendants returns the processes below pid, whatever group they are in.
func descendants(pid int) []int {
	var found []int
	for next := []int{pid}; len(next) > 0; {
		var below []int
		for _, p := range next {
			below = append(below, children(p)...)
		}
		found = append(found, below...)
		next = below
	}
	return found
}

// children reads the children of each thread of a process from /proc. Where the
// kernel does not offer that, none are found.
func children(pid int) []int {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	var found []int
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for field := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}
